"""Names: what users call nodes, looked up both ways."""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError

from ._extras import fits
from .labels import check_distinct, labels_of

#: Characters of names that are compared; it takes their square.
LONG = 200


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

    @cached_property
    def _node(self) -> dict[Any, int]:
        return {name: node for node, name in enumerate(self.of)}

    def __len__(self) -> int:
        return len(self.of)

    def node(self, name: Any) -> int:
        """The node of one name."""
        try:
            return self._node[name]
        except (KeyError, TypeError):
            pass
        if isinstance(name, (Tensor, np.ndarray)) and name.ndim == 0:
            return self.node(name.item())
        raise BCMError(self._unknown(name))

    def nodes(self, names: Any) -> np.ndarray:
        """The nodes of some names, or of one, :obj:`[B]`."""
        listed = self.listed(names)
        try:
            return np.array(
                list(map(self._node.__getitem__, listed)), dtype=np.int64
            )
        except (KeyError, TypeError):
            pass  # tensors of one number, or an unknown name
        found = [self.node(name) for name in listed]
        return np.array(found, dtype=np.int64)

    def listed(self, names: Any) -> list[Any]:
        """Names as a list, where one name may be given in place of a list."""
        if self.is_one(names):
            return [names]
        if isinstance(names, (Tensor, np.ndarray)):
            rows = names.tolist()
            return [tuple(x) if isinstance(x, list) else x for x in rows]
        return list(names)

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
        for like in (int, str):  # '7' for 7, or 7 for '7'
            try:
                guess = like(name) if like(name) in self._node else guess
            except (TypeError, ValueError, OverflowError):
                continue
        if guess is None and isinstance(name, str) and len(name) <= LONG:
            known = [other for other in self.of if isinstance(other, str)]
            known = [other for other in known if len(other) <= LONG]
            guess = next(iter(get_close_matches(name, known, 1)), None)
        if guess is not None:
            return f'{text}; did you mean {guess!r:.80}?'
        if self._num_dropped:
            text += (
                f'. {self._num_dropped} nodes outside of the largest component '
                'were dropped'
            )
        return text
