"""Runs readouts on parts of a batch: compiled for maps, plain for others."""

import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from bcm_pyg.kernels import (
    Array,
    Bounds,
    Expanded,
    Found,
    Graph,
    Map,
    Scratch,
    load_kernels,
    scratch_for,
)
from bcm_pyg.utils import Adjacency

from ._plain import PlainEngine
from .base import Scorer
from .plan import Plan

#: Node ids that a part may hold in each of its lists: 64 MB.
MAX_LISTED = 2**23
#: Queries of a part, and pairs of a part that are valued.
PART, VALUES = 32, 2**11
#: Of searches there and back, which have none.
NO_CEILING = np.empty(0)


class CompiledEngine:
    """:class:`PlainEngine` by kernels, on the scratch memory of one thread."""

    def __init__(
        self, graph: Graph, net: Map, bounds: Bounds, scratch: Scratch
    ) -> None:
        code = load_kernels()
        walking = graph, net, scratch
        self.walk = partial(_found_by, code.walk, *walking)
        self.backtrack = partial(_found_by, code.backtrack, *walking)
        self.lookahead = partial(_found_by, code.lookahead, *walking)
        self.inside = partial(_found_by, code.inside, graph, scratch)
        self._expand = partial(code.expand, graph, net, bounds, scratch)

    def expand(
        self,
        starts: Array,
        goals: Array,
        weight: float = 1.0,
        width: int = 0,
        ceiling: Array | float = np.inf,
        reopen: bool = False,
    ) -> Expanded:
        """See :meth:`PlainEngine.search`."""
        most = np.full(starts.size, ceiling)
        options = float(weight), width, most, reopen, False
        return Expanded(*self._expand(starts, goals, *options))

    def there_and_back(
        self, starts: Array, goals: Array, weight: float = 1.0
    ) -> tuple[Array, Array]:
        """See :meth:`PlainEngine.there_and_back`."""
        options = float(weight), 0, NO_CEILING, False, True
        nodes, span, *_ = self._expand(starts, goals, *options)
        return nodes, span.reshape(-1, 2, 2)


def _found_by(kernel: Callable[..., Any], *arguments: Any) -> Found:
    return Found(*kernel(*arguments))


Engine = CompiledEngine | PlainEngine


class EngineReadout:
    """A readout that is written for either engine, with queries in arrays."""

    def __call__(
        self,
        scorer: Scorer,
        adjacency: Adjacency,
        starts: Tensor,
        goals: Tensor,
    ) -> Plan:
        """Routes of a batch of queries."""
        return in_parts(self._answer, scorer, adjacency, starts, goals)

    def _answer(self, engine: Engine, starts: Array, goals: Array) -> Found:
        raise TypeError(f'{type(self).__name__} has no method _answer')


class GraphArrays:
    """A graph as arrays on the CPU, and scratch memory that is free."""

    def __init__(self, adjacency: Adjacency) -> None:
        edges = adjacency.rowptr, adjacency.src, adjacency.dst
        # Copies: tensors that are sent to another process lose their memory.
        rowptr, tail, head = (as_array(edge).copy() for edge in edges)
        cost = as_array(adjacency.exact_cost).copy()
        degree = int(np.diff(rowptr).max(initial=0))
        self.graph = Graph(rowptr, tail, head, cost, degree)
        self.free: list[Scratch] = []

    def take(self) -> Scratch:
        """Scratch memory for one thread."""
        try:
            return self.free.pop()
        except IndexError:
            rowptr, head = self.graph.rowptr, self.graph.head
            return scratch_for(rowptr.size - 1, head.size)


def as_array(values: Tensor) -> Array:
    """Kernels are compiled for arrays without gaps."""
    return np.ascontiguousarray(values.cpu().numpy())


_ARRAYS: WeakKeyDictionary[Adjacency, GraphArrays] = WeakKeyDictionary()
_LOCK = threading.Lock()


def arrays_of(adjacency: Adjacency) -> GraphArrays:
    """Those of a graph, made once."""
    with _LOCK:
        if adjacency not in _ARRAYS:
            _ARRAYS[adjacency] = GraphArrays(adjacency)
        return _ARRAYS[adjacency]


# --- queries in parts ---------------------------------------------------------


