"""Names: what users call nodes, looked up both ways."""

from collections.abc import Hashable, Iterable
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import counted

from ._extras import fits
from .labels import as_list, check_distinct, labels_of

#: Characters of names that are compared; it takes their square.
LONG = 200
#: Names that an unknown one is compared with: more take seconds.
MANY = 5_000


def nodes_from_labels(data: Data, labels: Hashable | Iterable[Hashable]) -> Any:
    """The nodes that have these labels.

    As in networkx, a value that is itself a label counts as one, even a tuple;
    other iterables hold labels.

    Args:
        data (torch_geometric.data.Data): The graph. Its :obj:`node_id` holds
            the labels; without it the label of a node is its number.
        labels (Hashable or Iterable): OSM ids, nodes of a networkx graph,
            names, ...

    Returns:
        An int for one label, a tensor :obj:`[B]` for several.
    """
    names = Names(data)
    if names.is_one(labels):
        return names.node(labels)
    nodes = torch.from_numpy(names.nodes(labels))
    edges = data.edge_index
    return nodes if edges is None else nodes.to(edges.device)


class Names:
    """The names of the nodes of a graph.

    An integer is a position only if the graph has no names.

    Args:
        data (torch_geometric.data.Data): The graph. Its :obj:`node_id` holds
            the names; without it the name of a node is its number.

    Attributes:
        of: Names of all nodes.
    """

    def __init__(self, data: Data) -> None:
        self.of: list[Any] = labels_of(data)
        if data.get('node_id') is not None:
            check_distinct(self.of)
        dropped = data.get('dropped_nodes')
        is_known = fits('dropped_nodes', dropped, data)
        self._num_dropped: int = dropped if is_known else 0
        self._has_tuples = any(isinstance(name, tuple) for name in self.of)
        self._grid = _grid_size(data)

    @cached_property
    def _node(self) -> dict[Any, int]:
        return {name: node for node, name in enumerate(self.of)}

    def __len__(self) -> int:
        return len(self.of)

    def node(self, name: Any) -> int:
        """The node of one name."""
        scalar = isinstance(name, (Tensor, np.ndarray, np.generic))
        if scalar and name.ndim == 0:
            name = name.item()
        try:
            node = self._node[name]
        except (KeyError, TypeError):
            raise BCMError(self._unknown(name)) from None
        if isinstance(name, bool) and not isinstance(self.of[node], bool):
            raise BCMError(f'{name} is not a node: give names, not a mask')
        return node

    def nodes(self, names: Any) -> np.ndarray:
        """The nodes of some names, or of one, :obj:`[B]`."""
        quick = self._from_numbers(names)
        if quick is not None:
            return quick
        listed = [names] if self.is_one(names) else as_list(names)
        try:
            if any(isinstance(name, bool) for name in listed):
                raise TypeError  # a mask, or names that are True and False
            return np.array(
                list(map(self._node.__getitem__, listed)), dtype=np.int64
            )
        except (KeyError, TypeError):
            pass  # tensors of one number, a mask, or an unknown name
        found = []
        for index, name in enumerate(listed):
            try:
                found.append(self.node(name))
            except BCMError as error:
                at = f'names[{index}] = ' if len(listed) > 1 else ''
                raise BCMError(f'{at}{error}') from None
        return np.array(found, dtype=np.int64)

    def _from_numbers(self, names: Any) -> np.ndarray | None:
        """The nodes of many numbers, if all names are numbers; None if not.

        Arrays read less memory than a dictionary.
        """
        if self._numbers is None or not isinstance(
            names, (list, np.ndarray, Tensor)
        ):
            return None
        try:
            asked = np.asarray(names)
        except (TypeError, ValueError, RuntimeError):  # lists of all sorts
            return None
        if asked.ndim != 1 or asked.dtype.kind != 'i':
            return None
        known, node = self._numbers
        if int(known[-1]) - int(known[0]) == known.size - 1:  # none left out
            at = asked.astype(np.int64) - known[0]
            at[(at < 0) | (at >= known.size)] = 0
        else:
            at = np.searchsorted(known, asked).clip(max=known.size - 1)
        # An unknown name gets its error elsewhere.
        return node[at] if bool((known[at] == asked).all()) else None

    @cached_property
    def _numbers(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Names in order and their nodes, if all are numbers."""
        if not self.of or not all(type(name) is int for name in self.of):
            return None
        try:
            known = np.array(self.of, dtype=np.int64)
        except OverflowError:
            return None
        node = known.argsort(kind='stable')
        return known[node], node

    def is_one(self, names: Any) -> bool:
        """Whether this is one name, not several."""
        if isinstance(names, (Tensor, np.ndarray)):
            return names.ndim == 0
        if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
            return True
        try:
            if names in self._node:
                return True
        except TypeError:  # a list
            return False
        return isinstance(names, tuple) and (
            self._has_tuples and not all(isinstance(x, tuple) for x in names)
        )

    def _unknown(self, name: Any) -> str:
        """Says what names look like, and which may be meant."""
        kind = type(self.of[0]).__name__
        some = ' or '.join(f'{known!r:.40}' for known in self.of[:2])
        text = f'{name!r:.80} is not a node: names are of type {kind}'
        text += f', such as {some}'
        guess = None
        for like in (int, str, _as_tuple):  # '7' for 7, or 7 for '7'
            try:
                guess = like(name) if like(name) in self._node else guess
            except (TypeError, ValueError, OverflowError):
                continue
        if guess is None and isinstance(name, str) and len(name) <= LONG:
            known = [other for other in self.of if isinstance(other, str)]
            known = [other for other in known if len(other) <= LONG]
            if len(known) > MANY:
                known = [other for other in known if other[:2] == name[:2]]
            guess = next(iter(get_close_matches(name, known[:MANY], 1)), None)
        if guess is not None:
            return f'{text}; did you mean {guess!r:.80}?'
        if (why := self._cell(name)) is not None:
            return f'{name!r:.80} is not a node: {why}'
        if self._num_dropped:
            text += (
                f'. Dropped: {counted(self._num_dropped, "node")} outside of '
                'the largest component. Pass only names that are left, those '
                'in .names of a CognitiveMap, and edges between them'
            )
        return text

    def _cell(self, name: Any) -> str | None:
        """Why a cell of a grid whose nodes are called by them is no node."""
        size = self._grid
        try:
            cell = _as_tuple(name)
            if size is None or len(cell) != len(size) or isinstance(name, str):
                return None
            inside = all(0 <= x < n for x, n in zip(cell, size, strict=True))
        except (TypeError, ValueError):
            return None
        if inside:
            return 'this cell is blocked, or cut off from most others'
        return f'the grid has {" x ".join(map(str, size))} cells'


def _grid_size(data: Data) -> tuple[int, ...] | None:
    """The shape of a grid if its nodes are called by their cells."""
    size, cells, names = (
        data.get(key) for key in ('grid_size', 'coord', 'node_id')
    )
    if not isinstance(size, Tensor) or not fits('grid_size', size, data):
        return None
    are_cells = isinstance(names, Tensor) and torch.equal(names, cells)
    return tuple(size[0].tolist()) if are_cells else None


def _as_tuple(name: Any) -> tuple[Any, ...]:
    """The cell that a list, an array or a text such as '3,4' means."""
    if isinstance(name, str):
        return tuple(int(part) for part in name.strip('()[] ').split(','))
    if isinstance(name, (np.ndarray, Tensor)):
        name = name.tolist()
    if not isinstance(name, (list, tuple)):
        raise TypeError
    return tuple(name)
