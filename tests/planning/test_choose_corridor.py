from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bcm_pyg import BCM, BCMError, Planner, evaluate, fit
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.graph import simplify_graph
from bcm_pyg.planning import BestFirst, choose_corridor
from bcm_pyg.planning.choose_corridor import (
    RADII,
    WEIGHTS,
    Measured,
    fewest_expansions,
)

SHAPE = len(RADII), len(WEIGHTS)
PAIRS = list(product(range(SHAPE[0]), range(SHAPE[1])))
steps = st.lists(st.integers(0, 3), min_size=len(PAIRS), max_size=len(PAIRS))


def rising(numbers: list[int]) -> torch.Tensor:
    """A table that falls nowhere, to the right and below."""
    return torch.tensor(numbers).view(SHAPE).cumsum(0).cumsum(1)


@given(steps, steps, st.integers(0, 200))
def test_as_trying_all(better: list[int], more: list[int], gap: int) -> None:
    gaps = 100 - rising(better)
    expansions = rising(more)
    asked = []

    def measure(radius: int, weight: float) -> Measured:
        at = RADII.index(radius), WEIGHTS.index(weight)
        asked.append(at)
        return Measured(float(gaps[at]), float(expansions[at]))

    radius, weight = fewest_expansions(measure, gap)
    chosen = RADII.index(radius), WEIGHTS.index(weight)
    assert len(asked) == len(set(asked)) < sum(SHAPE) + SHAPE[1]
    good = [at for at in PAIRS if gaps[at] <= max(gap, 2 * gaps.min())]
    if gap >= gaps.min():
        assert len(asked) < sum(SHAPE)
        good = [at for at in PAIRS if gaps[at] <= gap]
    assert chosen in good
    assert expansions[chosen] == min(expansions[at] for at in good)


@pytest.fixture(scope='module')
def trained() -> Planner:
    torch.manual_seed(0)
    data = weighted_grid('ushape', side=14, costs='wide', seed=1)
    model = BCM.from_data(data, hidden_channels=32, channels=32)
    fit(model, data, steps=400, validations=0)
    return Planner(model, data)


def test_a_map(trained: Planner) -> None:
    before = dict(vars(trained))
    readout = choose_corridor(trained, 0.1, queries=300)
    assert readout == choose_corridor(trained, 0.1, queries=300)  # repeatable
    assert {**vars(trained), 'bounds': 0} == {**before, 'bounds': 0}
    assert isinstance(readout.guide, BestFirst)
    other = Planner(trained.scorer, trained.data, readout)
    starts, goals = sample_queries(trained.data, 300, seed=7)
    report = evaluate(other, trained.data, starts, goals)
    assert report.success_rate == 1 and report.gap < 0.3
    default = evaluate(trained, trained.data, starts, goals)
    assert report.expansions < default.expansions
    # Without a bound the narrowest, nothing below it the best.
    assert choose_corridor(trained, 1e9).radius == min(RADII)
    strict = choose_corridor(trained, 0.0)
    other.readout = strict
    assert evaluate(other, trained.data, starts, goals).gap <= report.gap


def test_a_simplified_graph(trained: Planner) -> None:
    data = weighted_grid('ushape', side=14, costs='wide', seed=1)
    graph = simplify_graph(data)
    planner = Planner(BCM.from_data(graph.data, channels=8), graph)
    readout = choose_corridor(planner, 1.0, queries=50)
    planner.readout = readout
    starts, goals = sample_queries(data, 50, seed=0)
    excess = planner(starts, goals).cost / Dijkstra(data)(starts, goals).cost
    assert float(excess.mean()) < 1.02


def test_landmarks_are_found_once(trained: Planner) -> None:
    planner = Planner(trained.scorer, trained.data, landmarks=4)
    choose_corridor(planner, 1.0, queries=20)
    assert len(planner.bounds.nodes) == 4
    assert 'bounds' in vars(planner) and 'bounds' not in vars(trained)


def test_wrong_arguments(trained: Planner) -> None:
    with pytest.raises(BCMError, match='must be a Planner .got Dijkstra'):
        choose_corridor(Dijkstra(trained.data))  # type: ignore[arg-type]
    with pytest.raises(BCMError, match='gap must'):
        choose_corridor(trained, -1.0)
    with pytest.raises(BCMError, match='queries must'):
        choose_corridor(trained, queries=0)
    with pytest.raises(BCMError, match='seed must'):
        choose_corridor(trained, seed=-1)
