"""Parts, threads, lanes and scratch memory change no answer."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch
from helpers import (
    ALL_READOUTS,
    assert_same_plan,
    tiny_map,
)
from torch_geometric.data import Data

from bcm_pyg import BCM, Planner
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.kernels import load_kernels
from bcm_pyg.planning import (
    Readout,
    _engine,
    _map_scorer,
)
from bcm_pyg.planning._engine import arrays_of


@pytest.mark.parametrize('readout', ALL_READOUTS, ids=str)
def test_threads_and_parts_do_not_matter(
    grid: Data, readout: Readout, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = BCM.from_data(grid)
    starts, goals = sample_queries(grid, 200, seed=0)
    planner = Planner(model, grid, readout)
    before = torch.get_num_threads()
    plans = []
    for threads, part in ((1, 32), (3, 32), (3, 7), (1, 200)):
        torch.set_num_threads(threads)
        monkeypatch.setattr(_engine, 'PART', part)
        plans.append(planner(starts, goals))
    torch.set_num_threads(before)
    for plan in plans[1:]:
        assert_same_plan(plans[0], plan)
    alone = planner(int(starts[7]), int(goals[7]))
    assert_same_plan(alone, plans[0][7:8])


def test_readouts_leave_nothing_to_each_other() -> None:
    """All planners of a graph share scratch memory."""
    data = weighted_grid('ushape', side=30, costs='wide', seed=3)
    torch.manual_seed(0)
    model = BCM.from_data(data, hidden_channels=16)
    starts, goals = sample_queries(data, 60, seed=0)
    alone = [
        Planner(model, data.clone(), readout, complete=False)(starts, goals)
        for readout in ALL_READOUTS
    ]
    planners = [
        Planner(model, data, readout, complete=False)
        for readout in ALL_READOUTS
    ]
    for _ in range(2):
        for planner, wanted in zip(planners, alone, strict=True):
            assert_same_plan(planner(starts, goals), wanted)


def test_ids_with_gaps_compile_nothing(grid: Data) -> None:
    planner = Planner(BCM.from_data(grid), grid)
    pairs = torch.stack(sample_queries(grid, 10, seed=0), dim=1)
    before = len(load_kernels().expand.signatures)
    assert_same_plan(planner(*pairs.unbind(1)), planner(*pairs.T.contiguous()))
    assert len(load_kernels().expand.signatures) == before


@pytest.mark.parametrize('slope_bytes', [2**30, 0])
@pytest.mark.parametrize('readout', ALL_READOUTS, ids=str)
def test_a_query_does_not_depend_on_its_neighbour(
    grid: Data, readout: Readout, slope_bytes: int
) -> None:
    """Two queries share the reading of the weights, not one bit of sums."""
    starts, goals = sample_queries(grid, 33, seed=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_map_scorer, 'MAX_SLOPE_BYTES', slope_bytes)
        planner = Planner(tiny_map(grid), grid, readout)
        together = planner(starts, goals)
    for query in range(33):
        alone = planner(int(starts[query]), int(goals[query]))
        assert_same_plan(alone, together[query : query + 1])


def test_scores_of_two_lanes_are_those_of_one(grid: Data) -> None:
    from bcm_pyg.kernels.scores import make_room, score_edges

    planner = Planner(tiny_map(grid), grid)
    graph = arrays_of(planner.adjacency).graph
    net, _ = planner.scorer.for_kernels()
    room, alone = make_room(graph, net), make_room(graph, net)
    for absolute in (True, False):
        node, goal = np.array([12, 55]), np.array([97, 3])
        score_edges(graph, net, node, goal, room, absolute)
        for lane in range(2):
            one = np.where(np.arange(2) == lane, node, -1)
            score_edges(graph, net, one, goal, alone, absolute)
            degree = np.diff(graph.rowptr)[node[lane]]
            assert degree > 1
            assert np.array_equal(
                room.score[lane, :degree], alone.score[lane, :degree]
            )


def test_scratch_memory_is_kept_and_bounded(grid: Data) -> None:
    from bcm_pyg.kernels.scores import CLOCK

    planner = Planner(BCM.from_data(grid), grid)
    arrays = arrays_of(planner.adjacency)
    planner(*sample_queries(grid, 200, seed=0))
    assert 1 <= len(arrays.free) <= torch.get_num_threads()
    scratch = arrays.free[0]
    notes, hubs = scratch[1:4], scratch[4:]
    per_node = sum(x.nbytes for x in notes) / grid.num_nodes
    assert 112 <= per_node < 112.1  # as the documents say
    assert sum(x.nbytes for x in hubs) <= 16 * grid.num_edges
    # Stamps start anew before they run out.
    wanted = planner(0, 99)
    scratch.count[:, CLOCK] = 2**30
    assert_same_plan(planner(0, 99), wanted)
    assert arrays.free[-1].count[0, CLOCK] < 100


def test_large_parts_are_cut(grid: Data, monkeypatch: pytest.MonkeyPatch):
    planner = Planner(BCM.from_data(grid), grid)
    queries = sample_queries(grid, 60, seed=0)
    whole = planner(*queries)
    sizes = []
    original = _engine._run

    def run(answer, scorer, adjacency, *part):
        sizes.append(part[0].size)
        return original(answer, scorer, adjacency, *part)

    monkeypatch.setattr(_engine, '_run', run)
    monkeypatch.setattr(_engine, 'MAX_LISTED', 5 * grid.num_nodes)
    assert_same_plan(planner(*queries), whole)
    assert sizes == [5] * 12


def test_planners_can_be_copied(grid: Data) -> None:
    planner = Planner(BCM.from_data(grid), grid, epsilon=0.5)
    queries = sample_queries(grid, 10, seed=0)
    wanted = planner(*queries)
    for again in (
        copy.copy(planner),
        copy.deepcopy(planner),
        pickle.loads(pickle.dumps(planner)),
    ):
        assert_same_plan(again(*queries), wanted)
