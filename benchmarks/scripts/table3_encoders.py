"""Table 3: the node encoders, all else equal, with their parameter counts.

U of N = 1600, mild and wide costs. Maps that are not there are trained, all
with the same steps (about 10 minutes each on two free cores, those of the
paper's objective up to 30). ``--quick`` takes a minute.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.lib.flags import QUICK_SIDE, paper_flags, parse
from benchmarks.lib.methods import ENCODERS

FLAGS = paper_flags(__doc__, costs=('mild', 'wide'), encoders=ENCODERS)
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

from benchmarks.lib.graphs import Grid
from benchmarks.lib.results import results_for, run_jobs
from benchmarks.lib.trained_maps import map_job


def main(given: Sequence[str] | None = None) -> None:
    args = parse(FLAGS, given)
    side = QUICK_SIDE if args.quick else 40
    jobs = [
        map_job(Grid('ushape', side, costs, seed), targets, args, encoder)
        for seed in args.seeds
        for targets in args.targets
        for costs in args.costs
        for encoder in args.encoders
    ]
    run_jobs(results_for('table3_encoders', args.quick), jobs)


if __name__ == '__main__':
    main()
