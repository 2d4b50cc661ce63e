"""Sets of nodes, one for each of a batch of queries, as sorted numbers.

The pair of query :math:`q` and node :math:`i` is the number :math:`q N + i`.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from bcm_pyg.utils import Adjacency


def place_of(pairs: Tensor, wanted: Tensor) -> Tensor:
    """Where each wanted pair is among sorted pairs, -1 if it is not there."""
    if pairs.numel() == 0:
        return torch.full_like(wanted, -1)
    place = torch.searchsorted(pairs, wanted).clamp_(max=pairs.numel() - 1)
    return place.masked_fill_(pairs[place] != wanted, -1)


def numbered(nodes: Tensor, num_nodes: int) -> Tensor:
    """The pairs of the nodes of each query, :obj:`[B, L]` padded with -1."""
    query = torch.arange(nodes.size(0), device=nodes.device)[:, None]
    return (query * num_nodes + nodes)[nodes >= 0].unique()


def united(*parts: Tensor) -> Tensor:
    """All pairs of some sets, sorted, each once."""
    return torch.cat(parts).unique()


def regrouped(pairs: Tensor, query: Tensor, num_nodes: int) -> Tensor:
    """Pairs of positions in a list of queries as pairs of these queries."""
    place = pairs.div(num_nodes, rounding_mode='trunc')
    return pairs + (query[place] - place) * num_nodes


def counted(pairs: Tensor, num_queries: int, num_nodes: int) -> Tensor:
    """Number of nodes of each query, :obj:`[B]`."""
    return torch.bincount(pairs // num_nodes, minlength=num_queries)


def split(
    pairs: Tensor, num_queries: int, num_nodes: int, most: int
) -> Iterator[tuple[slice, Tensor]]:
    """Cuts queries into parts of few nodes.

    Yields the queries of each part and their pairs, numbered from the first of
    them. A part has at most :obj:`most` nodes, or is a single query.
    """
    end = counted(pairs, num_queries, num_nodes).cumsum(0)
    first = before = 0
    while first < num_queries:
        fit = int(torch.searchsorted(end, before + most, right=True))
        last = max(first + 1, fit)
        after = int(end[last - 1])
        yield slice(first, last), pairs[before:after] - first * num_nodes
        first, before = last, after


def widened(pairs: Tensor, adjacency: Adjacency, radius: int) -> Tensor:
    """The pairs with all that is at most :obj:`radius` hops away from them."""
    num_nodes = adjacency.num_nodes
    rim = pairs
    for _ in range(radius):
        if rim.numel() == 0:
            break
        edge, row = adjacency.out_edges(rim % num_nodes)
        begin = rim.div(num_nodes, rounding_mode='trunc') * num_nodes
        heads = (begin[row] + adjacency.dst[edge]).unique()
        rim = heads[place_of(pairs, heads) < 0]
        pairs = torch.cat([pairs, rim]).sort().values
    return pairs
