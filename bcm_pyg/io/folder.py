"""Files of a map's folder: read with a limit, written one process at a time."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from bcm_pyg.errors import BCMError

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

CONFIG = 'config.json'
WEIGHTS = re.compile(r'map-[0-9a-f]{16}\.safetensors')

#: What a save that was killed leaves behind.
_PARTS = re.compile(
    rf'\.({re.escape(CONFIG)}|{WEIGHTS.pattern})\.[^.]*\.part', re.ASCII
)
#: What file systems say that do not sync folders.
_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EBADF)
#: Seconds to wait for another process that is saving.
PATIENCE = 60.0


@contextmanager
def reading(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """Opens a regular file, no link or pipe; yields it and its size."""
    if path.is_symlink():
        raise BCMError(f'{path.name} is a link')
    # A pipe under this name must not make the reader wait.
    flags = getattr(os, 'O_NONBLOCK', 0) | getattr(os, 'O_BINARY', 0)
    handle = os.open(path, os.O_RDONLY | flags)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise BCMError(f'{path.name} is not a file')
        with open(handle, 'rb', closefd=False) as file:
            yield file, status.st_size
    finally:
        os.close(handle)


def check_size(name: str, size: int, max_bytes: int) -> None:
    """Refuses a file that is larger than it can be."""
    if size > max_bytes:
        raise BCMError(
            f'{name} has {size:,} bytes, more than the {max_bytes:,} there can '
            'be'
        )


@contextmanager
def writing(folder: Path) -> Iterator[bool]:
    """Keeps other processes and threads from saving into a folder.

    The lock is on the folder itself and ends with the process that holds it.
    Yields whether there is one: some file systems have no locks.
    """
    if fcntl is None:
        yield False
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield _lock(handle, folder)
    finally:
        os.close(handle)


def _lock(handle: int, folder: Path) -> bool:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                return False
        if time.monotonic() > until:
            raise BCMError(f'another process has been saving into {folder}')
        time.sleep(0.01)


def sync(folder: Path) -> None:
    """Makes the names in a folder outlive a loss of power, if it can."""
    if fcntl is not None:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno not in _CANNOT_SYNC:
                raise
        finally:
            os.close(handle)


def tidy(folder: Path, weights: str) -> None:
    """Removes all weights but these, and what killed saves left behind."""
    for path in folder.iterdir():
        is_old = WEIGHTS.fullmatch(path.name) and path.name != weights
        if is_old or _PARTS.fullmatch(path.name):
            with suppress(OSError):  # the new map is there, and whole
                path.unlink()
