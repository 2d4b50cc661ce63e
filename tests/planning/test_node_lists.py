from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bcm_pyg.planning import node_lists
from bcm_pyg.planning.node_lists import NodeLists
from bcm_pyg.planning.slots import SlotHash, SlotTable

CPU = torch.device('cpu')


@pytest.mark.parametrize('by_hash', [False, True])
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_lists_are_lists(by_hash: bool, data: st.DataObject) -> None:
    num_rows, num_nodes = data.draw(st.integers(1, 4)), 60
    with pytest.MonkeyPatch.context() as patch:
        if by_hash:
            patch.setattr(node_lists, 'MAX_TABLE_BYTES', 0)
        lists = NodeLists(num_rows, num_nodes, CPU)
    kind = SlotHash if by_hash else SlotTable
    twins: list[list[int]] = [[] for _ in range(num_rows)]
    for _ in range(data.draw(st.integers(1, 6))):
        new = [
            (row, node)
            for row, twin in enumerate(twins)
            for node in data.draw(
                st.lists(st.integers(0, num_nodes - 1), unique=True)
            )
            if node not in twin
        ]
        row, node = torch.tensor(new).view(-1, 2).long().unbind(1)
        slot = lists.append(row, node)
        places = []
        for place, item in new:
            places.append(len(twins[place]))
            twins[place].append(item)
        assert slot.tolist() == places
        if data.draw(st.booleans()):
            kept = data.draw(
                st.lists(
                    st.integers(0, len(twins) - 1), min_size=1, unique=True
                )
            )
            lists.keep(torch.tensor(kept))
            twins = [twins[row] for row in kept]
    assert isinstance(lists._slots, kind)
    assert lists.size.tolist() == [len(twin) for twin in twins]
    for row, twin in enumerate(twins):
        assert lists.node[row, : len(twin)].tolist() == twin
        assert lists.node[row, len(twin) :].eq(-1).all()
        rows = torch.full((num_nodes,), row)
        places = lists.find(rows, torch.arange(num_nodes)).tolist()
        where = {node: place for place, node in enumerate(twin)}
        assert places == [where.get(node, -1) for node in range(num_nodes)]
    assert lists.cost.shape == lists.node.shape
    assert lists.cost.eq(float('inf')).all()


def test_costs_stay_with_their_nodes() -> None:
    lists = NodeLists(2, 100, CPU)
    row, node = torch.tensor([0, 1, 1]), torch.tensor([7, 7, 3])
    here = lists.at(row, lists.append(row, node))
    lists.cost.view(-1)[here] = torch.tensor([1.0, 2.0, 3.0]).double()
    lists.append(torch.ones(50).long(), torch.arange(40, 90))  # they grow
    lists.keep(torch.tensor([1]))
    slot = lists.find(torch.tensor([0, 0]), torch.tensor([3, 7]))
    assert lists.cost.view(-1)[slot].tolist() == [3, 2]
    assert lists.size.tolist() == [52]


def test_memory_does_not_grow_with_the_graph() -> None:
    lists = NodeLists(2, 10**9, CPU)
    row, node = torch.tensor([0, 1]), torch.tensor([10**9 - 1, 0])
    assert lists.append(row, node).tolist() == [0, 0]
    assert lists.find(row, node).tolist() == [0, 0]
    assert lists.find(row, node.flip(0)).tolist() == [-1, -1]
    assert lists.node.numel() == 32
