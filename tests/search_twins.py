"""Slow twins of batched searches, one query at a time, and table scorers."""

from __future__ import annotations

import networkx as nx
import torch
from helpers import out_edges, to_nx
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.planning import EdgeScores
from bcm_pyg.utils import Adjacency


class TableScores:
    """Scores by a table [E, N]."""

    def __init__(self, adjacency: Adjacency, table: Tensor) -> None:
        self.adjacency = adjacency
        self.table = table
        self.asked: list[tuple[int, int]] = []

    def __call__(self, nodes: Tensor, goals: Tensor) -> EdgeScores:
        self.asked += zip(nodes.tolist(), goals.tolist(), strict=True)
        edge, row = self.adjacency.out_edges(nodes)
        return EdgeScores(edge, row, self.table[edge, goals[row]])


def integer_table(data: Data, high: int, seed: int) -> Tensor:
    """Scores that are exact and often tie, [E, N]."""
    generator = torch.Generator().manual_seed(seed)
    size = (data.num_edges, data.num_nodes)
    return torch.randint(high, size, generator=generator).float()


def exact_table(data: Data) -> Tensor:
    """What it costs to go each edge and then on to each node, [E, N]."""
    away = dict(nx.all_pairs_dijkstra_path_length(to_nx(data), weight='cost'))
    table = torch.full((data.num_edges, data.num_nodes), float('inf'))
    costs = data.edge_cost.tolist()
    for edge, (_, head) in enumerate(data.edge_index.T.tolist()):
        for goal, cost in away[head].items():
            table[edge, goal] = costs[edge] + cost
    return table


def every_pair(num_nodes: int) -> tuple[Tensor, Tensor]:
    """All starts and goals."""
    nodes = torch.arange(num_nodes)
    return nodes.repeat_interleave(num_nodes), nodes.repeat(num_nodes)


def connected_pairs(data: Data) -> tuple[Tensor, Tensor]:
    """All starts and the goals they can reach."""
    reach = [
        (start, goal)
        for start, away in nx.all_pairs_shortest_path_length(to_nx(data))
        for goal in away
    ]
    starts, goals = torch.tensor(sorted(reach)).unbind(1)
    return starts, goals


def optimal_costs(data: Data, starts: Tensor, goals: Tensor) -> list[float]:
    """Exact costs by networkx, infinite where there is no way."""
    away = dict(nx.all_pairs_dijkstra_path_length(to_nx(data), weight='cost'))
    queries = zip(starts.tolist(), goals.tolist(), strict=True)
    return [away[start].get(goal, float('inf')) for start, goal in queries]


def best_inside(data: Data, allowed: set[int], start: int, goal: int) -> float:
    """Cost of the best route through some nodes, infinite if there is none."""
    return path_inside(data, allowed, start, goal)[1]


def path_inside(
    data: Data, allowed: set[int], start: int, goal: int
) -> tuple[list[int], float]:
    """The best route through some nodes, and its cost."""
    graph = to_nx(data).subgraph(allowed | {start, goal})
    try:
        cost, path = nx.single_source_dijkstra(
            graph, start, goal, weight='cost'
        )
    except nx.NetworkXNoPath:
        return [], float('inf')
    return path, cost


def slow_search(
    data: Data,
    table: list[list[float]],
    start: int,
    goal: int,
    *,
    weight: float = 1.0,
    width: int | None = None,
    most: int = 10**9,
    ceiling: float = float('inf'),
    reopen: bool = False,
) -> tuple[list[int], float, bool]:
    """Expanded nodes in order, lowest open value in the end, goal reached."""
    ways, costs = out_edges(data), data.edge_cost.tolist()
    found = {start: 0}  # the later a node was found, the sooner its turn
    cost, value = {start: 0.0}, {start: 0.0}  # value: of open nodes
    expanded: list[int] = []
    count = 1
    while True:
        order = sorted(value, key=lambda node: (value[node], -found[node]))
        lowest = value[order[0]] if order else float('inf')
        arrived = bool(order) and order[0] == goal
        if arrived or not order or lowest >= ceiling or len(expanded) >= most:
            return expanded, lowest, arrived
        turn = order[: width or 1]
        turn = turn[: turn.index(goal)] if goal in turn else turn
        turn = [node for node in turn if value[node] < ceiling]
        if width is not None:
            for node in set(order) - set(turn) - {goal}:
                del value[node], cost[node], found[node]
        for node in turn:
            del value[node]
        expanded += turn
        for node in turn:
            for edge, head in ways[node]:
                c = cost[node] + costs[edge]
                rest = max(0.0, table[edge][goal] - costs[edge])
                closed = head in expanded and not reopen
                if closed or c >= cost.get(head, float('inf')):
                    continue
                if head not in found:
                    found[head] = count
                    count += 1
                cost[head], value[head] = c, c + weight * rest
