"""One safetensors file with a config in its header."""

import hashlib
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

from torch import Tensor

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import replace_file

from .format import Format, config_text, parse_config, refusing
from .tensors import TensorFile, pack


def write_file(
    path: Path,
    kind: Format,
    config: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
) -> None:
    """Replaces a file; a process killed on the way leaves the old one.

    There must be no other writer: temporary files beside it are removed.
    """
    with refusing(f'cannot write the {kind.name} {path!s:.200}'):
        digest = _data_digest(pack(tensors))
        text = config_text(kind, {**config, 'data_sha256': digest})
        content = pack(tensors, {'config': text})
        read_file(content, kind, 'it')
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content)
        remove_leftovers(path.parent, re.escape(path.name), [path.name])


def read_file(
    content: bytes, kind: Format, name: object
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The config and the tensors that the content of a file holds.

    Args:
        content (bytes): The content.
        kind (Format): What it should be.
        name (object): What to call it in errors.
    """
    with refusing(f'{name} is not a readable {kind.name}'):
        file = TensorFile(BytesIO(content), len(content), 'its content')
        config = parse_config(kind, str(file.metadata['config']).encode())
        if config.pop('data_sha256', None) != _data_digest(content):
            raise BCMError('it was changed or damaged')
        return config, file.read()


def _data_digest(content: bytes) -> str:
    """Of all behind the header, which cannot hold a digest of itself."""
    begin = 8 + int.from_bytes(content[:8], 'little')
    return hashlib.sha256(memoryview(content)[begin:]).hexdigest()


def remove_leftovers(folder: Path, names: str, keep: Collection[str]) -> None:
    """Removes old and temporary files of names that match, where it can.

    Args:
        folder (pathlib.Path): Where they are.
        names (str): A regular expression of what was written there.
        keep (Collection[str]): Names of what has just been written.
    """
    old = re.compile(rf'{names}|\.({names})\.[a-z0-9_]{{8}}\.part')
    with suppress(OSError):
        for path in folder.iterdir():
            if old.fullmatch(path.name) and path.name not in keep:
                with suppress(OSError):
                    path.unlink()
