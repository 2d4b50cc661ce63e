"""Small disks that fill up, or cannot be written; for root on Linux alone."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

NEW_NAMESPACE = 0x00020000
READ_ONLY, RECURSIVE, PRIVATE = 1, 1 << 14, 1 << 18


def mounted(folder: Path, options: str) -> bool:
    """Mounts a disk in memory, which ends with this process and which no other
    one sees: :obj:`size=64k`, or :obj:`ro`.
    """
    libc = ctypes.CDLL(None)
    if not hasattr(libc, 'unshare') or libc.unshare(NEW_NAMESPACE):
        return False
    if libc.mount(None, b'/', None, RECURSIVE | PRIVATE, None):
        return False
    flags = READ_ONLY if options == 'ro' else 0
    size = None if flags else options.encode()
    return not libc.mount(b'tmpfs', os.fsencode(folder), b'tmpfs', flags, size)


def can_mount(folder: Path) -> bool:
    """Whether this process may, found out in a copy of it."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if mounted(folder, 'size=4k') else 1)
    return os.waitpid(pid, 0)[1] == 0
