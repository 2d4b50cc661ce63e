"""The real graphs beside the checkout, with their own queries."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import sample_queries
from bcm_pyg.graph import (
    from_occupancy,
    read_movingai,
    read_npz,
    read_scenarios,
)
from benchmarks.lib.results import FOLDER

DATA = Path(
    os.environ.get('BCM_PYG_DATA', FOLDER.parent.parent / 'shared' / 'data')
)

#: Path below the data folder, nodes (to choose by), seconds of training.
GRAPHS: dict[str, tuple[str, int, float]] = {
    'scigrid_de': ('other/scigrid_de.npz', 585, 600),
    'helsinki_centre': ('road/helsinki_centre.npz', 847, 600),
    'chicago_sketch': ('road/chicago_sketch.npz', 933, 600),
    'andorra': ('road/andorra.npz', 1697, 600),
    'arena': ('grid/arena.map', 2054, 600),
    'den312d': ('grid/den312d.map', 2445, 600),
    'melun': ('road/melun.npz', 3023, 600),
    'room-64-64-8': ('grid/room-64-64-8.map', 3232, 600),
    'random-64-64-20': ('grid/random-64-64-20.map', 3270, 600),
    'goldcoast': ('road/goldcoast.npz', 3698, 600),
    'AR0044SR': ('grid/AR0044SR.map', 5638, 600),
    'lak507d': ('grid/lak507d.map', 4360, 600),
    'maze-32-32-4': ('grid/maze-32-32-4.map', 790, 600),
    'warehouse': ('grid/warehouse-10-20-10-2-1.map', 5699, 600),
    'ht_chantry': ('grid/ht_chantry.map', 7461, 600),
    'w_jinan': ('road/w_jinan.npz', 8908, 600),
    'chicago_regional': ('road/chicago_regional.npz', 11180, 600),
    'berlin_matsim': ('road/berlin_matsim.npz', 11566, 600),
    'lak303d': ('grid/lak303d.map', 14784, 600),
    'maze-128-128-10': ('grid/maze-128-128-10.map', 14818, 600),
    'jacksboro_tobler': ('terrain/jacksboro_tobler.npz', 16384, 600),
    'malta': ('road/malta.npz', 21595, 600),
    'Simple_coarse4': ('voxel/Simple_coarse4.npz', 24021, 600),
    'willow_garage': ('other/willow_garage_20cm.npz', 24307, 600),
    'sydney': ('road/sydney.npz', 29405, 600),
    'Berlin_1_256': ('grid/Berlin_1_256.map', 47540, 1800),
    'Boston_2_256': ('grid/Boston_2_256.map', 48617, 1800),
    'malta_full': ('road/malta_full.npz', 57674, 1800),
    'AR0011SR': ('grid/AR0011SR.map', 120458, 1800),
    'Complex_coarse4': ('voxel/Complex_coarse4.npz', 123584, 1800),
    'seattle_length': ('road/seattle_length.npz', 147063, 1800),
    'rome_length': ('road/rome_length.npz', 231550, 1800),
}

#: Scenarios of game maps have many short routes: half of the sources are drawn
#: near to a goal.
SCENARIOS: dict[str, Any] = {'near': 0.5}
#: Trips on roads even more so, and their distances are asked for. A source is
#: near to one goal of its step, so fewer goals make more of the pairs near.
TRIPS: dict[str, Any] = {'near': 0.8, 'sources': 128, 'goals': 8}


class Queries(NamedTuple):
    """Queries of a graph and what the best routes cost."""

    starts: Tensor
    goals: Tensor
    cost: Tensor


def load(name: str, pairs: int) -> tuple[Data, Queries]:
    """A graph and at most :obj:`pairs` of its own queries."""
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
        return data, _sampled(data, min(pairs, 200))
    data = read_npz(path)
    for there in (_workload(path), path.with_suffix('.queries.npz')):
        if there.exists():
            return data, _stored(there, pairs)
    return data, _sampled(data, min(pairs, 200))


def sampling(name: str) -> dict[str, Any]:
    """Settings of training where a graph's own queries are not drawn evenly."""
    path = DATA / GRAPHS[name][0]
    if _workload(path).exists():
        return TRIPS
    return SCENARIOS if _scenario_files(path) else {}


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
        return _sampled(data, min(pairs, 200))
    queries = Queries(*read_scenarios(found[0], data))
    # They come from short to long: take them evenly.
    count = min(pairs, queries.cost.numel())
    pick = torch.linspace(0, queries.cost.numel() - 1, count).long()
    return Queries(*(part[pick] for part in queries))


def _sampled(data: Data, pairs: int) -> Queries:
    starts, goals = sample_queries(data, pairs, seed=42)
    return Queries(starts, goals, Dijkstra(data)(starts, goals).cost)
