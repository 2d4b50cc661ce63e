"""Game maps: a MovingAI map and its scenarios, against published lengths.

By default a made-up map that comes with the package. --map reads a .map file
(or .3dmap) and the scenarios beside it, as those of movingai.com/benchmarks.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use('Agg')
import numpy as np
from torch_geometric import seed_everything

from bcm_pyg import BCM, BCMError, FitConfig, Planner, Report, evaluate, fit
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import MovingAIMap, ToyGameMap, sample_queries
from bcm_pyg.planning import VisitedGreedy
from bcm_pyg.plotting import plot_route

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument('--map', type=Path, help='(default: a made-up map)')
parser.add_argument('--scen', type=Path, help='(default: the one beside it)')
parser.add_argument('--budget', type=float, default=120, help='seconds')
parser.add_argument('--queries', type=int, default=500)
parser.add_argument('--seed', type=int, default=42)
parser.add_argument('--out', type=Path, default=Path('out/movingai'))
args = parser.parse_args()


def load() -> MovingAIMap:
    if args.map is None:
        return ToyGameMap()
    stem = args.map.name.partition('.')[0]
    beside = [
        path
        for ending in ('.*scen*', '-random-*scen*', '-even-*scen*')
        for path in sorted(args.map.parent.glob(stem + ending))
    ]
    scenarios = args.scen or (beside[0] if beside else None)
    return MovingAIMap(args.map, scenarios)


seed_everything(args.seed)
try:
    dataset = load()
except BCMError as error:
    parser.error(str(error))
data = dataset[0]
if dataset.queries is None:
    print(f'no scenarios beside {args.map}: queries are drawn at random')
    starts, goals = sample_queries(data, args.queries, seed=args.seed)
    optimal = Dijkstra(data)(starts, goals).cost
else:
    starts, goals, optimal = dataset.queries
# Scenarios come sorted by length: take some from everywhere.
some = np.linspace(0, len(starts) - 1, min(args.queries, len(starts)))
some = some.round().astype(int)
starts, goals, optimal = starts[some], goals[some], optimal[some]
size = ' x '.join(str(side) for side in data.grid_size[0].tolist())
print(f'{size} cells, {data.num_nodes} of them free, {data.num_edges} steps')

model = BCM.from_data(data)  # one table row per column and per row of the map
print(f'the map has {model.storage_bytes() / 1e6:.2f} MB')
fit(model, data, FitConfig(time_budget=args.budget), progress=True)

planners = {
    'Dijkstra': Dijkstra(data),
    'BCM, walk': Planner(model, data, VisitedGreedy()),
    'BCM': Planner(model, data),
}
plans = {name: plan(starts, goals) for name, plan in planners.items()}
wrong = (plans['Dijkstra'].cost - optimal).abs().max()
print(f'\nexact search and published lengths differ by {wrong:.0e} at most')
print(f'{"":10}{Report.header()}')
for name, planner in planners.items():
    print(f'{name:10}{evaluate(planner, data, starts, goals).row()}')

longest = int((optimal * plans['BCM'].success).argmax())
ax = plot_route(data, plans, query=longest)
ax.set_title(f'{data.map_name}, published length {optimal[longest]:.1f}')
args.out.mkdir(parents=True, exist_ok=True)
ax.figure.savefig(args.out / 'routes.png', dpi=150)
print(f'wrote {args.out / "routes.png"}')
