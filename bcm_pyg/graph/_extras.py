"""Attributes beside those of the contract that parts of the package read."""

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError


def fits(name: str, value: Any, data: Data) -> bool:
    """Whether an attribute is what its name says to the package, if it says
    anything; in files of strangers it may not be.
    """
    check = _EXTRAS.get(name)
    return check is None or check(value, data)


def check_extras(data: Data) -> None:
    """Refuses a graph with an attribute that is not what its name says."""
    for name in _EXTRAS:
        value = data.get(name)
        if value is not None and not fits(name, value, data):
            raise BCMError(f'{name} is of a type or shape that it cannot have')


def _is_count(value: Any, data: Data) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _is_bool(value: Any, data: Data) -> bool:
    return type(value) is bool


def _are_flags(value: Any, data: Data) -> bool:
    is_whole = _has_shape(value, data.num_nodes)
    return is_whole and not value.is_floating_point()


def _are_degrees(value: Any, data: Data) -> bool:
    return _has_shape(value, data.num_nodes, 2)


def _is_grid_size(value: Any, data: Data) -> bool:
    """One that holds the codes of all nodes."""
    coord = data.get('coord')
    if coord is None or not _has_shape(value, 1, coord.size(1)):
        return False
    return bool(((coord >= 0) & (coord < value)).all())


def _are_matrix_axes(value: Any, data: Data) -> bool:
    coord = data.get('coord')
    if coord is None or not _has_shape(value, 1, 2):
        return False
    row, column = value[0].tolist()
    axes = range(coord.size(1))
    return row in axes and column in axes and row != column


def _has_shape(value: Any, *shape: int | None) -> bool:
    is_number = isinstance(value, Tensor) and not value.is_complex()
    return is_number and tuple(value.shape) == shape


_EXTRAS: dict[str, Callable[[Any, Data], bool]] = {
    'blocked': _are_flags,
    'dropped_nodes': _is_count,
    'grid_size': _is_grid_size,
    'lonlat': _are_degrees,
    'matrix_axes': _are_matrix_axes,
    'undirected': _is_bool,
}
