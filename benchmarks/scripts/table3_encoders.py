"""Table 3: the node encoders, all else equal, with their parameter counts.

U of N = 1600, mild and wide costs. Maps come from the cache or are trained (10
minutes each). ``--quick`` takes a minute.
"""

from __future__ import annotations

from benchmarks.lib.jobs import (
    QUICK_SIDE,
    Grid,
    flags,
    parse,
    results,
    run_jobs,
)
from benchmarks.lib.trained_maps import map_job

ENCODERS = ('one_hot', 'k_hot', 'interaction', 'gnn')


def main() -> None:
    parser = flags(__doc__, costs=('mild', 'wide'))
    parser.add_argument(
        '--encoders', nargs='+', choices=ENCODERS, default=ENCODERS
    )
    args = parse(parser)
    side = QUICK_SIDE if args.quick else 40
    jobs = [
        map_job(Grid('ushape', side, costs, seed), targets, args, encoder)
        for seed in args.seeds
        for targets in args.targets
        for costs in args.costs
        for encoder in args.encoders
    ]
    run_jobs(results('table3_encoders', args.quick), jobs)


if __name__ == '__main__':
    main()
