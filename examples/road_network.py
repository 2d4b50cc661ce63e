"""Streets: from a street network to routes, GeoJSON and a picture.

By default a made-up town that comes with the package. --graph reads a .graphml
file that OSMnx saved or an .npz file of arrays, --place lets OSMnx download a
place. Routes come out in the names of the source.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use('Agg')
from torch_geometric import seed_everything
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, FitConfig, Planner, Report, evaluate, fit
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import ToyStreets, sample_queries
from bcm_pyg.export import to_geojson
from bcm_pyg.graph import (
    from_osmnx,
    largest_component,
    read_npz,
    simplify_graph,
)
from bcm_pyg.planning import VisitedGreedy
from bcm_pyg.plotting import plot_route

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument('--graph', type=Path, help='(default: a made-up town)')
parser.add_argument('--place', help='download this instead (needs osmnx)')
parser.add_argument('--cost', default='travel_time', help='or length')
parser.add_argument('--budget', type=float, default=60, help='seconds')
parser.add_argument('--queries', type=int, default=500)
parser.add_argument('--seed', type=int, default=42)
parser.add_argument('--out', type=Path, default=Path('out/road_network'))
args = parser.parse_args()


def load() -> Data:
    if args.place:
        import osmnx

        graph = osmnx.graph_from_place(args.place, network_type='drive')
        graph = osmnx.add_edge_travel_times(osmnx.add_edge_speeds(graph))
        return from_osmnx(graph, args.cost, project=True)
    if args.graph is None:
        return ToyStreets()[0]
    if args.graph.suffix == '.npz':
        return read_npz(args.graph)  # it says itself what its costs are
    return from_osmnx(args.graph, args.cost, project=True)


seed_everything(args.seed)
try:
    data = largest_component(load())
except BCMError as error:
    parser.error(str(error))
print(
    f'{data.num_nodes} nodes, {data.num_edges} directed edges; '
    f'{data.dropped_nodes} nodes that cannot be reached or left were dropped'
)
graph = simplify_graph(data)  # dead ends and chains leave no choice
print(graph)
model = BCM.from_data(graph.data)
print(f'the map has {model.storage_bytes() / 1e6:.2f} MB')
fit(model, graph.data, FitConfig(time_budget=args.budget), progress=True)

planners = {  # given the simplified graph, they answer on the full one
    'Dijkstra': Dijkstra(data),
    'BCM, walk': Planner(model, graph, VisitedGreedy()),
    'BCM': Planner(model, graph),
}
starts, goals = sample_queries(data, args.queries, seed=args.seed)
print(f'{"":10}{Report.header()}')
for name, planner in planners.items():
    print(f'{name:10}{evaluate(planner, data, starts, goals).row()}')

plans = {name: plan(starts, goals) for name, plan in planners.items()}
routes = plans['BCM'].to_labels(data)
longest = int((plans['Dijkstra'].cost * plans['BCM'].success).argmax())
route = [str(node) for node in routes[longest]]
print(f'from {route[0]} to {route[-1]}:')
print(', '.join(route[:8]), '...')

args.out.mkdir(parents=True, exist_ok=True)
to_geojson(plans['BCM'], data, args.out / 'routes.geojson')
figure = plot_route(data, plans, query=longest).figure
figure.savefig(args.out / 'routes.png', dpi=150)
model.save(args.out / 'map')
print(f'wrote routes.geojson, routes.png and the map to {args.out}')
