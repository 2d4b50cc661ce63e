"""The paper's first figure: a map of a weighted U-shape, learned in minutes.

Trains the interaction map, compares its routes with exact search, draws the
query whose straight way is blocked by the U, and saves the map.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use('Agg')
from torch_geometric import seed_everything

from bcm_pyg import BCM, FitConfig, Planner, Report, evaluate, fit
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.explorer import write_explorer
from bcm_pyg.planning import Greedy, VisitedGreedy
from bcm_pyg.plotting import plot_route

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument('--side', type=int, default=40)
parser.add_argument('--costs', default='wide')
parser.add_argument('--budget', type=float, default=180, help='seconds')
parser.add_argument('--queries', type=int, default=1000)
parser.add_argument('--seed', type=int, default=42)
parser.add_argument('--out', type=Path, default=Path('out/ushape'))
args = parser.parse_args()

seed_everything(args.seed)
data = weighted_grid('ushape', args.side, args.costs, args.seed)
model = BCM.from_data(data)
print(model)
print(
    f'\n{data.num_nodes} nodes, {data.num_edges} directed edges; the map has '
    f'{model.num_parameters():,} parameters ({model.storage_bytes() / 1e6:.3f} '
    f'MB), all-pairs tables would take {12 * data.num_nodes**2 / 1e6:.1f} MB.'
)
history = fit(model, data, FitConfig(time_budget=args.budget), progress=True)
print(
    f'{history.steps} steps, {history.rows_per_second:,.0f} pairs a second, '
    f'targets: {model.info.training["config"]["targets"]["name"]} (k = '
    f'{model.info.training["config"]["targets"]["num_backups"]}), '
    f'terminal: {model.terminal}\n'
)

planners = {
    'Dijkstra (exact)': Dijkstra(data),
    'BCM': Planner(model, data, VisitedGreedy()),  # the paper's readout
    'BCM, Corridor': Planner(model, data),  # ours
    'BCM, no memory': Planner(model, data, Greedy()),
}
starts, goals = sample_queries(data, args.queries, seed=args.seed)
print(f'{"":18}{Report.header()}')
for name, planner in planners.items():
    print(f'{name:18}{evaluate(planner, data, starts, goals).row()}')

# From inside the U to below it: the straight way is blocked.
side = args.side
start = (side // 2) * side + side // 2
goal = (side - side // 8) * side + side // 2
shown = {
    'Dijkstra': Dijkstra(data)(start, goal),
    'BCM': planners['BCM'](start, goal),
}
args.out.mkdir(parents=True, exist_ok=True)
ax = plot_route(data, shown)
ax.set_title(f'{side} x {side} U-shape, {args.costs} costs')
ax.figure.savefig(args.out / 'routes.png', dpi=150)
model.save(args.out / 'map')
write_explorer(
    args.out / 'explorer.html',
    model,
    data,
    title=f'U-shape, {side} x {side}',
    readout='visited_greedy',
    start=start,
    goal=goal,
)
print(
    f'\nwrote {args.out / "routes.png"} and the map to {args.out / "map"}\n'
    f'open {args.out / "explorer.html"} in a browser to play with the map'
)
