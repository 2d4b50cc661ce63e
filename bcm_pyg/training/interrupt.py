from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupt:
    """Remembers Ctrl-C, for a loop that wants to end between two steps."""

    def __init__(self) -> None:
        self.came = False

    @contextmanager
    def remembered(self) -> Iterator[None]:
        """Keeps the first Ctrl-C inside; the second one comes at once.

        Does nothing in a thread, or where Ctrl-C means something else already.
        """
        before = signal.getsignal(signal.SIGINT)
        main = threading.current_thread() is threading.main_thread()
        if not main or before is not signal.default_int_handler:
            yield
            return

        def remember(number: int, frame: FrameType | None) -> None:
            if self.came:
                raise KeyboardInterrupt
            self.came = True

        signal.signal(signal.SIGINT, remember)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
