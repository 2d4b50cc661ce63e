from itertools import combinations, pairwise

import networkx as nx
import pytest
from helpers import random_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from bcm_pyg import planning_graph
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.planning.alternatives import alternative_routes
from bcm_pyg.utils import Adjacency


def as_networkx(adjacency: Adjacency) -> nx.DiGraph:
    out = nx.DiGraph()
    out.add_nodes_from(range(adjacency.num_nodes))
    ends = adjacency.src.tolist(), adjacency.dst.tolist()
    edges = zip(*ends, adjacency.cost.tolist(), strict=True)
    out.add_weighted_edges_from(edges)
    return out


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, 5),
    share=st.floats(0, 0.95),
    factor=st.floats(1, 3),
)
def test_what_is_promised(
    seed: int, k: int, share: float, factor: float
) -> None:
    data = planning_graph(random_graph(20, 70, seed=seed))
    adjacency = Adjacency.from_data(data)
    graph = as_networkx(adjacency)
    routes = alternative_routes(adjacency, 0, 19, k, share, factor)
    assert bool(routes) == nx.has_path(graph, 0, 19) and len(routes) <= k
    edges = [set(pairwise(route)) for route in routes]
    costs = [nx.path_weight(graph, route, 'weight') for route in routes]
    for route in routes:
        assert route[0] == 0 and route[-1] == 19
        assert len(set(route)) == len(route)
    if routes:
        best = nx.shortest_path_length(graph, 0, 19, 'weight')
        assert costs[0] == pytest.approx(best)
        assert max(costs) <= factor * best * (1 + 1e-9)
        assert costs == sorted(costs)
    assert len(set(map(tuple, routes))) == len(routes)
    for one, two in combinations(range(len(routes)), 2):
        common = sum(graph.edges[e]['weight'] for e in edges[one] & edges[two])
        for cost in (costs[one], costs[two]):
            assert cost - common >= share * cost - 1e-9


def test_a_city_has_alternatives() -> None:
    data = weighted_grid('open', side=12, costs='mild', seed=1)
    adjacency = Adjacency.from_data(data)
    routes = alternative_routes(adjacency, 0, 143, 4, 0.5, 1.4)
    assert len(routes) == 4
    assert alternative_routes(adjacency, 7, 7, 3, 0.5, 1.4) == [[7]]
