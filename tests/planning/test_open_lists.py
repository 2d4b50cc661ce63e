from __future__ import annotations

import torch
from torch import Tensor

from bcm_pyg.planning.open_lists import OpenLists


def row_of(numbers: list[float]) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def reach(
    lists: OpenLists, nodes: list[int], costs: list[float], values: list[float]
) -> None:
    row = torch.zeros(len(nodes), dtype=torch.long)
    lists.reach(row, torch.tensor(nodes), row_of(costs), row_of(values))


def in_order(lists: OpenLists, count: int) -> list[tuple[int, float]]:
    best = lists.best(count)
    pairs = zip(best.node[0].tolist(), best.value[0].tolist(), strict=True)
    return [pair for pair in pairs if pair[1] < float('inf')]


def test_best_first() -> None:
    lists = OpenLists(torch.tensor([5]), 100)
    assert in_order(lists, 1) == [(5, 0)]
    reach(lists, [1, 2, 3], [1, 1, 1], [4, 2, 4])
    # Of equals the last found is first.
    assert in_order(lists, 9) == [(5, 0), (2, 2), (3, 4), (1, 4)]
    for count in (1, 2, 3):
        assert in_order(lists, count) == in_order(lists, 9)[:count]


def test_the_cheaper_way_counts() -> None:
    lists = OpenLists(torch.tensor([0]), 100)
    reach(lists, [1, 1, 1], [3, 2, 2], [9, 8, 7])  # of equals the first
    assert in_order(lists, 9) == [(0, 0), (1, 8)]
    reach(lists, [1], [2], [1])  # not cheaper
    assert in_order(lists, 9) == [(0, 0), (1, 8)]
    reach(lists, [1], [1], [20])  # cheaper, if less hopeful
    assert in_order(lists, 9) == [(0, 0), (1, 20)]


def test_a_turn_is_over() -> None:
    for reopen in (False, True):
        lists = OpenLists(torch.tensor([0]), 100)
        lists.reopen = reopen
        reach(lists, [1], [2], [8])
        zero = torch.tensor([0])
        lists.close(zero, lists.find(zero, torch.tensor([1])))
        assert in_order(lists, 9) == [(0, 0)]
        reach(lists, [1], [2], [3])
        assert in_order(lists, 9) == [(0, 0)]
        reach(lists, [1], [1], [3])
        assert in_order(lists, 9) == [(0, 0)] + reopen * [(1, 3)]
        lists.close(zero, zero)
        lists.close(zero, zero + 1)
        assert in_order(lists, 9) == []
        assert lists.best(1).value.tolist() == [[float('inf')]]


def test_forgotten_nodes_may_be_found_again() -> None:
    lists = OpenLists(torch.tensor([0]), 100)
    reach(lists, [1, 2], [1, 1], [4, 5])
    lists.forget(torch.tensor([2]))
    assert in_order(lists, 9) == [(2, 5)]
    reach(lists, [1], [7], [9])
    assert in_order(lists, 9) == [(2, 5), (1, 9)]


def test_many() -> None:
    # Lists grow, and the order stays that of sorting.
    generator = torch.Generator().manual_seed(0)
    lists = OpenLists(torch.tensor([0]), 1000)
    node = 1 + torch.randperm(900, generator=generator)
    value = torch.rand(900, generator=generator, dtype=torch.float64)
    lists.reach(torch.zeros(900).long(), node, value, value)
    expected = node[value.argsort()].tolist()
    found = in_order(lists, 901)
    assert [node for node, _ in found] == [0, *expected]
    values = row_of([value for _, value in found])[1:]
    exact = value.sort().values
    torch.testing.assert_close(values, exact, rtol=2**-41, atol=0)
    assert (values <= exact).all()  # what is cut off makes a bound lower


def test_huge_values_keep_their_turn() -> None:
    lists = OpenLists(torch.tensor([0]), 10)
    largest = torch.finfo(torch.float64).max
    reach(lists, [1, 2], [1, 1], [largest, 0.0])
    assert [node for node, _ in in_order(lists, 5)] == [2, 0, 1]
    lists.keep(torch.tensor([0]))
    assert [node for node, _ in in_order(lists, 5)] == [2, 0, 1]
