"""Table 1: every method on the U of N = 1600, under three regimes of costs.

Maps that are not there are trained (10 minutes each on two free cores, 5 under
uniform costs, those of the paper's objective up to 30). Rows that are there are
not run again. ``--quick`` takes a minute.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.lib.flags import QUICK_SIDE, paper_flags, parse
from benchmarks.lib.methods import BASELINES, REGIMES

FLAGS = paper_flags(__doc__, methods=[*BASELINES, 'bcm'], costs=REGIMES)
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

from benchmarks.lib.graphs import Grid
from benchmarks.lib.measure import baseline_job
from benchmarks.lib.results import results_for, run_jobs
from benchmarks.lib.trained_maps import map_job


def main(given: Sequence[str] | None = None) -> None:
    args = parse(FLAGS, given)
    jobs = []
    for seed in args.seeds:
        for costs in args.costs:
            grid = Grid('ushape', QUICK_SIDE if args.quick else 40, costs, seed)
            for name in BASELINES:
                if name in args.methods:
                    jobs.append(baseline_job(grid, name, args.pairs))
            if 'bcm' in args.methods:
                jobs += [map_job(grid, kind, args) for kind in args.targets]
    run_jobs(results_for('table1_quality', args.quick), jobs)


if __name__ == '__main__':
    main()
