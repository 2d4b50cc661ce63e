from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

#: The mode belongs to the module: of two threads, the second must not take
#: that of the first for the one to go back to.
_LOCK = threading.RLock()


@contextmanager
def evaluating(module: torch.nn.Module) -> Iterator[None]:
    """Puts a module in evaluation mode, and every part back as it was.

    One thread at a time.
    """
    with _LOCK:
        before = {part: part.training for part in module.modules()}
        module.eval()
        try:
            yield
        finally:
            for part, training in before.items():
                part.training = training
