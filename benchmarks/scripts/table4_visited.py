"""Table 4: what remembering visited nodes brings, on the same maps.

U of N = 1600, wide costs, greedy readout without and with memory. Maps are
those of table3_encoders.py, or are trained as there. ``--quick`` takes a
minute.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.lib.flags import QUICK_SIDE, paper_flags, parse
from benchmarks.lib.methods import ENCODERS

FLAGS = paper_flags(__doc__, encoders=ENCODERS)
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

from bcm_pyg.planning import Greedy, VisitedGreedy
from benchmarks.lib.graphs import Grid
from benchmarks.lib.results import results_for, run_jobs
from benchmarks.lib.trained_maps import map_job


def main(given: Sequence[str] | None = None) -> None:
    args = parse(FLAGS, given)
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
    run_jobs(results_for('table4_visited', args.quick), jobs)


if __name__ == '__main__':
    main()
