"""Names of encoders, for strings in code and for maps on disk."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph.planning_graph import check_pos

from .base import NodeEncoder
from .concat import ConcatEncoder
from .continuous_interaction import ContinuousInteractionEncoder
from .gnn import GNNEncoder
from .grid import GridEncoder
from .interaction import InteractionEncoder
from .k_hot import KHotEncoder
from .landmark import LandmarkEncoder
from .node_table import NodeTableEncoder
from .one_hot import OneHotEncoder

_ENCODERS: dict[str, type[NodeEncoder]] = {
    'interaction': InteractionEncoder,
    'continuous_interaction': ContinuousInteractionEncoder,
    'one_hot': OneHotEncoder,
    'k_hot': KHotEncoder,
    'gnn': GNNEncoder,
    'grid': GridEncoder,
    'landmark': LandmarkEncoder,
    'node_table': NodeTableEncoder,
    'concat': ConcatEncoder,
}

#: Channels of nodes of their own beside the interaction encoder, from and to,
#: and what they may come to over all nodes.
NODE_CHANNELS, NODE_NUMBERS = (3, 8), 49_152

EncoderType = TypeVar('EncoderType', bound=type[NodeEncoder])


def register_encoder(name: str) -> Callable[[EncoderType], EncoderType]:
    """Class decorator that names a custom encoder, so that maps can be saved.

    A class of the same name and module (a notebook cell run again) replaces
    the old one; another class under a taken name is an error.
    """

    def register(encoder: EncoderType) -> EncoderType:
        if not (isinstance(encoder, type) and issubclass(encoder, NodeEncoder)):
            raise BCMError(f'{encoder!r} is not a subclass of NodeEncoder')
        known = _ENCODERS.get(name, encoder)
        names = {(k.__module__, k.__qualname__) for k in (known, encoder)}
        if len(names) > 1:
            raise BCMError(f'name {name!r} is taken by {known.__qualname__}')
        _ENCODERS[name] = encoder
        return encoder

    return register


def encoder_class(name: str) -> type[NodeEncoder]:
    """The encoder class of a name."""
    if not isinstance(name, str) or name not in _ENCODERS:
        raise BCMError(
            f'unknown encoder {name!r:.80}: known are {tuple(_ENCODERS)}; '
            'register your own with bcm_pyg.nn.register_encoder'
        )
    return _ENCODERS[name]


def encoder_name(encoder: object) -> str:
    """The name of an encoder's class."""
    for name, known in _ENCODERS.items():
        if type(encoder) is known:
            return name
    raise BCMError(
        f'{type(encoder).__name__} has no name, so a map with it cannot be '
        'saved: decorate the class with @bcm_pyg.nn.register_encoder("name")'
    )


def encoder_config(encoder: Any) -> dict[str, Any]:
    """Name and configuration of an encoder, of JSON types alone."""
    return {'name': encoder_name(encoder), 'config': encoder.config()}


def encoder_from_config(config: Mapping[str, Any]) -> NodeEncoder:
    """The inverse of :func:`encoder_config`."""
    return encoder_class(config['name']).from_config(config['config'])


def default_encoder(data: Data, **kwargs: Any) -> tuple[str, dict[str, Any]]:
    """Name and arguments of the encoder that a canonical graph has by default.

    Where positions are real, as of roads, what is particular to a junction does
    not follow from where it is. On graphs of up to 16,384 nodes each gets a few
    numbers of its own, unless arguments are given: on roads walks reached more
    goals than with landmarks of twice the bytes. Integer coordinates tell nodes
    apart.
    """
    if data.get('pos') is None:
        return 'landmark', kwargs
    channels = min(NODE_CHANNELS[1], NODE_NUMBERS // int(data.num_nodes))
    real = data.get('coord') is None
    parts = 'interaction', 'node_table'
    if {*kwargs} & {*parts}:  # arguments of the parts
        return '+'.join(parts), kwargs
    if kwargs or not real or channels < NODE_CHANNELS[0]:
        return 'interaction', kwargs
    return '+'.join(parts), {'node_table': {'channels': channels}}


def encoder_resolver(name: str, data: Data, **kwargs: Any) -> NodeEncoder:
    """Builds the named encoder for a canonical graph.

    Names joined by a plus, as :obj:`"interaction+landmark"`, mean these
    encoders side by side (:class:`~bcm_pyg.nn.ConcatEncoder`).
    :obj:`"interaction"` means :obj:`"continuous_interaction"` if the graph has
    no integer coordinates or a number of :obj:`bins` is given.
    """
    if isinstance(name, str) and '+' in name:
        return ConcatEncoder.from_data(data, name.split('+'), **kwargs)
    if encoder_class(name).needs_pos:
        hint = "unlike 'landmark', 'node_table' and 'one_hot'"
        check_pos(data, f'encoder {name!r} ({hint})')
    if name == 'interaction':
        name = _interaction(data, **kwargs)
    kind = encoder_class(name)
    try:
        return kind.from_data(data, **kwargs)
    except TypeError as error:
        if not kwargs:
            raise
        raise BCMError(
            f'encoder {name!r} cannot be built with {tuple(kwargs)}: {error}. '
            f'Its arguments are {_arguments(kind)}'
        ) from error


def _interaction(data: Data, bins: int | None = None, **kwargs: Any) -> str:
    """Which of the interaction encoders fits a graph."""
    if bins is not None or data.get('coord') is None:
        return 'continuous_interaction'
    for name in {'levels', 'knots', 'grids'} & kwargs.keys():
        raise BCMError(
            f'{name} is for real coordinates, but the graph has integer codes: '
            'pass a number of bins as well'
        )
    return 'interaction'


def _arguments(kind: type[NodeEncoder]) -> tuple[str, ...]:
    """Arguments of an encoder that is built for a graph."""
    names: dict[str, None] = {}
    for function in (kind.from_data, kind):
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind is not parameter.VAR_KEYWORD and name != 'data':
                names[name] = None
    return tuple(names)
