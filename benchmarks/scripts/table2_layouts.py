"""Table 2: U, centre block, wall with a gap, and a maze the paper lacks.

N = 1600, mild and wide costs. Maps come from the cache or are trained (10
minutes each). ``--quick`` takes a minute.
"""

from __future__ import annotations

from benchmarks.lib.jobs import (
    QUICK_SIDE,
    Grid,
    baseline_job,
    flags,
    parse,
    results,
    run_jobs,
)
from benchmarks.lib.trained_maps import map_job

LAYOUTS = ('ushape', 'block', 'wall', 'maze')
METHODS = ('dijkstra', 'apf', 'eigen', 'bcm')


def main() -> None:
    parser = flags(__doc__, METHODS, ('mild', 'wide'))
    parser.add_argument(
        '--layouts', nargs='+', choices=LAYOUTS, default=LAYOUTS
    )
    args = parse(parser)
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
    run_jobs(results('table2_layouts', args.quick), jobs)


if __name__ == '__main__':
    main()
