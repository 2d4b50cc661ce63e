"""Maps as folders: config.json says how to build one, a file has its weights.

Config, header of the weights and size of their file must agree before anything
of that size is built or read. So the memory to refuse a folder is bounded by a
few times its size, and the time by reading it once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from io import BytesIO
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy
from torch.overrides import TorchFunctionMode
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import fingerprint, planning_graph
from bcm_pyg.io import (
    Format,
    TensorFile,
    check_fields,
    check_finite,
    check_tensors,
    config_text,
    open_folder,
    pack,
    parse_config,
    refusing,
    write_folder,
)
from bcm_pyg.utils import as_path, check_choice

from .encoders.resolver import (
    encoder_class,
    encoder_config,
    encoder_from_config,
)
from .quantize import DTYPES, compress, expand, stored_specs
from .transition import Transition

if TYPE_CHECKING:
    from .bcm import BCM

FORMAT = Format('map', 3)
#: The file of the weights.
WEIGHTS = 'map'
#: Calls of PyTorch that any encoder may take to be built, and for each tensor:
#: some ten seconds with the largest header.
SPARE_CALLS = 10**4
TENSOR_CALLS = 12

Map = TypeVar('Map', bound='BCM')


@dataclass(frozen=True)
class MapInfo:
    """What is known of a map besides its weights, and saved with it.

    Attributes:
        fingerprint: Of the graph that the map belongs to, once it has one (see
            :func:`~bcm_pyg.graph.fingerprint`).
        training: How it was trained and what it scored, of JSON types alone.
        dtype: What the file holds that it was read from.
    """

    fingerprint: str | None = None
    training: dict[str, Any] = field(default_factory=dict)
    dtype: str = 'float32'


_FIELDS = {
    'encoder': dict,
    'transition': dict,
    'terminal': str,
    'fingerprint': str | None,
    'training': dict,
    'dtype': str,
}


def save_map(
    model: BCM, path: str | PathLike[str], dtype: str = 'float32'
) -> None:
    """Writes a map into a folder (see :meth:`BCM.save`)."""
    folder = as_path('path', path)
    config, content = pack_map(model, dtype)
    write_folder(folder, FORMAT, config, {WEIGHTS: content})


def pack_map(model: BCM, dtype: str) -> tuple[dict[str, Any], bytes]:
    """The config of a map and the content of its file."""
    check_choice('dtype', dtype, DTYPES)
    # A subclass would come back as what it was made from.
    if type(model.transition) is not Transition:
        raise BCMError(
            'only maps with the built-in Transition can be saved (got '
            f'{type(model.transition).__name__})'
        )
    with refusing('the map cannot be saved'):
        state = {key: value.cpu() for key, value in _state(model).items()}
        check_finite(state)
        content = pack(compress(state, _parameter_names(model), dtype))
        config = {
            'encoder': encoder_config(model.encoder),
            'transition': model.transition.config(),
            'terminal': model.terminal,
            'fingerprint': model.info.fingerprint,
            'training': model.info.training,
            'dtype': dtype,
        }
        # What could not be loaded must not replace a map that can.
        config = parse_config(FORMAT, config_text(FORMAT, config).encode())
        check_fields(config, _FIELDS)
        file = TensorFile(BytesIO(content), len(content), 'the weights')
        _read_state(type(model), config, file, None)
    return config, content


def load_map(
    cls: type[Map], path: str | PathLike[str], data: Data, force: bool = False
) -> Map:
    """Reads a map of a class for a graph (see :meth:`BCM.load`)."""
    if not isinstance(force, bool):
        raise BCMError(f'force must be a bool (got {force!r:.80})')
    folder = as_path('path', path)
    data = planning_graph(data)
    with open_folder(folder, FORMAT, _FIELDS, [WEIGHTS]) as (config, files):
        if not force and config['fingerprint'] not in (None, fingerprint(data)):
            raise BCMError(
                f'the map in {folder} belongs to another graph (edges, costs '
                'or coordinates differ); pass force=True to use it anyway, or '
                'to continue training with other costs'
            )
        with refusing(f'{folder} does not hold a readable map'):
            num_nodes = int(data.num_nodes)
            model = unpack_map(cls, config, files[WEIGHTS], num_nodes)
    return model.to(data.edge_index.device)


def unpack_map(
    cls: type[Map],
    config: Mapping[str, Any],
    file: TensorFile,
    num_nodes: int,
) -> Map:
    """The map of a graph with this size; the inverse of :func:`pack_map`."""
    check_fields(config, _FIELDS)
    state = _read_state(cls, config, file, num_nodes)
    model = _build(cls, config)
    model.load_state_dict(state)
    names = ('fingerprint', 'training', 'dtype')
    model.info = MapInfo(**{name: config[name] for name in names})
    mean = model.info.training.get('mean_cost')
    model._mean_cost = mean if isinstance(mean, float) else None
    return model


def _read_state(
    cls: type[BCM],
    config: Mapping[str, Any],
    file: TensorFile,
    num_nodes: int | None,
) -> dict[str, Tensor]:
    """The weights of a map, if they are exactly what it needs. An encoder with
    a row per node must have :obj:`num_nodes` of them.
    """
    dtype = config['dtype']
    check_choice('dtype', dtype, DTYPES)
    check_fields(config['encoder'], {'name': str, 'config': dict})
    like = _skeleton(cls, config, len(file.specs))
    for module in like.encoder.modules():
        size = getattr(module, 'num_nodes', None)
        if None not in (size, num_nodes) and size != num_nodes:
            raise BCMError(
                f'its encoder was built for {size!r:.80} nodes (got a graph of '
                f'{num_nodes})'
            )
    wanted, parameters = _state(like), _parameter_names(like)
    specs = stored_specs(wanted, parameters, dtype, file.specs)
    check_tensors(file.specs, specs)
    state = expand(file.read(), wanted, parameters, dtype)
    check_finite(state)
    scale = state['cost_scale']
    if not (scale > 0 and scale.reciprocal().isfinite()):
        raise BCMError(f'cost_scale is {float(scale)}')
    for name, module in like.named_modules():
        if hasattr(module, 'check_buffers'):
            prefix = f'{name}.' if name else ''
            keys = [key for key, _ in module.named_buffers(recurse=False)]
            keys = [key for key in keys if prefix + key in state]  # persistent
            module.check_buffers({key: state[prefix + key] for key in keys})
    return state


def _build(
    cls: type[Map], config: Mapping[str, Any], device: str = 'cpu'
) -> Map:
    """The map that a config describes, with weights of its own."""
    with (  # drawing weights must not change the caller's random numbers
        refusing('it cannot be rebuilt'),
        torch.random.fork_rng(devices=[]),
        torch.device(device),
    ):
        encoder = encoder_from_config(config['encoder'])
        transition = Transition(**config['transition'])
        return cls(encoder, transition, config['terminal'], 1.0)


def _skeleton(
    cls: type[Map], config: Mapping[str, Any], num_tensors: int
) -> Map:
    """The same without memory for its weights, to compare shapes with.

    This refuses configs of terabytes, or of millions of small tensors. Encoders
    of users are trusted to be quick, and get numbers if they need them.
    """
    most_calls = SPARE_CALLS + TENSOR_CALLS * num_tensors
    is_ours = all(
        encoder_class(name).__module__.startswith('bcm_pyg.')
        for name in _encoder_names(config['encoder'])
    )
    try:
        with _AtMost(most_calls) if is_ours else nullcontext():
            return _build(cls, config, 'meta')
    except BCMError as error:
        if is_ours or not isinstance(error.__cause__, RuntimeError):
            raise
    return _build(cls, config)


def _encoder_names(part: Any) -> Iterator[str]:
    """Of an encoder and of the parts that it names in its config."""
    if isinstance(part, dict) and part.keys() == {'name', 'config'}:
        yield part['name']
        part = part['config']
    if isinstance(part, (dict, list)):
        for value in part.values() if isinstance(part, dict) else part:
            yield from _encoder_names(value)


class _AtMost(TorchFunctionMode):
    """Stops what calls PyTorch too often."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self.calls = calls

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.calls -= 1
        if self.calls < 0:
            raise BCMError('the config asks for more than the weights hold')
        return func(*args, **(kwargs or {}))


def _parameter_names(model: BCM) -> set[str]:
    """Names of all parameters, those that share memory too."""
    return {name for name, _ in model.named_parameters(remove_duplicate=False)}


def _state(model: BCM) -> dict[str, Tensor]:
    """All weights, if they have shapes already."""
    state = model.state_dict()
    for key, value in state.items():
        if is_lazy(value):
            raise BCMError(
                f'{key} has no shape until it is used: give its module the '
                'number of channels'
            )
    return state
