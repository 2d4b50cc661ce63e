"""Lists of everything swappable, and random graphs for property tests."""

from __future__ import annotations

import math
from dataclasses import fields
from itertools import pairwise
from typing import NamedTuple

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch_geometric.data import Data

from bcm_pyg import BCM, planning_graph
from bcm_pyg.nn import Transition, encoder_resolver
from bcm_pyg.planning import (
    Backtracking,
    Beam,
    BestFirst,
    Corridor,
    Greedy,
    Lookahead,
    Plan,
    VisitedGreedy,
)

ALL_ENCODERS = [
    'interaction',
    'continuous_interaction',
    'one_hot',
    'k_hot',
    'gnn',
    'grid',
    'landmark',
    'node_table',
    'concat',
]
ALL_READOUTS = [
    Greedy(),
    VisitedGreedy(),
    Backtracking(),
    Lookahead(),
    Beam(2),
    BestFirst(),
    Corridor(),
]


def random_graph(
    num_nodes: int, num_edges: int, seed: int, axes: int = 2
) -> Data:
    """A raw directed graph: loops, parallel edges, sinks, islands and all."""
    rng = np.random.default_rng(seed)
    return Data(
        pos=torch.from_numpy(rng.normal(size=(num_nodes, axes))),
        edge_index=torch.from_numpy(
            rng.integers(0, num_nodes, size=(2, num_edges))
        ),
        edge_attr=torch.from_numpy(rng.integers(0, 9, size=num_edges) / 2),
    )


@st.composite
def random_graphs(draw: st.DrawFn, max_nodes: int = 12) -> Data:
    """Raw directed graphs with at least one edge that is no loop."""
    num_nodes = draw(st.integers(2, max_nodes))
    num_edges = draw(st.integers(1, 3 * num_nodes))
    seed = draw(st.integers(0, 2**16))
    data = random_graph(num_nodes, num_edges, seed)
    if bool((data.edge_index[0] == data.edge_index[1]).all()):
        data.edge_index[:, 0] = torch.tensor([0, 1])
    return data


class ReluTransition(Transition):
    """A transition encoder of one's own, which no kernel knows."""

    def from_hidden(self, hidden: Tensor) -> Tensor:
        return self.lin3(torch.relu(self.lin2(torch.relu(hidden))))


def integer_map(
    data: Data,
    encoder: str,
    terminal: str,
    seed: int,
    cost_scale: float = 2.0,
    transition: type[Transition] = Transition,
) -> BCM:
    """A small map of integer weights: scores are exact and often tie.

    Hidden values are multiples of 256, where SiLU is exactly ReLU: the same map
    with :class:`ReluTransition` has the same scores, to the last bit.
    """
    module = encoder_resolver(encoder, planning_graph(data))
    phi = transition(module.out_channels, 8, 4)
    model = BCM(module, phi, terminal, cost_scale)
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        values = torch.randint(-1, 2, parameter.shape, generator=generator)
        parameter.data = values.float()
    for parameter in (phi.lin1.weight, phi.lin1.bias, phi.lin2.bias):
        parameter.data *= 256
    phi.lin3.weight.data /= 256
    return model


@torch.no_grad()
def score_table(model: BCM, data: Data) -> list[list[float]]:
    """What each edge scores for each goal, terminal convention included."""
    tail, head = data.edge_index
    goals = torch.arange(data.num_nodes)
    table = model.score(
        model.encode(data), tail[:, None], head[:, None], goals
    ).tolist()
    cost = (data.edge_cost / model.cost_scale).tolist()
    for edge, goal in enumerate(head.tolist()):
        last = cost[edge] if model.terminal == 'calibrated' else 0.0
        table[edge][goal] = last
    return table


def out_edges(data: Data) -> list[list[tuple[int, int]]]:
    """Ids and heads of the edges that leave each node, in order of ids."""
    ways: list[list[tuple[int, int]]] = [[] for _ in range(data.num_nodes)]
    for edge, (tail, head) in enumerate(data.edge_index.T.tolist()):
        ways[tail].append((edge, head))
    return ways


class Walk(NamedTuple):
    """One query, walked by hand; the margin is the least of all decisions."""

    path: list[int]
    cost: float
    success: bool
    expansions: int
    margin: float


def slow_walk(
    data: Data,
    table: list[list[float]],
    start: int,
    goal: int,
    prefer_unvisited: bool,
) -> Walk:
    """The paper's readout from its definition, one query, all N steps."""
    every, heads = out_edges(data), data.edge_index[1].tolist()
    path, cost, expanded, margin = [start], 0.0, set(), float('inf')
    for _ in range(data.num_nodes):
        node = path[-1]
        if node == goal:
            break
        expanded.add(node)
        ways = [edge for edge, _ in every[node]]
        if prefer_unvisited:
            ways = [edge for edge in ways if heads[edge] not in path] or ways
        if not ways:
            break
        ranked = sorted(ways, key=lambda edge: table[edge][goal])
        scores = [table[edge][goal] for edge in ranked[:2]]
        if len(scores) == 2:
            lead = (scores[1] - scores[0]) / max(1.0, scores[0])
            margin = min(margin, lead)
        cost += float(data.edge_cost[ranked[0]])
        path.append(heads[ranked[0]])
    success = path[-1] == goal
    return Walk(
        path if success else [],
        cost if success else float('inf'),
        success,
        len(expanded),
        margin,
    )


