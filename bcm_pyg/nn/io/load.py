from __future__ import annotations

import hashlib
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import fingerprint, planning_graph

from ..bcm import BCM
from ..quantize import expand
from .build import (
    build,
    check_state,
    header_size,
    parameter_names,
    skeleton,
)
from .config import damaged, read_config
from .folder import check_size, reading

#: A save may replace the weights while they are looked for.
ATTEMPTS = 5


def load_map(
    path: str | PathLike[str], data: Data, *, force: bool = False
) -> BCM:
    """Reads a map for a graph.

    Memory is bounded by a few times the size that the config implies, and by
    that of the file.
    """
    folder = Path(path)
    data = planning_graph(data)
    graph = fingerprint(data)
    for attempt in range(1, ATTEMPTS + 1):
        config = read_config(folder)
        if not force and config['graph'] not in (None, graph):
            raise BCMError(
                f'the map in {folder} belongs to another graph (edges, costs '
                'or coordinates differ); pass force=True to use it all the same'
            )
        try:
            return _load(config, folder).to(data.pos.device)
        except FileNotFoundError as error:
            if attempt == ATTEMPTS:
                raise damaged(folder, error) from None
        except BCMError as error:
            raise damaged(folder, error) from error.__cause__
        except (OSError, ValueError, MemoryError, RecursionError) as error:
            raise damaged(folder, repr(error)) from None
    raise AssertionError


def _load(config: dict[str, Any], folder: Path) -> BCM:
    entry = config['weights']
    with reading(folder / entry['file']) as (file, size):
        content = file.read(8)
        like = skeleton(config, min(header_size(content), size))
        wanted = like.state_dict()
        check_size(entry['file'], size, _most_bytes(wanted))
        content += file.read(size - len(content))
    stored = _tensors(content, entry)
    state = expand(stored, wanted, parameter_names(like), entry['dtype'])
    check_state(like, state)
    model = build(config)
    model.load_state_dict(state)
    model.graph = config['graph']
    model.record = config['record']
    model.stored_dtype = entry['dtype']
    return model


def _most_bytes(wanted: Mapping[str, Tensor]) -> int:
    """A file of these tensors, its header included, is not larger."""
    return 2**16 + sum(1024 + 2 * value.nbytes for value in wanted.values())


def _tensors(content: bytes, entry: dict[str, Any]) -> dict[str, Tensor]:
    name = entry['file']
    if len(content) != entry['bytes']:
        raise BCMError(f'{name} has {len(content)} bytes, not {entry["bytes"]}')
    if hashlib.sha256(content).hexdigest() != entry['sha256']:
        raise BCMError(f'{name} was changed or damaged')
    try:
        return safetensors.torch.load(content)
    except safetensors.SafetensorError as error:
        raise BCMError(f'{name}: {error}') from None
