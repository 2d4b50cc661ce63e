"""The explorers that the site shows: a grid, and streets of a made-up town."""

from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import CognitiveMap, planning_graph
from bcm_pyg.datasets import weighted_grid


def write_pages(folder: Path, budget: float = 8) -> None:
    """Learns both maps for some seconds and writes their explorers."""
    folder.mkdir(parents=True, exist_ok=True)
    grid = weighted_grid('ushape', side=20, costs='wide', seed=42)
    settings = {'snapshots': 4, 'progress': False}
    atlas = CognitiveMap.learn(grid, budget, **settings)
    atlas.explore(folder / 'grid.html', title='A weighted U-shape')
    atlas = CognitiveMap.learn(streets(9, 3), budget, **settings)
    atlas.explore(folder / 'streets.html', title='A made-up town', unit='s')


def streets(side: int, seed: int) -> Data:
    """Crossings of a bent grid, joined by streets with bends. Some have nodes
    on their way, some are one-way, and some dead ends branch off.
    """
    generator = torch.Generator().manual_seed(seed)

    def random(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator)

    row, column = torch.meshgrid(
        torch.arange(side), torch.arange(side), indexing='ij'
    )
    place = torch.stack([column, row], dim=2).view(-1, 2) * 100.0
    points = list(place + 70 * random(side * side, 2))
    node = torch.arange(side * side).view(side, side)
    along = zip(node[:, :-1].flatten(), node[:, 1:].flatten(), strict=True)
    across = zip(node[:-1].flatten(), node[1:].flatten(), strict=True)
    edges: list[tuple[int, int]] = []
    for one, two in [*along, *across]:
        if float(random(1)) < 0.12:
            continue
        chain = [int(one)]
        for share in (1 / 3, 2 / 3)[: int(3 * random(1))]:
            shift = 20 * random(2)
            points.append(torch.lerp(points[one], points[two], share) + shift)
            chain.append(len(points) - 1)
        chain.append(int(two))
        edges += zip(chain, chain[1:], strict=False)
        if float(random(1)) < 0.8:
            edges += zip(chain[1:], chain, strict=False)
        if float(random(1)) < 0.3:  # a dead end
            points.append(points[chain[-2]] + 60 * random(2) - 20)
            last = len(points) - 1
            edges += [(chain[-2], last), (last, chain[-2])]
    pos = torch.stack(points)
    tail, head = torch.tensor(edges).T
    step = pos[head] - pos[tail]
    speed = 5 + 10 * random(len(edges))  # metres a second
    # A bend to one side, the same one in both directions.
    bend = 0.12 * torch.where(tail < head, 1.0, -1.0)[:, None]
    beside = bend * torch.stack([-step[:, 1], step[:, 0]], dim=1)
    count = torch.arange(len(edges))
    return planning_graph(
        Data(
            pos=pos,
            edge_index=torch.stack([tail, head]),
            edge_cost=step.norm(dim=1) / speed,
            bends=((pos[tail] + pos[head]) / 2 + beside)[None],
            edge_bends=torch.stack([count, count + 1], dim=1),
        )
    )
