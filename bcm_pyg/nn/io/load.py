from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import fingerprint, planning_graph
from bcm_pyg.io.folder import reading
from bcm_pyg.io.tensors import check_places, naming, read_header, read_tensors
from bcm_pyg.utils import as_path

from ..quantize import check_stored, expand
from ..saved_map import (
    Map,
    build,
    check_state,
    parameter_names,
    skeleton,
    wanted_state,
)
from .config import damaged, read_config

#: A save may replace the weights while they are looked for.
ATTEMPTS = 5


def load_map(
    cls: type[Map],
    path: str | PathLike[str],
    data: Data,
    *,
    force: bool = False,
) -> Map:
    """Reads a map of a class for a graph.

    What the config, the header of the weights and the size of their file say
    must agree before anything of that size is built or read. Then memory is
    bounded by a few times the size of the map, and time by reading it once.
    What remains: a folder may honestly describe a map larger than the memory,
    and a sparse file makes that cheap to send.
    """
    if not isinstance(force, bool):
        raise BCMError(f'force must be a bool (got {force!r:.80})')
    folder = as_path('path', path)
    data = planning_graph(data)
    graph = fingerprint(data)
    for attempt in range(1, ATTEMPTS + 1):
        config = read_config(folder)
        if not force and config['graph'] not in (None, graph):
            raise BCMError(
                f'the map in {folder} belongs to another graph (edges, costs '
                'or coordinates differ); pass force=True to use it all the '
                'same, or to train it on with other costs'
            )
        try:
            return _load(cls, config, folder).to(data.pos.device)
        except FileNotFoundError as error:
            if attempt == ATTEMPTS:
                raise damaged(folder, error) from None
        except BCMError as error:
            raise damaged(folder, error) from error.__cause__
        except (
            OSError,
            ValueError,
            MemoryError,
            RecursionError,
            RuntimeError,  # how PyTorch says that memory is short
        ) as error:
            raise damaged(folder, repr(error)) from None
    raise AssertionError


def _load(cls: type[Map], config: dict[str, Any], folder: Path) -> Map:
    entry = config['weights']
    name, dtype = entry['file'], entry['dtype']
    with reading(folder / name) as (file, size):
        if size != entry['bytes']:
            raise BCMError(
                f'{name} has {size} bytes, not {entry["bytes"]!r:.80}'
            )
        # Nothing is built, and no weight is read, for more than it holds.
        with naming(name):
            header = read_header(file, size)
        like = skeleton(config, len(header.entries))
        wanted, parameters = wanted_state(like), parameter_names(like)
        check_stored(header.entries, wanted, parameters, dtype)
        with naming(name):
            check_places(header, size)
            stored = read_tensors(file, header, entry['sha256'])
    state = expand(stored, wanted, parameters, dtype)
    check_state(like, state)
    model = build(config, cls)
    model.load_state_dict(state)
    model.graph = config['graph']
    model.record = config['record']
    model.stored_dtype = dtype
    mean = model.record.get('mean_cost')
    model._mean_cost = mean if isinstance(mean, float) else None
    return model
