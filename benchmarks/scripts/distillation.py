"""Whether a small map learns more from a large one than from the graph.

A student trains for half of the time on the distances of a default map that
had the other half, or for all of it on targets of its own. CPU time on one
thread; costs and queries of seeds that no other table has. Resumable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from benchmarks.lib.flags import flags, parse

FLAGS = flags(__doc__)
FLAGS.set_defaults(seeds=[7, 8, 9])
FLAGS.add_argument('--side', type=int, default=40)
FLAGS.add_argument('--width', type=int, default=32, help='of the student')
FLAGS.add_argument('--channels', type=int, default=32)
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

import torch
from torch import Tensor

from bcm_pyg import BCM, FitConfig, Planner
from bcm_pyg.planning import VisitedGreedy
from bcm_pyg.training import SweepTargets
from benchmarks.lib.cpu_time import fit_for_cpu_seconds
from benchmarks.lib.graphs import Grid, sampled
from benchmarks.lib.measure import distance_error, planner_of, quality
from benchmarks.lib.results import Job, Row, results_for, run_jobs

#: Seconds of a row, those of its teacher included.
SECONDS = 120.0


@dataclass(frozen=True, kw_only=True)
class TeacherTargets(SweepTargets):
    """The values of another map, without a backup of one's own."""

    teacher: Planner = field(repr=False)

    def __post_init__(self) -> None:
        pass  # the settings of sweeps are not used

    def to_dict(self) -> Row:
        """Its name alone: a planner is not written down."""
        return {'name': type(self).__name__}

    def values(self, blocks: Any, goals: Tensor) -> Tensor:
        """The values of all nodes for some goals, :obj:`[N, G]`."""
        nodes = torch.arange(self.teacher.num_nodes)
        value = self.teacher.distance_matrix(nodes, goals)
        return value / blocks.model.cost_scale


def measure_student(key: Row) -> Row:
    """Trains a student, and its teacher if it has one."""
    grid = Grid('ushape', key['side'], 'wide', key['seed'])
    data, seconds = grid.data(), key['cpu_seconds']
    config = FitConfig(steps=1, seed=grid.seed, validations=0)
    row: Row = {}
    student = BCM.from_data(
        data, hidden_channels=key['width'], channels=key['channels']
    )
    if key['taught']:
        seconds /= 2
        large = BCM.from_data(data)
        fit_for_cpu_seconds(large, data, config, seconds)
        teacher = planner_of(large, data, None, VisitedGreedy())
        queries = sampled(data, key['num_queries'], grid.seed)
        row['teacher_gap'] = quality(teacher, data, queries)['gap']
        targets = TeacherTargets(teacher=teacher)
        config = FitConfig(
            steps=1, seed=grid.seed, validations=0, targets=targets
        )
    history, step = fit_for_cpu_seconds(student, data, config, seconds)
    queries = sampled(data, key['num_queries'], grid.seed)
    planner = planner_of(student, data, None, VisitedGreedy())
    return {
        **row,
        'parameters': student.num_parameters(),
        'steps': history.steps,
        'step_ms': round(step, 3),
        **quality(planner, data, queries),
        'distance_error': distance_error(planner, queries),
    }


def main(given: Sequence[str] | None = None) -> None:
    args = parse(FLAGS, given)
    torch.set_num_threads(1)
    seconds = (1.0 if args.quick else SECONDS) * args.budget
    jobs = []
    for seed in args.seeds:
        for taught in (False, True):
            key = {
                'side': 10 if args.quick else args.side,
                'width': args.width,
                'channels': args.channels,
                'taught': taught,
                'seed': seed,
                'cpu_seconds': seconds,
                'num_queries': args.pairs,
            }
            jobs.append(Job(key, partial(measure_student, key)))
    run_jobs(results_for('distillation', args.quick), jobs)


if __name__ == '__main__':
    main()
