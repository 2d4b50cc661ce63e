import sys
import warnings
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bcm_pyg import BCM, BCMError, Plan, Planner, evaluate, fit
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.graph import simplify_graph
from bcm_pyg.planning import (
    Backtracking,
    BestFirst,
    Corridor,
    choose_corridor,
)
from bcm_pyg.planning.choose_corridor import (
    RADII,
    Measured,
    _Trial,
    fewest_expansions,
)

#: The module, which has the name of the function.
choosing = sys.modules['bcm_pyg.planning.choose_corridor']

GUIDES = BestFirst(2.0), BestFirst(1.0), BestFirst(0.5)
SHAPE = 2, len(RADII), len(GUIDES)
ALL = list(product((False, True), RADII, range(len(GUIDES))))
steps = st.lists(st.integers(0, 3), min_size=len(ALL), max_size=len(ALL))


def rising(numbers: list[int]) -> dict[Corridor, int]:
    """Numbers that fall nowhere as corridors become better and dearer."""
    table = torch.tensor(numbers).view(SHAPE).cumsum(0).cumsum(1).cumsum(2)
    flat = table.flatten().tolist()
    return {
        Corridor(radius, GUIDES[at], both): number
        for (both, radius, at), number in zip(ALL, flat, strict=True)
    }


@given(steps, steps, st.integers(0, 400))
def test_as_trying_all(better: list[int], more: list[int], bound: int) -> None:
    gaps = {key: 400 - gain for key, gain in rising(better).items()}
    expansions = rising(more)
    asked = []

    def measure(corridor: Corridor, gap: float, most: float) -> Measured:
        asked.append((corridor, gap))
        return Measured(float(gaps[corridor]), float(expansions[corridor]))

    chosen = fewest_expansions(measure, bound, [GUIDES])
    assert len(asked) == len(set(asked)) <= 4 * sum(SHAPE[1:])
    least = min(gaps.values())
    bound = bound if least <= bound else 2 * least
    good = [key for key in gaps if gaps[key] <= bound]
    assert chosen in good
    assert expansions[chosen] == min(expansions[key] for key in good)


def test_a_gap_that_was_small_by_few_queries_alone() -> None:
    def measure(corridor: Corridor, gap: float, most: float) -> Measured:
        return Measured(9.0 if gap > 1 else 2.0, 1.0)

    # 2 is too much, and so is 9 for twice that, but not for twice 9.
    chosen = fewest_expansions(measure, 0.5, [GUIDES])
    assert chosen.guide == GUIDES[0]


def test_the_cheapest_kind() -> None:
    walk, search = (Backtracking(),), (BestFirst(),)
    cheap = {Backtracking(): 1.0, BestFirst(): 2.0}
    for kinds in ([walk, search], [search, walk]):
        for bad, chosen in ((BestFirst(), walk), (Backtracking(), search)):

            def measure(corridor: Corridor, *_: float) -> Measured:
                gap = float(corridor.guide == bad)  # noqa: B023
                return Measured(gap, cheap[corridor.guide] + corridor.radius)

            best = fewest_expansions(measure, 0.1, kinds)
            assert (best.guide,) == chosen
            assert best.radius == 0


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


def test_a_trial_ends_when_it_is_lost(
    trained: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = []

    def counting(self: Planner, starts: torch.Tensor, goals: Any) -> Plan:
        planned.append(starts.numel())
        return call(self, starts, goals)

    call = Planner.__call__
    trial = _Trial(trained, 300, 0)
    total = trial.optimal.numel()
    monkeypatch.setattr(Planner, '__call__', counting)
    poor, unlimited = Corridor(0, BestFirst(2.0), False), float('inf')
    whole = trial(poor, unlimited, unlimited)
    assert sum(planned) == total and planned[:2] == [25, 25]
    # As all at once.
    plan = call(
        Planner(trained.scorer, trained.data, poor), trial.starts, trial.goals
    )
    excess = 100 * (plan.cost / trial.optimal - 1)
    error = excess.std(correction=0) / total**0.5
    assert whole.gap == pytest.approx(float(excess.mean() + error))
    assert whole.expansions == float(plan.expansions.double().mean())
    for limits in ((0.0, unlimited), (unlimited, 1.0)):
        planned.clear()
        lost = trial(poor, *limits)
        assert sum(planned) < total
        assert lost.gap > limits[0] or lost.expansions > limits[1]
    monkeypatch.setattr(choosing, 'MOST_EXPANSIONS', 0)
    planned.clear()
    trial(poor, unlimited, unlimited)
    assert planned == [25]


def test_where_all_costs_are_zero() -> None:
    data = weighted_grid('open', side=4)
    data.edge_cost = torch.zeros_like(data.edge_cost)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # it is untrained
        planner = Planner(BCM.from_data(data, channels=4), data)
    assert isinstance(choose_corridor(planner, queries=9), Corridor)
