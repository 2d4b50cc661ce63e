"""Table 1: every method on the U of N = 1600, under three regimes of costs.

Maps come from the cache or are trained (10 minutes each, 5 under uniform
costs). Rows that are there are not run again. ``--quick`` takes a minute.
"""

from __future__ import annotations

from bcm_pyg.datasets import COST_REGIMES
from benchmarks.lib.jobs import (
    QUICK_SIDE,
    Grid,
    baseline_job,
    flags,
    parse,
    results,
    run_jobs,
)
from benchmarks.lib.methods import BASELINES
from benchmarks.lib.trained_maps import map_job


def main() -> None:
    args = parse(flags(__doc__, [*BASELINES, 'bcm'], COST_REGIMES))
    jobs = []
    for seed in args.seeds:
        for costs in args.costs:
            grid = Grid('ushape', QUICK_SIDE if args.quick else 40, costs, seed)
            for name in BASELINES:
                if name in args.methods:
                    jobs.append(baseline_job(grid, name, args.pairs))
            if 'bcm' in args.methods:
                jobs += [map_job(grid, kind, args) for kind in args.targets]
    run_jobs(results('table1_quality', args.quick), jobs)


if __name__ == '__main__':
    main()
