import pytest
import torch
from helpers import random_graph
from small_fits import small_map

from bcm_pyg import Planner, planning_graph
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.graph import simplify_graph
from bcm_pyg.planning import _engine, _map_scorer


@pytest.mark.parametrize('terminal', ['calibrated', 'paper'])
@pytest.mark.parametrize('threads', [1, 2])
def test_compiled_values_are_those_of_torch(
    terminal: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_engine, 'VALUES', 7)
    data = weighted_grid('ushape', side=10, costs='wide', seed=1)
    planner = Planner(small_map(data, terminal=terminal), data)
    starts, goals = torch.randint(0, 100, (2, 501))
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = planner.distance(starts, goals)
    finally:
        torch.set_num_threads(before)
    wanted = planner.scorer.values(starts, goals)
    assert torch.equal(found.isinf(), wanted.isinf())
    assert bool(found.isinf().any()) and bool((found == 0).any())
    assert torch.allclose(found, wanted, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize('keeps_slopes', [True, False])
def test_a_value_does_not_depend_on_the_pairs_beside_it(
    keeps_slopes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit for bit, whichever lane a pair is in."""
    if not keeps_slopes:
        monkeypatch.setattr(_map_scorer, 'MAX_SLOPE_BYTES', 0)
    data = weighted_grid('open', side=8, costs='wide', seed=1)
    planner = Planner(small_map(data), data)
    starts, goals = torch.randint(0, 64, (2, 43))
    whole = planner.distance(starts, goals)
    pairs = zip(starts, goals, strict=True)
    alone = [planner.distance(*pair) for pair in pairs]
    assert torch.equal(whole, torch.cat(alone))
    wanted = planner.scorer.values(starts, goals)
    assert torch.allclose(whole, wanted, rtol=1e-3, atol=1e-3)


def test_dead_edges_do_not_count() -> None:
    """Not compiled: which edges are dead depends on the goal."""
    data = planning_graph(random_graph(30, 60, seed=3))
    planner = Planner(small_map(data), data)
    assert not planner.reachability.symmetric
    starts, goals = torch.randint(0, 30, (2, 200))
    wanted = planner.scorer.values(starts, goals)
    assert torch.equal(planner.distance(starts, goals), wanted)


def test_of_a_simplified_graph_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from bcm_pyg.planning import planner as module

    graph = simplify_graph(weighted_grid('ushape', side=10, seed=1))
    planner = Planner(small_map(graph.data), graph)
    starts, goals = torch.randint(0, 100, (2, 90))
    starts[:9] = goals[:9]
    whole = planner.distance(starts, goals)
    monkeypatch.setattr(module, 'MAX_PAIRS', 8)
    assert torch.allclose(planner.distance(starts, goals), whole, rtol=1e-5)
    inside, _ = planner._full.inside(starts.numpy(), goals.numpy())
    assert bool((whole.numpy() <= inside).all())
    assert bool((whole[:9] == 0).all())
    assert planner.distance([], []).shape == (0,)
