"""Walking over real relief: there and back are different ways.

The elevation grid that comes with matplotlib (the Jacksboro fault in Tennessee)
becomes a directed graph of walking times: Tobler's hiking function is fastest
on a gentle slope downhill.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use('Agg')
import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.cbook import get_sample_data
from matplotlib.colors import LightSource
from torch_geometric import seed_everything

from bcm_pyg import BCM, FitConfig, Planner, Report, evaluate, fit
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import sample_queries
from bcm_pyg.graph import from_occupancy
from bcm_pyg.planning import VisitedGreedy
from bcm_pyg.plotting import plot_route

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument('--stride', type=int, default=6, help='keep every n-th row')
parser.add_argument('--budget', type=float, default=120, help='seconds')
parser.add_argument('--queries', type=int, default=500)
parser.add_argument('--seed', type=int, default=42)
parser.add_argument('--out', type=Path, default=Path('out/terrain'))
args = parser.parse_args()

seed_everything(args.seed)
relief = get_sample_data('jacksboro_fault_dem.npz')
height = relief['elevation'][:: args.stride, :: args.stride].astype(float)
rows, columns = height.shape
middle = np.radians((relief['ymin'] + relief['ymax']) / 2)
degree = 111_195 * args.stride  # metres of latitude
step = np.array(  # rows go south
    [relief['dx'] * np.cos(middle) * degree, -relief['dy'] * degree]
)

# Every cell is joined to its eight neighbours, then steps get their times.
data = from_occupancy(np.zeros(height.shape, dtype=bool))
data.pos = (data.coord.flip(1) * torch.from_numpy(step)).float()
tail, head = data.edge_index
run = (data.pos[head] - data.pos[tail]).norm(dim=1)
up = torch.from_numpy(height.ravel()).float()
slope = (up[head] - up[tail]) / run
speed = 6 / 3.6 * torch.exp(-3.5 * (slope + 0.05).abs())  # metres a second
data.edge_cost = run / speed / 60
print(
    f'{data.num_nodes} nodes, {data.num_edges} directed edges of '
    f'{data.edge_cost.min():.1f} to {data.edge_cost.max():.1f} minutes'
)

model = BCM.from_data(data)
print(f'the map has {model.storage_bytes() / 1e6:.2f} MB')
fit(model, data, FitConfig(time_budget=args.budget), progress=True)

planners = {
    'Dijkstra': Dijkstra(data),
    'BCM, walk': Planner(model, data, VisitedGreedy()),
    'BCM': Planner(model, data),
}
starts, goals = sample_queries(data, args.queries, seed=args.seed)
print(f'{"":10}{Report.header()}')
for name, planner in planners.items():
    print(f'{name:10}{evaluate(planner, data, starts, goals).row()}')

# From corner to corner and back, over the relief in full detail.
ends = [rows // 8 * columns + columns // 8, rows * columns - columns // 8 - 1]
shown = {
    'exact, there': planners['Dijkstra'](*ends),
    'BCM, there': planners['BCM'](*ends),
    'exact, back': planners['Dijkstra'](*ends[::-1]),
    'BCM, back': planners['BCM'](*ends[::-1]),
}
full = relief['elevation'].astype(float)
shade = LightSource(azdeg=315, altdeg=45).shade(
    full,
    cmap=matplotlib.colormaps['gist_earth'],
    vmin=1.5 * full.min() - 0.5 * full.max(),  # no valley looks like a lake
    vert_exag=2,
    dx=step[0] / args.stride,
    dy=-step[1] / args.stride,
    blend_mode='soft',
)
first = -0.5 * step / args.stride
last = first + step * full.shape[::-1] / args.stride
figure, ax = plt.subplots(figsize=(8, 7), layout='constrained')
ax.imshow(shade, extent=(first[0], last[0], last[1], first[1]))
plot_route(data, shown, ax, edges=False)
ax.set_title('Walking times in minutes over the Jacksboro fault')
args.out.mkdir(parents=True, exist_ok=True)
figure.savefig(args.out / 'routes.png', dpi=150)
print(f'wrote {args.out / "routes.png"}')
