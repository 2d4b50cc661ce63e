"""Maps of roads whose costs change: how soon routes are good again.

A tenth of the streets gets new costs (by a factor of up to 4 either way), or
2 % of them are closed. Then the map of ``real_graphs`` is trained on, with
growing budgets in steps, until routes are within 0.2 % of the best ones: by the
corridor that was chosen before the change, and by one that is chosen anew.
Drawn queries. Resumable.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from benchmarks.lib.flags import flags, parse

FLAGS = flags(__doc__)
FLAGS.add_argument('--graphs', nargs='+', default=['andorra', 'melun'])
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import BCM, CognitiveMap
from bcm_pyg.planning import Planner, choose_corridor
from benchmarks.lib.graphs import REAL_SECONDS, load, sampled, simplified
from benchmarks.lib.measure import quality
from benchmarks.lib.results import Job, Row, results_for, run_jobs
from benchmarks.lib.trained_maps import (
    cache_name,
    cached_map,
    fit_config,
    is_cached,
    trained_map,
    training_of,
)

CHANGES = {'10 % of the costs drawn anew': 0.1, '2 % of the edges closed': 0.02}
CLOSED = '2 % of the edges closed'
#: Shares of the training from scratch.
PARTS = (0.0, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4)
#: Gap in percent that is good enough.
WANTED = 0.2
QUICK_STEPS = 30


def hit_edges(data: Data, share: float, seed: int) -> tuple[Tensor, Tensor]:
    """Which edges a change hits, both directions, and a factor for each."""
    rng = np.random.default_rng(seed)
    low, high = data.edge_index.sort(dim=0).values
    pair = low * data.num_nodes + high
    street = pair.unique(return_inverse=True)[1]
    count = int(street.max()) + 1
    hit = torch.from_numpy(rng.random(count) < share)
    factor = torch.from_numpy(4 ** rng.uniform(-1, 1, count)).float()
    return hit[street], factor[street]


def map_of(key: Row, data: Data, quick: bool) -> BCM:
    """The map of ``real_graphs``, or one that was hardly trained."""
    seconds, seed = key['budget_seconds'], key['seed']
    name = cache_name('real', key['graph'], seconds=seconds, seed=seed)
    graph = simplified(data)
    trained_on = data if graph is None else graph.data
    if quick:
        config = fit_config(steps=QUICK_STEPS, seed=seed)
        return trained_map(f'{name}-quick', trained_on, config)
    if not is_cached(name):
        raise SystemExit(f'there is no map {name}: run real_graphs first')
    return cached_map(name, trained_on)


def changed(atlas: CognitiveMap, key: Row, steps: int) -> CognitiveMap:
    """A map after a change and so many steps."""
    data, seed = atlas.data, key['seed']
    hit, factor = hit_edges(data, CHANGES[key['change']], seed)
    costs: Any = torch.where(hit, factor * data.edge_cost, data.edge_cost)
    out = copy.copy(atlas)
    if key['change'] == CLOSED:
        names = atlas.names
        ends = data.edge_index[:, hit].T.tolist()
        out, costs = atlas.close((names[t], names[h]) for t, h in ends), {}
    # The old corridor stays for now.
    readout = atlas.planner.readout
    config = fit_config(steps=steps, seed=seed)
    if steps > 0 or key['change'] != CLOSED:
        out.update(costs, config=config, readout=readout, progress=False)
    return out


def measure_change(key: Row, quick: bool) -> Row:
    """Routes after each share of the training, until they are good."""
    data, _ = load(key['graph'], 1)
    model = map_of(key, data, quick)
    atlas = CognitiveMap(data, model, simplified=simplified(data))
    assert isinstance(atlas.planner, Planner)
    atlas.planner.readout = choose_corridor(atlas.planner)
    training, shares = training_of(model), []
    for part in PARTS:
        steps = round(part * training['steps'])
        began = time.process_time()
        after = changed(atlas, key, steps)
        seconds = time.process_time() - began
        queries = sampled(after.data, key['num_queries'], seed=7)
        row: Row = {'share': part, 'steps': steps, 'cpu_seconds': seconds}
        assert isinstance(after.planner, Planner)
        after.planner(queries.starts[:1], queries.goals[:1])
        row['kept'] = quality(after.planner, after.data, queries)
        began = time.process_time()
        after.planner.readout = choose_corridor(after.planner)
        row['choice_cpu_seconds'] = time.process_time() - began
        row['chosen'] = quality(after.planner, after.data, queries)
        row['readout'] = repr(after.planner.readout)
        shares.append(row)
        if max(row['kept']['gap'], row['chosen']['gap']) <= WANTED:
            break
    return {
        'scratch_steps': training['steps'],
        'scratch_cpu_seconds': training['cpu_seconds'],
        'readout': repr(atlas.planner.readout),
        'before': quality(atlas.planner, data, sampled(data, 1000, seed=7)),
        'shares': shares,
    }


def main(given: Sequence[str] | None = None) -> None:
    args = parse(FLAGS, given)
    jobs = []
    for graph in args.graphs:
        for change in CHANGES:
            key = {
                'graph': graph,
                'change': change,
                'budget_seconds': REAL_SECONDS * args.budget,
                'seed': args.seeds[0],
                'num_queries': args.pairs,
            }
            jobs.append(Job(key, partial(measure_change, key, args.quick)))
    run_jobs(results_for('updates', args.quick), jobs)


if __name__ == '__main__':
    main()
