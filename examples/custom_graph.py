"""A graph from elsewhere: random points in the plane, joined to their nearest.

Any PyG graph with coordinates will do; here edges come from KNN or Delaunay and
cost their length times how rough the ground is.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use('Agg')
import torch
from scipy.spatial import Delaunay, KDTree
from torch_geometric import seed_everything
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from bcm_pyg import (
    BCM,
    FitConfig,
    Planner,
    Report,
    evaluate,
    fit,
    planning_graph,
)
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import sample_queries
from bcm_pyg.plotting import plot_route

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument('--nodes', type=int, default=500)
parser.add_argument('--edges', choices=['knn', 'delaunay'], default='knn')
parser.add_argument('--budget', type=float, default=60, help='seconds')
parser.add_argument('--queries', type=int, default=500)
parser.add_argument('--seed', type=int, default=42)
parser.add_argument('--out', type=Path, default=Path('out/custom_graph'))
args = parser.parse_args()

seed_everything(args.seed)
pos = 1000 * torch.rand(args.nodes, 2)
if args.edges == 'knn':
    near = torch.from_numpy(KDTree(pos).query(pos, k=7)[1][:, 1:])
    tail = torch.arange(args.nodes).repeat_interleave(6)
    edge_index = torch.stack([tail, near.reshape(-1)])
else:
    corners = torch.from_numpy(Delaunay(pos).simplices).long()
    sides = [corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]]
    edge_index = torch.cat(sides).T
edge_index = to_undirected(edge_index)
# The ground is rough in the north; going there costs up to three times more.
tail, head = pos[edge_index]
rough = 1 + 2 * (tail[:, 1] + head[:, 1]) / 2000
data = Data(
    pos=pos, edge_index=edge_index, edge_attr=(tail - head).norm(dim=1) * rough
)

data = planning_graph(data)  # finds pos and edge_attr, checks everything
model = BCM.from_data(data)  # float coordinates: interpolated bins
print(model)
fit(model, data, FitConfig(time_budget=args.budget), progress=True)

starts, goals = sample_queries(data, args.queries, seed=args.seed)
planners = {'Dijkstra': Dijkstra(data), 'BCM': Planner(model, data)}
print(f'{"":10}{Report.header()}')
for name, planner in planners.items():
    print(f'{name:10}{evaluate(planner, data, starts, goals).row()}')

corner = [int(pos.sum(1).argmin()), int(pos.sum(1).argmax())]
plans = {name: planner(*corner) for name, planner in planners.items()}
args.out.mkdir(parents=True, exist_ok=True)
figure = plot_route(data, plans).figure
figure.savefig(args.out / 'routes.png', dpi=150)
print(f'wrote {args.out / "routes.png"}')
