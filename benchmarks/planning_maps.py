"""Trains the maps that readouts are timed with, and keeps them in maps/.

One map per graph and width, the library's own settings, ``--seconds`` each;
those that are there are left alone. They are written in half precision.
"""

from __future__ import annotations

from pathlib import Path

from common import FOLDER, parser, results_for
from real_data import load
from torch_geometric import seed_everything
from torch_geometric.data import Data

from bcm_pyg import BCM, FitConfig, fit, planning_graph
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.graph import SimplifiedGraph, largest_component, simplify_graph

MAPS = FOLDER / 'maps'
#: Side of a U and width of its map.
GRIDS = ((40, 128), (40, 256), (60, 128), (60, 256))
ROADS = ('sydney', 'malta_full', 'rome_length', 'seattle_length')
#: Seed of the costs of the grids.
SEED = 7
ROAD_WIDTH = 128


def grid(side: int) -> Data:
    """The U with wide costs that maps are trained on."""
    return planning_graph(weighted_grid('ushape', side, 'wide', SEED))


def road(name: str) -> SimplifiedGraph:
    """The largest strong component of a road network, simplified."""
    return simplify_graph(largest_component(load(name, 1)[0]))


def folder_of(name: str, width: int) -> Path:
    """Where a map is kept."""
    return MAPS / f'{name}-{width}'


def main() -> None:
    flags = parser(__doc__)
    flags.add_argument('--seconds', type=float, default=300)
    args = flags.parse_args()
    results = results_for('planning_maps', args.quick)
    jobs = [(f'ushape{side}', width) for side, width in GRIDS]
    jobs += [(name, ROAD_WIDTH) for name in ROADS]
    for name, width in jobs:
        folder = folder_of(name, width)
        if folder.exists():
            continue
        is_grid = name.startswith('ushape')
        data = grid(int(name[6:])) if is_grid else road(name).data
        seed_everything(0)
        model = BCM.from_data(data, hidden_channels=width)
        fit(model, data, FitConfig(time_budget=args.seconds), progress=True)
        model.save(folder, dtype='float16')
        results.add(
            {
                'map': name,
                'width': width,
                'nodes': data.num_nodes,
                'parameters': model.num_parameters(),
                'steps': model.info.training['steps'],
                'seconds': model.info.training['seconds'],
            }
        )


if __name__ == '__main__':
    main()
