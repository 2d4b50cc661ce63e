"""What the paper leaves open of CML and EigenAgent, on seeds no table has.

``--cml`` trains for longer and longer and tells how well it predicts its own
next states: its learning curve. ``--eigen`` walks up spectral potentials on
every layout. Both run on one thread, a row in some seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache, partial
from typing import Any

from benchmarks.lib.flags import QUICK_SIDE, part_flags, run_parts

FLAGS = part_flags(__doc__, 'cml', 'eigen')
FLAGS.set_defaults(seeds=[1, 2, 3, 4, 5, 6])
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

import torch
from torch import Tensor

from bcm_pyg import Planner
from bcm_pyg.baselines import CML, EigenAgent
from bcm_pyg.planning import EdgeScores, Greedy
from benchmarks.lib.graphs import Grid
from benchmarks.lib.measure import measure
from benchmarks.lib.methods import REGIMES
from benchmarks.lib.results import Job, Row, results_for, run_jobs

#: Walks of CML, ten epochs each, as the authors have.
WALKS = (1_000, 2_000, 5_000, 10_000)
#: Modes of eigenvalue x are divided by x^power + epsilon; last comes how much
#: of a node's own potential is taken off (half of it makes a distance).
POTENTIALS = {
    **{
        f'epsilon {epsilon:g}': (epsilon, 1, 0.0)
        for epsilon in (0.0, 1e-3, 2e-3, 3e-3, 4e-3, 6e-3)
    },
    'resistance': (0.0, 1, 0.5),
    'biharmonic distance': (0.0, 2, 0.5),
}
#: Layout, side and costs that the paper has a Gap of.
SETTINGS = (
    *(('ushape', 40, costs) for costs in REGIMES),
    *((name, 40, c) for name in ('block', 'wall') for c in ('mild', 'wide')),
    ('ushape', 20, 'wide'),
)
FIELDS = ('success_rate', 'gap', 'gap_sd')


class Potential:
    """Scores edges by a spectral potential of where they lead."""

    def __init__(
        self, agent: EigenAgent, epsilon: float, power: int, own: float
    ) -> None:
        vectors, values = agent.eigenvectors, agent.eigenvalues
        gain = 1 / (values.clamp(min=1e-6) ** power + epsilon)
        gain[values <= 1e-6] = 0  # constant on the component
        self.value = (vectors * gain) @ vectors.T  # [N, N]
        self.value -= own * self.value.diagonal().unsqueeze(1)
        self.adjacency = agent.adjacency

    def __call__(self, nodes: Tensor, goals: Tensor) -> EdgeScores:
        """Of all edges that leave the nodes."""
        edge, source = self.adjacency.out_edges(nodes)
        there = self.adjacency.dst[edge]
        return EdgeScores(edge, source, -self.value[there, goals[source]])


@lru_cache(maxsize=1)
def spectrum(grid: Grid) -> EigenAgent:
    """The modes of a graph, found once for all potentials."""
    return EigenAgent(grid.data())


@lru_cache(maxsize=1)
def learned(walks: int, side: int, seed: int) -> CML:
    """A CML; costs play no part in learning, so one serves all of them."""
    return CML(Grid('ushape', side, 'uniform', seed).data(), seed, walks=walks)


def measure_potential(name: str, grid: Grid, pairs: int) -> Row:
    """SR and Gap of greedy walks up a potential."""
    potential = Potential(spectrum(grid), *POTENTIALS[name])
    planner = Planner(potential, grid.data(), Greedy(), complete=False)
    found = measure(planner, grid.data(), *grid.queries(pairs))
    return {field: found[field] for field in FIELDS}


def measure_budget(walks: int, grid: Grid, pairs: int) -> Row:
    """SR and Gap of CML after so many walks, and how well it predicts."""
    planner = CML(grid.data(), grid.seed, walks=0, weighted=True)
    cml = learned(walks, grid.side, grid.seed)
    planner.Q, planner.V, planner.W = cml.Q, cml.V, cml.W
    found = measure(planner, grid.data(), *grid.queries(pairs))
    row = {field: found[field] for field in FIELDS}
    return {'prediction_error': prediction_error(cml), **row}


def prediction_error(cml: CML) -> float:
    """Squared error of predicted next states over squared steps, by edge."""
    tail, head = cml.adjacency.src.numpy(), cml.adjacency.dst.numpy()
    step = cml.Q[head] - cml.Q[tail]
    return float(((step - cml.V) ** 2).sum() / (step**2).sum())


def _job(measured: Any, name: str, value: Any, grid: Grid, pairs: int) -> Job:
    key = {name: value, **asdict(grid), 'num_queries': pairs}
    return Job(key, partial(measured, value, grid, pairs))


def run_cml(args: Any) -> None:
    torch.set_num_threads(1)
    side = QUICK_SIDE if args.quick else 40
    jobs = [
        _job(measure_budget, 'walks', walks, grid, args.pairs)
        for seed in args.seeds
        for walks in ((100,) if args.quick else WALKS)
        for grid in (Grid('ushape', side, costs, seed) for costs in REGIMES)
    ]
    run_jobs(results_for('cml_budget', args.quick), jobs)


def run_eigen(args: Any) -> None:
    torch.set_num_threads(1)
    grids = dict.fromkeys(  # small ones are the same where sides alone differ
        Grid(layout, QUICK_SIDE if args.quick else side, costs, seed)
        for seed in args.seeds
        for layout, side, costs in SETTINGS
    )
    jobs = [
        _job(measure_potential, 'potential', name, grid, args.pairs)
        for grid in grids
        for name in POTENTIALS
    ]
    run_jobs(results_for('eigen_potential', args.quick), jobs)


def main(given: Sequence[str] | None = None) -> None:
    run_parts(FLAGS, given, cml=run_cml, eigen=run_eigen)


if __name__ == '__main__':
    main()
