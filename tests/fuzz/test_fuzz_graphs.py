"""Whatever graph comes in: a canonical one comes out, or one clear error."""

from __future__ import annotations

import copy

import torch
from helpers import assert_same_data
from hostile import graphs, things
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.graph import fingerprint, largest_component, simplify_graph


def assert_canonical(data: Data) -> None:
    """The graph contract, edge by edge."""
    data.validate()
    assert data.edge_cost.dtype == torch.float32
    assert data.edge_index.dtype == torch.long
    assert data.num_nodes > int(data.edge_index.max())
    edges = [tuple(edge) for edge in data.edge_index.T.tolist()]
    assert edges == sorted(set(edges))
    assert all(tail != head for tail, head in edges)
    assert len(edges) == data.edge_cost.numel() > 0
    assert data.edge_cost.isfinite().all() and (data.edge_cost >= 0).all()
    if data.pos is not None:  # some encoders do without
        assert data.pos.dtype == torch.float32
        assert data.pos.shape[0] == data.num_nodes
        assert data.pos.isfinite().all()
    if 'coord' in data:
        assert data.coord.dtype == torch.long and (data.coord >= 0).all()


def cheapest(data: Data, cost: torch.Tensor) -> dict[tuple[int, int], float]:
    out: dict[tuple[int, int], float] = {}
    costs = cost.detach().reshape(-1).float().tolist()
    ends = data.edge_index.T.tolist()
    for (tail, head), value in zip(ends, costs, strict=True):
        if tail != head:
            out[tail, head] = min(value, out.get((tail, head), value))
    return out


@settings(max_examples=1500, deadline=None)
@given(graphs())
def test_planning_graph(raw: Data) -> None:
    before = copy.copy(raw)
    try:
        data = planning_graph(raw)
    except BCMError as error:
        assert str(error)
        assert raw.to_dict().keys() == before.to_dict().keys()
        return
    assert_canonical(data)
    assert (data.pos is None) == (raw.pos is None)
    for name in ('edge_cost', 'edge_weight', 'edge_attr'):
        if raw.get(name) is not None:
            break
    wanted = cheapest(raw, raw[name])
    found = zip(
        data.edge_index.T.tolist(), data.edge_cost.tolist(), strict=True
    )
    assert {(tail, head): cost for (tail, head), cost in found} == wanted
    assert_same_data(planning_graph(data), data)
    assert fingerprint(planning_graph(data)) == fingerprint(data)


@settings(max_examples=300, deadline=None)
@given(graphs(), st.one_of(things, st.sampled_from(['pos', 'x', 'length'])))
def test_any_name_of_costs_and_places(raw: Data, name: object) -> None:
    for options in ({'cost': name}, {'pos': name}):
        try:
            data = planning_graph(raw, **options)  # type: ignore[arg-type]
        except BCMError:
            continue
        assert_canonical(data)


@settings(max_examples=500, deadline=None)
@given(graphs())
def test_parts_of_graphs(raw: Data) -> None:
    try:
        data = planning_graph(raw)
    except BCMError:
        return
    for part in (largest_component, lambda data: simplify_graph(data).data):
        try:
            out = part(data)
        except BCMError:
            continue
        assert_canonical(out)
        assert out.num_nodes <= data.num_nodes
