"""Searches and walks of any scorer, one query after the other in plain Python.

The compiled kernels must agree with it. A search is a generator: it yields the
node it wants scored and is sent the scores of the edges that leave it. So the
queries of a part share the calls of the scorer.
"""

from collections.abc import Generator
from heapq import heappop, heappush
from math import inf
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch

from bcm_pyg.kernels import TURNS, Array, Expanded, Found
from bcm_pyg.utils import Adjacency

from .base import Scorer, cost_scale

#: What stands for a score that is infinite or NaN: last, but not lost.
HUGE = float(np.finfo(np.float64).max) / 4

T = TypeVar('T')
#: Yields nodes, is sent the scores of their edges, returns what it found.
Asking = Generator[int, list[float], T]


class Path(NamedTuple):
    """What one query found: nodes from start to goal, or none."""

    nodes: list[int]
    cost: float
    expansions: int
    walked: float


class PlainEngine:
    """Answers queries given as arrays :obj:`[B]`, by any scorer."""

    def __init__(self, scorer: Scorer, adjacency: Adjacency) -> None:
        self.scorer = scorer
        self.adjacency = adjacency
        self._rowptr, self._head, self._cost = (
            part.cpu().numpy()
            for part in (adjacency.rowptr, adjacency.dst, adjacency.exact_cost)
        )

    def edges(self, node: int) -> list[tuple[int, float]]:
        """Head and cost of the edges that leave a node, in order."""
        part = slice(self._rowptr[node], self._rowptr[node + 1])
        return _pairs(self._head[part], self._cost[part])

    def backtrack(self, starts: Array, goals: Array) -> Found:
        """Walks of :class:`~bcm_pyg.planning.Backtracking`."""
        walks = [self._backtrack(*q) for q in _pairs(starts, goals)]
        return _found(self._ask(walks, goals))

    def lookahead(self, starts: Array, goals: Array, depth: int) -> Found:
        """Walks of :class:`~bcm_pyg.planning.Lookahead`."""
        walks = [self._lookahead(*q, depth) for q in _pairs(starts, goals)]
        return _found(self._ask(walks, goals))

    def expand(
        self,
        starts: Array,
        goals: Array,
        weight: float = 1.0,
        width: int = 0,
        ceiling: Array | float = inf,
        reopen: bool = False,
    ) -> Expanded:
        """Best-first searches (see :meth:`search`)."""
        most = np.full(starts.size, ceiling).tolist()
        searches = [
            self.search(*ends, weight, width, ceiling, reopen)
            for ends, ceiling in zip(_pairs(starts, goals), most, strict=True)
        ]
        found = self._ask(searches, goals)
        return Expanded(
            *_listed([nodes for nodes, _, _ in found]),
            np.array([bound for _, bound, _ in found]),
            np.array([reached for _, _, reached in found], np.bool_),
        )

    def there_and_back(
        self, starts: Array, goals: Array, weight: float = 1.0
    ) -> tuple[Array, Array]:
        """What best-first searches expand from the start to the goal and back,
        and spans :obj:`[B, 2, 2]` of either.

        On the way back that is at most twice as many nodes as on the way there,
        so that it ends where there is none.
        """
        there = self.expand(starts, goals, weight)
        most = (2 * np.diff(there.span)).ravel().tolist()
        searches = [
            self.search(*ends, weight, limit=limit)
            for ends, limit in zip(_pairs(goals, starts), most, strict=True)
        ]
        back = [nodes for nodes, _, _ in self._ask(searches, starts)]
        nodes, span = _listed(back)
        span = np.stack([there.span, span + there.nodes.size], axis=1)
        return np.concatenate([there.nodes, nodes]), span

    def inside(
        self,
        starts: Array,
        goals: Array,
        nodes: Array,
        span: Array,
        radius: int,
    ) -> Found:
        """The best routes through given nodes, start and goal; with a radius,
        then also through all nodes within that many hops of them, again and
        again until no route gets better, 16 times at most.

        The nodes of a query are those of its spans :obj:`[B, K, 2]`. Expansions
        are the nodes that could be used in the end.
        """
        paths = []
        for query, (start, goal) in enumerate(_pairs(starts, goals)):
            members = {
                int(node)
                for begin, end in span[query]
                for node in nodes[begin:end]
            }
            usable = members | {start, goal}
            path, cost = self._search_inside(usable, start, goal)
            for _ in range(TURNS if path and radius and start != goal else 0):
                members |= self._around(path, radius)
                better = self._search_inside(members, start, goal, cost)
                if not better[0]:
                    break
                path, cost = better
            paths.append(Path(path, cost, len(members), cost))
        return _found(paths)

    def search(
        self,
        start: int,
        goal: int,
        weight: float,
        width: int = 0,
        ceiling: float = inf,
        reopen: bool = False,
        limit: float = inf,
    ) -> Asking[tuple[list[int], float, bool]]:
        r"""Expands the most promising nodes until the goal is the best of all.

        The value of a neighbour :math:`j` of an expanded node :math:`i` is

        .. math::
            f(j) = c(i) + c_{ij} + w \max(0, D_i(j; g) - c_{ij}) ,

        where :math:`c(i)` is the cost of the way found to :math:`i`. Of equal
        values the node found last comes first.

        With a width, that many are expanded at each turn, and all other open
        nodes but the goal are forgotten. Nodes are expanded if their value is
        below the ceiling, a second time only with :obj:`reopen`, at less cost.
        The search ends after :obj:`limit` expansions.

        Returns:
            The expanded nodes, the lowest value of a node that is open in the
            end, and whether that is the goal.
        """
        found = {start: 0}
        cost, value = {start: 0.0}, {start: 0.0}  # value: of open nodes
        expanded: dict[int, None] = {}
        num_found = 1
        while True:
            order = sorted(value, key=lambda node: (value[node], -found[node]))
            lowest = value[order[0]] if order else inf
            arrived = order[:1] == [goal]
            done = lowest >= ceiling or len(expanded) >= limit
            if arrived or not order or done:
                return list(expanded), lowest, arrived
            turn = order[: width or 1]
            turn = turn[: turn.index(goal)] if goal in turn else turn
            turn = [node for node in turn if value[node] < ceiling]
            for node in turn:
                del value[node]
            if width > 0:
                for node in set(value) - {goal}:
                    del value[node], cost[node], found[node]
            for node in turn:
                expanded[node] = None
                scores = yield node
                for (head, step), score in zip(
                    self.edges(node), scores, strict=True
                ):
                    there = cost[node] + step
                    closed = head in cost and head not in value
                    if there >= cost.get(head, inf) or (closed and not reopen):
                        continue
                    if head not in found:
                        found[head] = num_found
                        num_found += 1
                    cost[head] = there
                    value[head] = min(there + weight * _rest(score, step), HUGE)

    def _backtrack(self, start: int, goal: int) -> Asking[Path]:
        """See :class:`~bcm_pyg.planning.Backtracking`."""
        learned = {start: 0.0}  # of the nodes that were entered
        route, walked, expanded = [start], 0.0, set[int]()
        costs = [0.0]  # of the edges of the route
        tried: set[int] | None = None  # when it retreats
        moves = 0
        while route and route[-1] != goal:
            node = route[-1]
            expanded.add(node)
            scores = yield node
            best, second, chosen, fresh = inf, inf, None, False
            for edge, score in zip(self.edges(node), scores, strict=True):
                head, step = edge
                new, rest = head not in learned, _rest(score, step)
                if tried is not None:
                    if head in tried:
                        continue
                elif not new:
                    rest = learned[head]
                value = step + rest
                if value < best or (value == best and new and not fresh):
                    second, best, chosen, fresh = best, value, edge, new
                elif value < second:
                    second = value
            moves += 1
            if tried is None:
                learned[node] = second
                if chosen is None or moves > 4 * self.adjacency.num_nodes:
                    tried = set(route)
                    continue
            if chosen is None:
                route.pop()
                walked += costs.pop()
                continue
            head, step = chosen
            walked += step
            learned.setdefault(head, 0.0)
            if tried is not None:
                tried.add(head)
            if head in route:
                end = route.index(head) + 1
                del route[end:], costs[end:]
            else:
                route.append(head)
                costs.append(step)
        cost = sum(costs) if route else inf
        return Path(route, cost, len(expanded), walked)

    def _lookahead(self, start: int, goal: int, depth: int) -> Asking[Path]:
        """See :class:`~bcm_pyg.planning.Lookahead`."""
        route, cost = [start], 0.0
        seen, values = {start}, dict[int, float]()
        while route[-1] != goal:
            best, step = inf, None
            looked = {route[-1]}
            # Of each node the cost of the way to it, and its first edge.
            rim: dict[int, tuple[float, Any]] = {route[-1]: (0.0, None)}
            for _ in range(min(depth, self.adjacency.num_nodes)):
                layer: dict[int, tuple[float, Any]] = {}
                for node, (so_far, first) in rim.items():
                    for edge in self.edges(node):
                        head, there = edge[0], so_far + edge[1]
                        if head in looked or head in route:
                            continue
                        if there < layer.get(head, (inf,))[0]:
                            layer[head] = there, first or edge
                if goal in layer:
                    there, first = layer.pop(goal)
                    if there < best:
                        best, step = there, first
                looked |= set(layer)
                seen |= set(layer)
                rim = dict(sorted(layer.items()))
            for node, (there, first) in rim.items():
                if node not in values:
                    scores = yield node
                    edges = zip(self.edges(node), scores, strict=True)
                    usable = [s for (head, _), s in edges if head not in route]
                    usable = [s if s < HUGE else HUGE for s in usable]
                    values[node] = min(usable, default=inf)
                if there + values[node] < best:
                    best, step = there + values[node], first
            if step is None:
                return Path([], inf, len(seen), inf)
            route.append(step[0])
            cost += step[1]
        return Path(route, cost, len(seen - {goal}), cost)

    def _search_inside(
        self, members: set[int], start: int, goal: int, known: float = inf
    ) -> tuple[list[int], float]:
        """The best route through some nodes, Dijkstra's way, and its cost, if
        it costs less than a known one.
        """
        cost, found = {start: 0.0}, {start: 0}
        before: dict[int, int] = {}
        heap, settled = [(0.0, 0, start)], set[int]()
        while heap:
            there, _, node = heappop(heap)
            if node in settled:
                continue
            settled.add(node)
            if node == goal:
                path = [goal]
                while path[-1] != start:
                    path.append(before[path[-1]])
                return path[::-1], there
            for head, step in self.edges(node):
                least = min(known, cost.get(head, inf))
                if head in members and there + step < least:
                    found.setdefault(head, len(found))
                    cost[head], before[head] = there + step, node
                    heappush(heap, (there + step, -found[head], head))
        return [], inf

    def _around(self, path: list[int], radius: int) -> set[int]:
        """All nodes within some hops of a path, it included."""
        near, rim = set(path), set(path)
        for _ in range(radius):
            rim = {head for node in rim for head, _ in self.edges(node)} - near
            near |= rim
        return near

    def _ask(self, asking: list[Asking[T]], goals: Array) -> list[T]:
        """Runs generators side by side, their nodes scored in one batch."""
        done: dict[int, T] = {}
        wanted: dict[int, int] = {}
        scale = cost_scale(self.scorer)
        device = self.adjacency.device

        def advance(query: int, scores: Any) -> None:
            try:
                wanted[query] = asking[query].send(scores)
            except StopIteration as stop:
                wanted.pop(query, None)
                done[query] = stop.value

        for query in range(len(asking)):
            advance(query, None)
        while wanted:
            queries = list(wanted)
            nodes = torch.tensor([wanted[q] for q in queries], device=device)
            goal = torch.from_numpy(goals[queries]).to(device)
            with torch.no_grad():
                _, source, score = self.scorer(nodes, goal)
            count = torch.bincount(source, minlength=len(queries)).tolist()
            values = (score.double() * scale).split(count)
            for query, scores in zip(queries, values, strict=True):
                advance(query, scores.tolist())
        return [done[query] for query in range(len(asking))]


def _rest(score: float, cost: float) -> float:
    """What a score leaves for the way after its edge, at least 0."""
    rest = score - cost
    if rest < 0:
        return 0.0
    return rest if rest < HUGE else HUGE  # also for NaN


def _pairs(one: Array, two: Array) -> list[tuple[Any, Any]]:
    return list(zip(one.tolist(), two.tolist(), strict=True))


def _listed(lists: list[list[int]]) -> tuple[Array, Array]:
    """Lists of nodes one after the other, and where each begins and ends."""
    sizes = [len(nodes) for nodes in lists]
    ends = np.cumsum(sizes)
    nodes = np.array([node for nodes in lists for node in nodes], np.int64)
    return nodes, np.stack([ends - sizes, ends], axis=1)


def _found(paths: list[Path]) -> Found:
    return Found(
        *_listed([path.nodes for path in paths]),
        np.array([path.cost for path in paths], np.float64),
        np.array([path.expansions for path in paths], np.int64),
        np.array([path.walked for path in paths], np.float64),
        np.zeros(len(paths)),
    )
