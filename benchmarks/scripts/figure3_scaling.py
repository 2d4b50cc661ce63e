"""Figure 3: size and quality from N = 400 to 10,000, and both together.

The U under wide costs. EigenAgent is solved densely and stops at N = 3600, its
weighted variants and CML, whose random walks are fitted to that size, at N =
1600; their sizes are known beyond. Maps come from the cache or are trained (2
to 30 minutes each). ``--quick`` takes two minutes.
"""

from __future__ import annotations

import argparse

from benchmarks.lib.jobs import (
    QUICK_SIDE,
    Grid,
    Job,
    baseline_job,
    figure_folder,
    flags,
    parse,
    results,
    run_jobs,
)
from benchmarks.lib.methods import BASELINES
from benchmarks.lib.scaling_plots import draw
from benchmarks.lib.storage import storage_row
from benchmarks.lib.trained_maps import map_job

SIDES = (20, 30, 40, 60, 80, 100)
#: Where methods that are too slow or too large for more than a size stop.
LARGEST_SIDE = {'eigen': 60, 'eigen_inverse': 40, 'eigen_rbf': 40, 'cml': 40}


def scaling_jobs(args: argparse.Namespace) -> list[Job]:
    """Sizes first: they need no map."""
    sides = (QUICK_SIDE, QUICK_SIDE + 4) if args.quick else args.sides
    jobs = [storage_job(side) for side in sides]
    for seed in args.seeds:
        for side in sides:
            grid = Grid('ushape', side, 'wide', seed)
            for name in BASELINES:
                stays = side <= LARGEST_SIDE.get(name, side)
                if name in args.methods and stays:
                    jobs.append(baseline_job(grid, name, args.pairs))
            if 'bcm' in args.methods:
                jobs += [map_job(grid, kind, args) for kind in args.targets]
    return jobs


def storage_job(side: int) -> Job:
    """Sizes do not depend on costs or seeds."""
    grid = Grid('ushape', side, 'wide', 42)
    key = {'method': 'storage', 'layout': grid.layout, 'side': side}
    return Job(key, lambda: storage_row(grid.data()))


def main() -> None:
    parser = flags(__doc__, [*BASELINES, 'bcm'])
    parser.add_argument(
        '--sides', type=int, nargs='+', choices=SIDES, default=SIDES
    )
    args = parse(parser)
    out = results('figure3_scaling', args.quick)
    run_jobs(out, scaling_jobs(args))
    plane = QUICK_SIDE if args.quick else 40
    draw(out.rows, plane, figure_folder(args.quick), paper=not args.quick)


if __name__ == '__main__':
    main()
