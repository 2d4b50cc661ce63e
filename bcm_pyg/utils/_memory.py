from __future__ import annotations

from functools import cache

import torch

#: Just below 32 MB, from where on glibc learns nothing any more.
TAUGHT_BYTES = 31 * 2**20


@cache  # once is enough
def keep_freed_memory() -> None:
    """Makes the C library keep some megabytes that were freed.

    A step of planning takes a few megabytes and frees them. By default glibc
    gives them back to the system and asks for them again at the next step: to
    get fresh pages takes twice as long as the step itself. It keeps up to twice
    the size of the largest block below 32 MB that was ever freed, so one such
    block, never touched, is taken and freed here. Other C libraries are left as
    they are.
    """
    torch.empty(TAUGHT_BYTES, dtype=torch.uint8)
