"""Streets of a made-up town."""

import torch
from torch_geometric.data import Data

from bcm_pyg import planning_graph


def streets(side: int, seed: int) -> Data:
    """Crossings of a bent grid, with chains between them, dead ends, and some
    streets that are one-way.
    """
    generator = torch.Generator().manual_seed(seed)

    def random(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, generator=generator)

    row, column = torch.meshgrid(
        torch.arange(side), torch.arange(side), indexing='ij'
    )
    pos = torch.stack([column, row], dim=2).view(-1, 2) * 100.0
    points = list(pos + 60 * random(side * side, 2))
    node = torch.arange(side * side).view(side, side)
    pairs = [
        *zip(node[:, :-1].flatten(), node[:, 1:].flatten(), strict=True),
        *zip(node[:-1].flatten(), node[1:].flatten(), strict=True),
    ]
    edges: list[tuple[int, int]] = []
    for one, two in pairs:
        chain = [int(one)]
        for share in (1 / 3, 2 / 3)[: int(3 * random(1))]:
            bend = 20 * random(2)
            points.append(torch.lerp(points[one], points[two], share) + bend)
            chain.append(len(points) - 1)
        chain.append(int(two))
        edges += zip(chain, chain[1:], strict=False)
        if float(random(1)) < 0.8:
            edges += zip(chain[1:], chain, strict=False)
        if float(random(1)) < 0.3:  # a dead end
            points.append(points[chain[-2]] + 30 * random(2))
            edges += [
                (chain[-2], len(points) - 1),
                (len(points) - 1, chain[-2]),
            ]
    place = torch.stack(points)
    tail, head = torch.tensor(edges).T
    cost = (place[head] - place[tail]).norm(dim=1) * (0.5 + random(len(edges)))
    data = Data(pos=place, edge_index=torch.stack([tail, head]))
    data.edge_cost = cost
    return planning_graph(data)
