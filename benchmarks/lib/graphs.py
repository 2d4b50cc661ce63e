"""The graphs of the benchmarks: weighted grids, and real ones with queries."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import BCMError
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.graph import (
    SimplifiedGraph,
    from_occupancy,
    read_movingai,
    read_npz,
    read_scenarios,
    simplify_graph,
)
from benchmarks.lib.results import FOLDER


@dataclass(frozen=True)
class Grid:
    """A weighted grid by its names."""

    layout: str
    side: int
    costs: str
    seed: int

    def data(self) -> Data:
        """The graph. The maze is the same for all seeds, its costs differ."""
        return _graph(self)

    def queries(self, num: int) -> tuple[Tensor, Tensor]:
        """Starts and goals, the same for all methods and costs."""
        return sample_queries(self.data(), num, seed=self.seed)


@lru_cache(maxsize=2)
def _graph(grid: Grid) -> Data:
    layout = maze_mask(grid.side) if grid.layout == 'maze' else grid.layout
    return weighted_grid(layout, grid.side, grid.costs, grid.seed)


def maze_mask(side: int, seed: int = 0, opened: float = 0.2) -> np.ndarray:
    """A maze of corridors one cell wide, True where a cell is blocked.

    Rooms are the cells of even row and column; a depth-first walk joins them
    all. A maze with one route for each pair leaves costs nothing to decide, so
    that a share of the other walls is opened too. On an even side the last row
    and column are wall.
    """
    rng = np.random.default_rng(seed)
    rooms = (side + 1) // 2
    mask = np.ones((side, side), dtype=bool)
    mask[::2, ::2] = False
    seen = np.zeros((rooms, rooms), dtype=bool)
    seen[0, 0] = True
    path = [(0, 0)]
    while path:
        row, column = path[-1]
        open_rooms = [
            (row + down, column + right)
            for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1))
            if 0 <= row + down < rooms
            and 0 <= column + right < rooms
            and not seen[row + down, column + right]
        ]
        if not open_rooms:
            path.pop()
            continue
        there = open_rooms[rng.integers(len(open_rooms))]
        seen[there] = True
        mask[row + there[0], column + there[1]] = False  # the wall between
        path.append(there)
    between = np.zeros_like(mask)
    last = 2 * rooms - 1
    between[:last:2, 1:last:2] = between[1:last:2, :last:2] = True
    mask[between & (rng.random(mask.shape) < opened)] = False
    return mask


DATA = Path(
    os.environ.get('BCM_PYG_DATA', FOLDER.parent.parent / 'shared' / 'data')
)

#: Path below the data folder, and nodes (to choose by).
GRAPHS: dict[str, tuple[str, int]] = {
    'scigrid_de': ('other/scigrid_de.npz', 585),
    'helsinki_centre': ('road/helsinki_centre.npz', 847),
    'chicago_sketch': ('road/chicago_sketch.npz', 933),
    'andorra': ('road/andorra.npz', 1697),
    'arena': ('grid/arena.map', 2054),
    'den312d': ('grid/den312d.map', 2445),
    'melun': ('road/melun.npz', 3023),
    'room-64-64-8': ('grid/room-64-64-8.map', 3232),
    'random-64-64-20': ('grid/random-64-64-20.map', 3270),
    'goldcoast': ('road/goldcoast.npz', 3698),
    'AR0044SR': ('grid/AR0044SR.map', 5638),
    'lak507d': ('grid/lak507d.map', 4360),
    'maze-32-32-4': ('grid/maze-32-32-4.map', 790),
    'warehouse': ('grid/warehouse-10-20-10-2-1.map', 5699),
    'ht_chantry': ('grid/ht_chantry.map', 7461),
    'w_jinan': ('road/w_jinan.npz', 8908),
    'chicago_regional': ('road/chicago_regional.npz', 11180),
    'berlin_matsim': ('road/berlin_matsim.npz', 11566),
    'lak303d': ('grid/lak303d.map', 14784),
    'maze-128-128-10': ('grid/maze-128-128-10.map', 14818),
    'jacksboro_tobler': ('terrain/jacksboro_tobler.npz', 16384),
    'malta': ('road/malta.npz', 21595),
    'Simple_coarse4': ('voxel/Simple_coarse4.npz', 24021),
    'willow_garage': ('other/willow_garage_20cm.npz', 24307),
    'sydney': ('road/sydney.npz', 29405),
    'Berlin_1_256': ('grid/Berlin_1_256.map', 47540),
    'Boston_2_256': ('grid/Boston_2_256.map', 48617),
    'malta_full': ('road/malta_full.npz', 57674),
    'AR0011SR': ('grid/AR0011SR.map', 120458),
    'Complex_coarse4': ('voxel/Complex_coarse4.npz', 123584),
    'seattle_length': ('road/seattle_length.npz', 147063),
    'rome_length': ('road/rome_length.npz', 231550),
}

#: Seconds of training on two cores, but for the largest.
REAL_SECONDS = 300
#: Queries that are drawn where a graph has none of its own.
DRAWN = 1000


class Queries(NamedTuple):
    """Queries of a graph and what the best routes cost."""

    starts: Tensor
    goals: Tensor
    cost: Tensor


def load(name: str, pairs: int) -> tuple[Data, Queries]:
    """A graph and at most :obj:`pairs` of its own queries."""
    if name not in GRAPHS:
        raise SystemExit(f'no graph {name}: choose from {", ".join(GRAPHS)}')
    path = DATA / GRAPHS[name][0]
    if not path.exists():
        raise SystemExit(
            f'no real graphs found: looked for {GRAPHS[name][0]} beside the '
            'checkout and in $BCM_PYG_DATA'
        )
    if path.suffix == '.map':
        data = read_movingai(path)
        return data, _scenarios(path, data, pairs)
    if path.parent.name == 'voxel':
        data = from_occupancy(np.load(path)['occupied'])
        return data, sampled(data, min(pairs, DRAWN))
    data = read_npz(path)
    for there in (_workload(path), path.with_suffix('.queries.npz')):
        if there.exists():
            return data, _stored(there, pairs)
    return data, sampled(data, min(pairs, DRAWN))


def _workload(path: Path) -> Path:
    """Where the trips of a road network are, if it has any."""
    return path.with_suffix('.workload.npz')


def _stored(path: Path, pairs: int) -> Queries:
    file = np.load(path)
    names = ('source', 'target', 'optimal_cost')
    return Queries(*(torch.from_numpy(file[name][:pairs]) for name in names))


def _scenario_files(path: Path) -> list[Path]:
    """Those of a map: ``room.map.scen``, ``room-random-1.scen``."""
    return [
        *path.parent.glob(f'{path.name}.scen'),
        *sorted(path.parent.glob(f'{path.stem}-random-*.scen')),
    ]


def _scenarios(path: Path, data: Data, pairs: int) -> Queries:
    found = _scenario_files(path)
    if not found:
        return sampled(data, min(pairs, DRAWN))
    queries = Queries(*read_scenarios(found[0], data))
    # They come from short to long: take them evenly.
    count = min(pairs, queries.cost.numel())
    pick = torch.linspace(0, queries.cost.numel() - 1, count).long()
    return Queries(*(part[pick] for part in queries))


def sampled(data: Data, pairs: int, seed: int = 42) -> Queries:
    """Random queries of a graph."""
    starts, goals = sample_queries(data, pairs, seed=seed)
    return Queries(starts, goals, Dijkstra(data)(starts, goals).cost)


#: Simplify where at least this share of the nodes is taken out.
SIMPLIFIED_SHARE = 0.1


def simplified(data: Data) -> SimplifiedGraph | None:
    """The graph without dead ends and chains, where they are many."""
    try:
        graph = simplify_graph(data)
    except BCMError:
        return None
    share = 1 - graph.node.numel() / data.num_nodes
    return graph if share >= SIMPLIFIED_SHARE else None
