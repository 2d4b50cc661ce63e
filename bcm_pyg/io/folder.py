"""Folders of config.json and safetensors files, replaced in one step.

Files are written first, under names that hold their digests; then config.json
with the digests is replaced. So a folder holds the old content or the new one.
"""

import errno
import hashlib
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import open_file, replace_file

from .file import remove_leftovers
from .format import (
    MAX_CONFIG_BYTES,
    Fields,
    Format,
    check_fields,
    config_text,
    parse_config,
    refusing,
)
from .tensors import TensorFile

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

CONFIG = 'config.json'
#: What file systems say that do not sync folders.
CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EBADF)
#: Seconds to wait for another process that is saving.
PATIENCE = 60.0
#: A save may replace files while they are looked for.
ATTEMPTS = 5


def write_folder(
    folder: Path,
    kind: Format,
    config: Mapping[str, Any],
    contents: Mapping[str, bytes],
) -> None:
    """Replaces what is in a folder, which is made if missing.

    One process at a time: another that writes into the same folder waits.

    Args:
        folder (pathlib.Path): The folder. Files of other names stay.
        kind (Format): What it is to hold.
        config (Mapping[str, Any]): What describes the tensors.
        contents (Mapping[str, bytes]): Of safetensors files, by plain names.
    """
    entries, files = {}, {}
    for name, content in contents.items():
        digest = hashlib.sha256(content).hexdigest()
        entries[name] = {'sha256': digest, 'bytes': len(content)}
        # What could not be read must not replace what can.
        TensorFile(BytesIO(content), len(content), name)
        files[_file_name(name, digest)] = content
    text = config_text(kind, {**config, 'files': entries})
    names = '|'.join(rf'{k}-[0-9a-f]{{16}}\.safetensors' for k in contents)
    names += '|' + re.escape(CONFIG)
    with refusing(f'cannot write a {kind.name} to {folder}'):
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder) as (is_locked, handle):
            for name, content in files.items():
                replace_file(folder / name, content)
            replace_file(folder / CONFIG, text.encode())
            _sync(handle)
            if is_locked:  # else it may be new, of another process
                remove_leftovers(folder, names, [CONFIG, *files])


def _file_name(name: str, digest: str) -> str:
    return f'{name}-{digest[:16]}.safetensors'


@contextmanager
def open_folder(
    folder: Path, kind: Format, fields: Fields, names: Iterable[str]
) -> Iterator[tuple[dict[str, Any], dict[str, TensorFile]]]:
    """Opens what :func:`write_folder` wrote; yields the config and the files.

    Args:
        folder (pathlib.Path): The folder.
        kind (Format): What it should hold.
        fields (Dict[str, type]): What the config must have, and of which types.
        names (Iterable[str]): The files that there must be.
    """
    with ExitStack() as stack:
        with refusing(f'{folder} does not hold a readable {kind.name}'):
            for attempt in range(1, ATTEMPTS + 1):
                config = _read_config(folder, kind, fields, names)
                try:
                    files = {
                        name: _open(folder, name, entry, stack)
                        for name, entry in config.pop('files').items()
                    }
                    break
                except FileNotFoundError:
                    if attempt == ATTEMPTS:
                        raise
        yield config, files


def _read_config(
    folder: Path, kind: Format, fields: Fields, names: Iterable[str]
) -> dict[str, Any]:
    file, size = open_file(folder / CONFIG, links=False)
    with file, refusing(CONFIG):
        if size > MAX_CONFIG_BYTES:
            raise BCMError(
                f'it has {size:,} bytes, more than the {MAX_CONFIG_BYTES:,} '
                'there can be'
            )
        config = parse_config(kind, file.read(size))
        check_fields(config, {**fields, 'files': dict})
        check_fields(config['files'], dict.fromkeys(names, dict))
        for entry in config['files'].values():
            check_fields(entry, {'sha256': str, 'bytes': int})
            # Files are opened by their digests.
            if not re.fullmatch('[0-9a-f]{64}', entry['sha256']):
                raise BCMError("it has no valid 'sha256'")
    return config


def _open(
    folder: Path, name: str, entry: Mapping[str, Any], stack: ExitStack
) -> TensorFile:
    path = folder / _file_name(name, entry['sha256'])
    file, size = open_file(path, links=False)
    stack.enter_context(file)
    if size != (told := entry['bytes']):
        raise BCMError(f'{path.name} has {size} bytes, not {told!r:.80}')
    return TensorFile(file, size, path.name, entry['sha256'])


@contextmanager
def _locked(folder: Path) -> Iterator[tuple[bool, int | None]]:
    """Locks a folder for one writer; yields whether it could, and a handle.

    The lock ends with the process that holds it. Some systems have none.
    """
    if fcntl is None:
        yield False, None
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield _lock(handle), handle
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > until:
                why = 'another process has been saving there'
                raise BCMError(why) from None
            time.sleep(0.01)
        except OSError:
            return False


def _sync(handle: int | None) -> None:
    """Makes the names in a folder outlive a loss of power, if it can."""
    try:
        if handle is not None:
            os.fsync(handle)
    except OSError as error:
        if error.errno not in CANNOT_SYNC:
            raise
