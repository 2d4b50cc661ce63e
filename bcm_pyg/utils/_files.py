import gzip
import os
import secrets
import zlib
from os import PathLike
from pathlib import Path

from bcm_pyg.errors import BCMError


def as_path(name: str, value: object) -> Path:
    """What an argument names; an empty name is none."""
    if isinstance(value, (str, os.PathLike)):
        path = os.fspath(value)
        if isinstance(path, str) and path and '\0' not in path:
            return Path(path)
    raise BCMError(f'{name} must name a file or folder (got {value!r:.80})')


def read_file(path: str | PathLike[str], max_bytes: int) -> bytes:
    """What a file holds, unpacked if it is gzipped; at most so many bytes."""
    if as_path('path', path).is_fifo():  # which would make the reader wait
        raise BCMError(f'{path} is not a file')
    parts, room = [], max_bytes
    try:
        with open(path, 'rb') as file:
            is_packed = file.read(2) == b'\x1f\x8b'
            file.seek(0)
            source = gzip.GzipFile(fileobj=file) if is_packed else file
            # A few packed bytes can unpack to any size.
            while room >= 0 and (part := source.read(2**20)):
                parts.append(part)
                room -= len(part)
    except FileNotFoundError:
        raise BCMError(f'there is no file {path}') from None
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise BCMError(f'cannot read {path}: {error}') from None
    if room < 0:
        raise BCMError(f'{path} holds more than {max_bytes:,} bytes')
    return b''.join(parts)


def replace_file(path: Path, content: bytes) -> None:
    """Writes a file so that it is there in full or not at all."""
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
