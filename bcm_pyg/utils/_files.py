import gzip
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from bcm_pyg.errors import BCMError

from .checks import check_int

#: Bytes of memory that a graph from a file may take by default: at least the
#: first number, and the second for each byte of the file.
MEMORY, MEMORY_PER_BYTE = 2**30, 100


def as_path(name: str, value: object) -> Path:
    """The path that an argument names; it must not be empty."""
    if isinstance(value, (str, os.PathLike)):
        path = os.fspath(value)
        if isinstance(path, str) and path and '\0' not in path:
            return Path(path)
    raise BCMError(f'{name} must name a file or folder (got {value!r:.80})')


def open_file(path: Path, links: bool = True) -> tuple[BinaryIO, int]:
    """A regular file, open, and its size; :obj:`links` allows a link to one."""
    if not links and path.is_symlink():
        raise BCMError(f'{path.name} is a link')
    # A pipe under this name must not make the reader wait.
    flags = getattr(os, 'O_NONBLOCK', 0) | getattr(os, 'O_BINARY', 0)
    handle = os.open(path, os.O_RDONLY | flags)
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise BCMError(f'{path.name:.200} is not a file')
    return open(handle, 'rb'), status.st_size


@contextmanager
def naming(path: object) -> Iterator[None]:
    """Puts the name of a file before what is wrong with it."""
    try:
        yield
    except BCMError as error:
        raise BCMError(f'{path!s:.200}: {error!s:.500}') from None


@contextmanager
def reading(
    path: str | PathLike[str], what: str = 'text'
) -> Iterator[tuple[BinaryIO, int]]:
    """Opens the file of a graph, a regular file; yields it and its size.

    Whatever goes wrong inside becomes one error that names the file.
    """
    try:
        with naming(path):
            file, size = open_file(as_path('path', path))
            with file:
                yield file, size
    except BCMError:
        raise
    except FileNotFoundError:
        raise BCMError(f'there is no file {path!s:.200}') from None
    except Exception as error:  # damaged files break readers in many ways
        why = f'{error!s:.500}' or type(error).__name__
        raise BCMError(
            f'cannot read {what} from {path!s:.200}: {why}'
        ) from None


def unpacked(file: BinaryIO, max_bytes: int) -> Iterator[bytes]:
    """The content of a file, unzipped if it is gzipped, part by part."""
    is_packed = file.read(2) == b'\x1f\x8b'
    file.seek(0)
    source = gzip.GzipFile(fileobj=file) if is_packed else file
    room = max_bytes
    while part := source.read(2**20):  # a few bytes can unpack to any size
        room -= len(part)
        if room < 0:
            raise BCMError(f'it holds more than {max_bytes:,} bytes')
        yield part


def read_file(path: str | PathLike[str], max_bytes: int) -> bytes:
    """The content of a file, unzipped if it is gzipped."""
    with reading(path) as (file, _):
        return b''.join(unpacked(file, max_bytes))


def memory_for(size: int, max_bytes: int | None) -> int:
    """Bytes that the graph in a file of this size may take while it is read."""
    if max_bytes is None:
        return max(MEMORY, MEMORY_PER_BYTE * size)
    check_int('max_bytes', max_bytes, 1)
    return max_bytes


def replace_file(path: Path, content: bytes) -> None:
    """Writes a file so that it is there in full or not at all."""
    if path.is_dir():
        raise IsADirectoryError(f'{path!s:.200} is a folder')
    temporary = path.with_name(f'.{path.name}.{secrets.token_hex(4)}.part')
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, 'O_BINARY', 0)
    handle = os.open(temporary, flags, 0o666)  # less what the umask takes
    try:
        with os.fdopen(handle, 'wb') as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