def in_parts(
    answer: Callable[..., Found],
    scorer: Scorer,
    adjacency: Adjacency,
    starts: Tensor,
    goals: Tensor,
    *columns: Tensor,
) -> Plan:
    r"""The plan of a batch, part by part, on as many threads as torch uses.

    Parts are answered by :obj:`answer(engine, starts, goals, *columns)`, where
    columns :obj:`[B, *]` are cut along with the queries; at least one. A map is
    searched by compiled code, other scorers plainly.

    Memory: 112 bytes a node and thread, kept for the next queries like a copy
    of the graph, 8 bytes a node and 32 an edge; and lists of the nodes that a
    part expands, a few times :math:`2^{23}` ids or those of one query.
    """
    batch = [as_array(x) for x in (starts, goals, *columns)]
    run = partial(_run, answer, scorer, adjacency)
    most = max(1, min(PART, MAX_LISTED // adjacency.num_nodes))
    firsts = range(0, starts.numel(), most)
    parts = [[x[at : at + most] for x in batch] for at in firsts]
    if compiled_map(scorer) is None:
        found = [run(*part) for part in parts]
    else:
        found = in_threads(run, parts)
    return _plan_of(found, starts.device)


def _run(
    answer: Callable[..., Found],
    scorer: Scorer,
    adjacency: Adjacency,
    *part: Array,
) -> Found:
    readable = compiled_map(scorer)
    if readable is None:
        return answer(PlainEngine(scorer, adjacency), *part)
    arrays = arrays_of(adjacency)
    scratch = arrays.take()
    try:
        engine = CompiledEngine(arrays.graph, *readable, scratch)
        return answer(engine, *part)
    finally:
        arrays.free.append(scratch)


def values_of(
    scorer: Scorer, adjacency: Adjacency, starts: Tensor, goals: Tensor
) -> Tensor:
    """The lowest score of each start, :obj:`[B]`, in units of costs, with all
    edges, by a scorer that kernels read.
    """
    readable = compiled_map(scorer)
    assert readable is not None
    # The pairs of a start follow each other: its slopes are read once.
    start, order = starts.sort()
    ends = as_array(start), as_array(goals[order])
    graph = arrays_of(adjacency).graph
    value = partial(load_kernels().values, graph, readable[0])
    parts = [
        [end[first : first + VALUES] for end in ends]
        for first in range(0, max(1, starts.numel()), VALUES)
    ]
    out = np.empty(starts.numel(), np.float32)
    out[order.numpy()] = np.concatenate(in_threads(value, parts))
    return torch.from_numpy(out)


def in_threads(
    run: Callable[..., Any], parts: Sequence[Sequence[Array]]
) -> list[Any]:
    """What each part gives, on as many threads as torch uses."""
    threads = min(torch.get_num_threads(), len(parts))
    if threads == 1:
        return [_uninterrupted(run, *part) for part in parts]
    # Made anew each time: a pool does not survive a fork.
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, *zip(*parts, strict=True)))


def _uninterrupted(run: Callable[..., Any], *part: Array) -> Any:
    """Runs a part; Ctrl-C waits for its end.

    Numba calls Python to make its results, and crashes if that raises. Other
    threads than the main one are not interrupted anyway.
    """
    handler = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not callable(handler):
        return run(*part)
    came: list[Any] = []
    signal.signal(signal.SIGINT, lambda *call: came.append(call))
    try:
        return run(*part)
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(*came[0])


def compiled_map(scorer: Scorer) -> tuple[Map, Bounds] | None:
    """What the kernels read of a scorer, or None if they cannot."""
    read = getattr(scorer, 'for_kernels', None)
    return None if read is None or load_kernels() is None else read()


def _plan_of(parts: list[Found], device: torch.device) -> Plan:
    """The plan that the routes of some parts make."""
    found = parts[0]
    if len(parts) > 1:
        begins = np.cumsum([0, *(part.nodes.size for part in parts[:-1])])
        parts = [
            part._replace(span=part.span + begin)
            for part, begin in zip(parts, begins, strict=True)
        ]
        found = Found(*map(np.concatenate, zip(*parts, strict=True)))
    hops = found.span[:, 1] - found.span[:, 0] - 1
    if hops.size == 1:
        nodes = found.nodes[None] if hops[0] >= 0 else np.array([[-1]])
    else:
        step = np.arange(max(1, int(hops.max()) + 1))
        at = (found.span[:, :1] + step).clip(max=max(0, found.nodes.size - 1))
        nodes = np.append(found.nodes, -1)[at]
        nodes[step > hops[:, None]] = -1
    plan = Plan(
        success=torch.from_numpy(hops >= 0),
        cost=torch.from_numpy(found.cost),
        hops=torch.from_numpy(np.maximum(hops, 0)),
        nodes=torch.from_numpy(nodes),
        expansions=torch.from_numpy(found.expansions),
        lower_bound=torch.from_numpy(found.bound),
        walked_cost=torch.from_numpy(found.walked),
    )
    return plan if device.type == 'cpu' else plan.to(device)