def assert_sound(plan: Plan, data: Data, starts: list[int], goals: list[int]):
    """What holds for every plan: routes are real, cost what they say."""
    data = planning_graph(data)
    graph = to_nx(data)
    assert len(plan) == len(starts)
    assert plan.success.dtype == torch.bool
    assert plan.cost.dtype == plan.lower_bound.dtype == torch.float64
    assert plan.walked_cost.dtype == torch.float64
    assert (plan.walked_cost >= plan.cost)[plan.success].all()
    assert plan.hops.dtype == plan.expansions.dtype == torch.long
    assert plan.nodes.dtype == torch.long
    longest = 0
    for query, (start, goal) in enumerate(zip(starts, goals, strict=True)):
        path = plan.path(query)
        cost, hops = float(plan.cost[query]), int(plan.hops[query])
        bound = float(plan.lower_bound[query])
        longest = max(longest, len(path))
        if not plan.success[query]:
            assert (path, cost, hops) == ([], float('inf'), 0)
            reachable = nx.has_path(graph, start, goal)
            assert (bound == float('inf')) != reachable
            continue
        assert path[0] == start and path[-1] == goal
        assert hops == len(path) - 1
        steps = [graph.edges[edge]['cost'] for edge in pairwise(path)]
        assert cost == pytest.approx(sum(steps), rel=1e-12, abs=1e-12)
        assert 0 <= bound <= cost * (1 + 1e-6)
        assert plan.nodes[query, hops + 1 :].eq(-1).all()
    assert plan.nodes.size(1) == max(1, longest)


def to_nx(data: Data) -> nx.DiGraph:
    """A canonical graph as networkx sees it."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(data.num_nodes))
    ends, costs = data.edge_index.T.tolist(), data.edge_cost.tolist()
    edges = zip(ends, costs, strict=True)
    graph.add_weighted_edges_from(
        ((tail, head, cost) for (tail, head), cost in edges), weight='cost'
    )
    return graph


def assert_same_plan(plan: Plan, other: Plan) -> None:
    """Equal in every field, to the last bit."""
    assert plan.graph == other.graph
    for field in fields(Plan):
        if field.name in ('graph', 'names'):
            continue
        one, two = getattr(plan, field.name), getattr(other, field.name)
        if one is None or two is None:  # starts and goals may not be known
            continue
        assert one.tolist() == two.tolist(), field.name


def tiny_map(
    data: Data, encoder: str = 'interaction', terminal: str = 'calibrated'
) -> BCM:
    """A map with eight channels, for comparisons with slow loops.

    Its transition encoder is drawn loud, biases too, so that scores are not
    all near 0.
    """
    data = planning_graph(data)
    module = encoder_resolver(encoder, data)
    scale = float(data.edge_cost.mean()) or 1.0
    transition = loud(Transition(module.out_channels, 8, 8))
    return BCM(module, transition, terminal, cost_scale=scale)


def loud(transition: Transition) -> Transition:
    """Draws weights and biases so that scores are about 1."""
    for layer in (transition.lin1, transition.lin2, transition.lin3):
        torch.nn.init.normal_(layer.weight, std=layer.in_features**-0.5)
        torch.nn.init.normal_(layer.bias, std=0.5)
    return transition


def dense_embeddings(model: BCM, data: Data) -> torch.Tensor:
    """What a map's encoder says, never sparse."""
    out = model.encode(data)
    return out.to_dense() if out.is_sparse else out


def slow_score(model: BCM, data: Data, i: int, j: int, g: int) -> float:
    """The paper's D_i(j; g), number by number in double precision."""
    o = dense_embeddings(model, data).tolist()
    layers = [
        (layer.weight.tolist(), layer.bias.tolist())
        for layer in (
            model.transition.lin1,
            model.transition.lin2,
            model.transition.lin3,
        )
    ]

    def phi(x: list[float]) -> list[float]:
        for depth, (weight, bias) in enumerate(layers):
            x = [
                sum(w * v for w, v in zip(row, x, strict=True)) + b
                for row, b in zip(weight, bias, strict=True)
            ]
            if depth < 2:
                x = [v / (1 + math.exp(-v)) for v in x]  # SiLU
        return x

    z_j = phi([a - b for a, b in zip(o[j], o[i], strict=True)])
    z_g = phi([a - b for a, b in zip(o[g], o[i], strict=True)])
    return sum((a - b) ** 2 for a, b in zip(z_j, z_g, strict=True))


class LargestTensor(TorchDispatchMode):
    """Watches every operation and keeps the size of the largest result."""

    numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(out):
            if isinstance(leaf, torch.Tensor) and not leaf.is_sparse:
                self.numel = max(self.numel, leaf.numel())
        return out


def raw_to_nx(data: Data) -> nx.DiGraph:
    """A raw graph with edge_attr as costs, reduced edge by edge."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(data.pos.size(0)))
    for edge, (i, j) in enumerate(data.edge_index.T.tolist()):
        weight = float(data.edge_attr[edge])
        if i != j:
            if graph.has_edge(i, j):
                weight = min(weight, graph[i][j]['weight'])
            graph.add_edge(i, j, weight=weight)
    return graph


def assert_same_data(data: Data, other: Data) -> None:
    """Same attributes, types, shapes and numbers, in no order of names."""
    assert sorted(data.keys()) == sorted(other.keys())
    for key in data.keys():
        one, two = data[key], other[key]
        assert type(one) is type(two), key
        if isinstance(one, torch.Tensor):
            assert one.dtype == two.dtype, key
            torch.testing.assert_close(
                one, two, rtol=0, atol=0, equal_nan=True, msg=key
            )
        else:
            both_nan = isinstance(one, float) and one != one and two != two
            assert both_nan or np.array_equal(one, two), key
