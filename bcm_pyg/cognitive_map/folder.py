"""The folder of a cognitive map: graph, names, network, readout, history."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from os import PathLike
from typing import Any, NamedTuple

from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import fingerprint
from bcm_pyg.graph.saved_graph import (
    STAYS,
    graph_from_tensors,
    graph_to_tensors,
)
from bcm_pyg.graph.simplify import SimplifiedGraph, simplify_graph
from bcm_pyg.io import (
    Format,
    TensorFile,
    check_fields,
    check_finite,
    check_tensors,
    open_folder,
    pack,
    refusing,
    write_folder,
)
from bcm_pyg.nn import BCM
from bcm_pyg.nn.quantize import stored_specs
from bcm_pyg.nn.saved_map import pack_map, unpack_map
from bcm_pyg.planning import Readout
from bcm_pyg.planning.readouts import BY_NAME
from bcm_pyg.training import History
from bcm_pyg.training.snapshots import DTYPE, Snapshot
from bcm_pyg.utils import as_path, check_int

FORMAT = Format('cognitive_map', 1)
#: Files of tensors: of the graph, of the network, and of its snapshots.
GRAPH, MAP, SNAPSHOTS = 'graph', 'map', 'snapshots'
_FIELDS = {
    'graph': dict,
    'map': dict | None,
    'readout': dict | None,
    'history': dict,
    'snapshots': list,
}
_READOUTS = {kind.__name__: kind for kind in BY_NAME.values()}
_METRICS = ('seconds', 'gap', 'success_rate')


class Parts(NamedTuple):
    """What a cognitive map is made of; without a map, exact search answers."""

    data: Data
    simplified: SimplifiedGraph | None
    model: BCM | None
    readout: Readout | None
    history: History
    snapshots: Sequence[Snapshot]


def save(parts: Parts, path: str | PathLike[str], dtype: str) -> None:
    """Writes a cognitive map into a folder, atomically."""
    folder = as_path('path', path)
    with refusing('the map cannot be saved'):
        values, tensors = graph_to_tensors(parts.data)
        if parts.simplified is not None:
            tensors[STAYS] = parts.simplified.node
        config, content = None, pack({})
        if parts.model is not None:
            config, content = pack_map(parts.model, dtype)
            # A map that was put together by hand does not know it yet.
            simple = parts.simplified
            core = parts.data if simple is None else simple.data
            config['fingerprint'] = fingerprint(core)
        weights = {
            f'{number}.{key}': value
            for number, snapshot in enumerate(parts.snapshots)
            for key, value in snapshot.weights.items()
        }
        whole = {
            'graph': values,
            'map': config,
            'readout': _readout_config(parts.readout),
            'history': _without_nan(asdict(parts.history)),
            'snapshots': [_snapshot_config(x) for x in parts.snapshots],
        }
        files = {GRAPH: pack(tensors), MAP: content, SNAPSHOTS: pack(weights)}
    write_folder(folder, FORMAT, whole, files)


def load(path: str | PathLike[str]) -> Parts:
    """Reads what :func:`save` wrote; all of it is checked."""
    folder = as_path('path', path)
    names = [GRAPH, MAP, SNAPSHOTS]
    with (
        open_folder(folder, FORMAT, _FIELDS, names) as (config, files),
        refusing(f'{folder} does not hold a readable {FORMAT.name}'),
    ):
        tensors = files[GRAPH].read()
        stays, simplified = tensors.pop(STAYS, None), None
        core = data = graph_from_tensors(config['graph'], tensors)
        if stays is not None:
            simplified = simplify_graph(data, stays)
            core = simplified.data
        model = None
        if config['map'] is not None:
            size = int(core.num_nodes)
            model = unpack_map(BCM, config['map'], files[MAP], size)
            if model.info.fingerprint != fingerprint(core):
                raise BCMError('the network belongs to another graph')
        history = _history(config['history'])
        snapshots = _snapshots(model, config['snapshots'], files[SNAPSHOTS])
        readout = _readout(config['readout'])
    return Parts(data, simplified, model, readout, history, snapshots)


def _readout_config(readout: Readout | None) -> dict[str, Any] | None:
    """Name and settings of a readout; None is the default one."""
    if readout is None:
        return None
    name = type(readout).__name__
    if _READOUTS.get(name) is not type(readout):
        raise BCMError(f'only built-in readouts can be saved (got {name})')
    settings = {
        field.name: getattr(readout, field.name) for field in fields(readout)
    }
    if 'guide' in settings:
        settings['guide'] = _readout_config(settings['guide'])
    return {'name': name, 'settings': settings}


def _readout(config: Mapping[str, Any] | None) -> Readout | None:
    if config is None:
        return None
    check_fields(config, {'name': str, 'settings': dict})
    kind, settings = _READOUTS.get(config['name']), dict(config['settings'])
    if kind is None:
        raise BCMError(f'there is no readout {config["name"]!r:.80}')
    if 'guide' in settings:
        settings['guide'] = _readout(settings['guide'])
    return kind(**settings)


def _without_nan(values: Any) -> Any:
    """JSON has no number that is none: it becomes null."""
    if isinstance(values, dict):
        return {key: _without_nan(value) for key, value in values.items()}
    if isinstance(values, list):
        return [_without_nan(value) for value in values]
    is_none = isinstance(values, float) and not math.isfinite(values)
    return None if is_none else values


def _history(config: Mapping[str, Any]) -> History:
    like = asdict(History())
    check_fields(config, {key: type(value) for key, value in like.items()})
    columns = [key for key, value in like.items() if isinstance(value, list)]
    length = len(config['step'])
    out = dict(config)
    for key in columns:
        column = [_number(key, value) for value in config[key]]
        out[key] = list(map(int, column)) if key == 'step' else column
        if len(column) != length:
            raise BCMError('the history has columns of different lengths')
    return History(**out)


def _number(name: str, value: Any) -> float:
    if value is None and name != 'step':
        return math.nan
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BCMError(f'{name} has no valid number')
    return value


def _snapshot_config(snapshot: Snapshot) -> dict[str, Any]:
    numbers = {name: getattr(snapshot, name) for name in _METRICS}
    out: dict[str, Any] = _without_nan({'step': snapshot.step, **numbers})
    return out


def _snapshots(
    model: BCM | None, configs: list[Any], file: TensorFile
) -> list[Snapshot]:
    """The snapshots, if they are, to the last weight, of this network."""
    wanted = {} if model is None else dict(model.state_dict())
    parameters = {} if model is None else dict(model.named_parameters())
    all_wanted = {
        f'{number}.{key}': value
        for number in range(len(configs))
        for key, value in wanted.items()
    }
    names = {f'{n}.{key}' for n in range(len(configs)) for key in parameters}
    check_int('snapshots', len(configs), 0, len(file.specs))
    check_tensors(
        file.specs, stored_specs(all_wanted, names, DTYPE, file.specs)
    )
    tensors = file.read()
    check_finite(tensors)
    out = []
    for number, config in enumerate(configs):
        check_fields(config, dict.fromkeys(('step', *_METRICS), object))
        numbers = {name: _number(name, config[name]) for name in _METRICS}
        check_int('step', config['step'], 0)
        weights = {key: tensors[f'{number}.{key}'] for key in wanted}
        out.append(Snapshot(step=config['step'], weights=weights, **numbers))
    return out
