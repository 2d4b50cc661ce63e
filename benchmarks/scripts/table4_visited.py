"""Table 4: what remembering visited nodes brings, on the same maps.

U of N = 1600, wide costs, greedy readout without and with memory. Maps come
from the cache, where table3_encoders.py puts them, or are trained (10 minutes
each). ``--quick`` takes a minute.
"""

from __future__ import annotations

from bcm_pyg.planning import Greedy, VisitedGreedy
from benchmarks.lib.jobs import (
    QUICK_SIDE,
    Grid,
    flags,
    parse,
    results,
    run_jobs,
)
from benchmarks.lib.trained_maps import map_job
from benchmarks.scripts.table3_encoders import ENCODERS


def main() -> None:
    parser = flags(__doc__)
    parser.add_argument(
        '--encoders', nargs='+', choices=ENCODERS, default=ENCODERS
    )
    args = parse(parser)
    side = QUICK_SIDE if args.quick else 40
    jobs = [
        map_job(
            Grid('ushape', side, 'wide', seed), targets, args, encoder, readout
        )
        for seed in args.seeds
        for targets in args.targets
        for encoder in args.encoders
        for readout in (Greedy(), VisitedGreedy())
    ]
    run_jobs(results('table4_visited', args.quick), jobs)


if __name__ == '__main__':
    main()
