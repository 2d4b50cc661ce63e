"""Whatever is asked of whatever map: right routes, or one clear error."""

from __future__ import annotations

import pytest
import torch
from helpers import ALL_READOUTS, assert_sound, random_graphs, tiny_map, to_nx
from hostile import graphs, tensors, things
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, Planner, planning_graph
from bcm_pyg.planning import VisitedGreedy
from bcm_pyg.utils import Adjacency

small = st.lists(st.integers(-1, 12), max_size=4)
ids = st.one_of(small, small.map(torch.tensor), tensors(), things)


def query_ids(value: object, num_nodes: int) -> list[int] | None:
    """What a user may mean by it; nothing where ids are not whole numbers."""
    if isinstance(value, torch.Tensor):
        if value.is_meta or value.is_sparse or value.dim() > 1:
            return None
        if value.dtype == torch.bool or value.is_complex():
            return None
        if value.is_floating_point():
            return None
        value = value.tolist()
    if isinstance(value, int) and not isinstance(value, bool):
        value = [value]
    if not isinstance(value, list):
        return None
    return value if all(0 <= node < num_nodes for node in value) else None


@settings(max_examples=400, deadline=None)
@given(random_graphs(6), ids, ids, st.sampled_from(ALL_READOUTS))
def test_any_queries(
    raw: Data, starts: object, goals: object, readout: object
) -> None:
    data = planning_graph(raw)
    planner = Planner(tiny_map(data), data, readout)
    first = query_ids(starts, data.num_nodes)
    second = query_ids(goals, data.num_nodes)
    try:
        plan = planner(starts, goals)
    except BCMError as error:
        assert str(error)
        meant = first is not None and second is not None
        is_single = not isinstance(starts, list) or not isinstance(goals, list)
        assert not meant or is_single or len(first) != len(second)
        return
    assert first is not None and second is not None
    size = len(plan)
    first = first * size if len(first) == 1 else first
    second = second * size if len(second) == 1 else second
    assert_sound(plan, data, first, second)


@settings(max_examples=300, deadline=None)
@given(random_graphs(8), st.sampled_from(ALL_READOUTS), st.integers(0, 2**16))
def test_weights_of_any_size(raw: Data, readout: object, seed: int) -> None:
    """Scores may overflow or tie: complete plans are complete all the same."""
    data = planning_graph(raw)
    model = tiny_map(data)
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        power = 10.0 ** float(torch.randint(-30, 31, (1,), generator=generator))
        parameter.data *= power
    nodes = torch.arange(data.num_nodes)
    starts, goals = torch.cartesian_prod(nodes, nodes).T
    if not bool(model.project_nodes(data).isfinite().all()):
        with pytest.raises(BCMError, match='weights are broken'):
            Planner(model, data, readout)
        return
    plan = Planner(model, data, readout, complete=True)(starts, goals)
    assert_sound(plan, data, starts.tolist(), goals.tolist())
    graph = to_nx(data)
    for query, (start, goal) in enumerate(zip(starts, goals, strict=True)):
        there = int(goal) in nx_reach(graph, int(start))
        assert bool(plan.success[query]) == there


def nx_reach(graph: object, start: int) -> set[int]:
    seen, front = {start}, [start]
    while front:
        node = front.pop()
        for head in graph.successors(node):  # type: ignore[attr-defined]
            if head not in seen:
                seen.add(head)
                front.append(head)
    return seen


@pytest.mark.filterwarnings('ignore:the graph has no coordinates')
@settings(max_examples=300, deadline=None)
@given(graphs(), graphs())
def test_a_map_of_one_graph_and_another(one: Data, two: Data) -> None:
    """The graphs that are none included."""
    try:
        model = BCM.from_data(one, channels=2)
    except BCMError:
        with pytest.raises(BCMError):
            planning_graph(one)
        return
    try:
        planner = Planner(model, two, VisitedGreedy())
        plan = planner([0], [0])
    except BCMError:
        return
    assert plan.path(0) == [0]
    assert len(planner.distance([0], [0])) == 1


@settings(max_examples=200, deadline=None)
@given(
    random_graphs(6),
    st.sampled_from(['complete', 'epsilon', 'landmarks', 'readout']),
    things,
)
def test_any_option(raw: Data, name: str, value: object) -> None:
    data = planning_graph(raw)
    model = tiny_map(data)
    try:
        planner = Planner(model, data, **{name: value})
        plan = planner([0, 0], [0, 1])
    except BCMError as error:
        assert str(error)
        return
    assert_sound(plan, data, [0, 0], [0, 1])
    assert Adjacency.from_data(data).num_nodes == data.num_nodes
