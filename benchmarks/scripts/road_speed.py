"""Readouts on large road networks, beside one exact search.

Maps of the simplified graphs (planning_maps.py); queries and routes are those
of the full graphs, 200 pairs drawn at random. Run it alone on the machine.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from bcm_pyg import BCM, Planner, evaluate
from bcm_pyg.baselines import CCH
from bcm_pyg.datasets import sample_queries
from bcm_pyg.graph import SimplifiedGraph
from bcm_pyg.planning import Backtracking, BestFirst, Corridor, VisitedGreedy
from bcm_pyg.utils import Adjacency
from benchmarks.lib.results import parser, results_for
from benchmarks.scripts.planning_maps import ROAD_WIDTH, ROADS, folder_of, road
from benchmarks.scripts.planning_speed import one_search, seconds_of

READOUTS = [VisitedGreedy(), Backtracking(), BestFirst(), Corridor()]
QUERIES = 200


def measure(graph: SimplifiedGraph, model: BCM, name: str) -> dict[str, Any]:
    """All readouts on one network, in one process."""
    starts, goals = sample_queries(graph.full, QUERIES, seed=42)
    full, core = (Adjacency.from_data(d) for d in (graph.full, graph.data))
    some = sample_queries(graph.data, QUERIES, seed=42)[0]
    row: dict[str, Any] = {
        'graph': name,
        'nodes': full.num_nodes,
        'simplified_nodes': core.num_nodes,
        'parameters': model.num_parameters(),
        'full_search_ms': 1e3 * one_search(full, starts),
        'simplified_search_ms': 1e3 * one_search(core, some),
        'readouts': {},
    }
    planners = {str(r): Planner(model, graph, r) for r in READOUTS}
    planners['CCH, full graph'] = CCH(graph.full)
    planners['CCH, simplified graph'] = CCH(graph)
    for readout, planner in planners.items():
        planner(starts, goals)  # what it keeps is made
        report = evaluate(planner, graph.full, starts, goals)
        seconds = seconds_of(partial(planner, starts, goals)) / QUERIES
        row['readouts'][readout] = {
            'ms': 1e3 * seconds,
            'success_rate': report.success_rate,
            'gap': report.gap,
            'expansions': report.expansions,
        }
        print(
            f'{name:16} {readout:40} {1e3 * seconds:9.3f} ms', report, sep='\n'
        )
    row['full_search_ms_after'] = 1e3 * one_search(full, starts)
    row['simplified_search_ms_after'] = 1e3 * one_search(core, some)
    return row


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument('--graphs', nargs='+', default=ROADS)
    args = flags.parse_args()
    results = results_for('road_speed', args.quick)
    for name in args.graphs:
        if results.find(graph=name):
            continue
        graph = road(name)
        folder = folder_of(name, ROAD_WIDTH)
        if not folder.exists():
            print(f'no map of {name}: run planning_maps.py')
            continue
        results.add(measure(graph, BCM.load(folder, graph.data), name))


if __name__ == '__main__':
    main()
