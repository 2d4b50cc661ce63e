"""Table 2: U, centre block, wall with a gap, and a maze the paper lacks.

N = 1600, mild and wide costs. Maps that are not there are trained (10 minutes
each on two free cores, those of the paper's objective up to 30). ``--quick``
takes a minute.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.lib.flags import QUICK_SIDE, paper_flags, parse

FLAGS = paper_flags(
    __doc__,
    methods=('dijkstra', 'apf', 'eigen', 'bcm'),
    costs=('mild', 'wide'),
    layouts=('ushape', 'block', 'wall', 'maze'),
)
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

from benchmarks.lib.graphs import Grid
from benchmarks.lib.measure import baseline_job
from benchmarks.lib.results import results_for, run_jobs
from benchmarks.lib.trained_maps import map_job


def main(given: Sequence[str] | None = None) -> None:
    args = parse(FLAGS, given)
    side = QUICK_SIDE if args.quick else 40
    jobs = []
    for seed in args.seeds:
        for layout in args.layouts:
            for costs in args.costs:
                grid = Grid(layout, side, costs, seed)
                for name in args.methods:
                    if name != 'bcm':
                        jobs.append(baseline_job(grid, name, args.pairs))
                        continue
                    jobs += [map_job(grid, kind, args) for kind in args.targets]
    run_jobs(results_for('table2_layouts', args.quick), jobs)


if __name__ == '__main__':
    main()
