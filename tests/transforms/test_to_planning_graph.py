import torch
import torch_geometric.transforms as T
from torch_geometric.data import Data

from bcm_pyg import planning_graph
from bcm_pyg.graph import fingerprint
from bcm_pyg.transforms import ToPlanningGraph


def test_to_planning_graph():
    raw = Data(
        place=torch.rand(4, 2),
        edge_index=torch.tensor([[0, 1, 1, 3], [1, 1, 2, 0]]),
        minutes=torch.rand(4),
    )
    keys = raw.keys()
    transform = ToPlanningGraph(cost='minutes', pos='place')
    assert str(transform) == "ToPlanningGraph(cost='minutes', pos='place')"
    data = transform(raw)
    assert raw.keys() == keys and raw.num_edges == 4
    want = planning_graph(raw, cost='minutes', pos='place')
    assert fingerprint(data) == fingerprint(want)
    assert data.num_edges == 3  # without the loop


def test_with_transforms_of_pyg():
    raw = Data(pos=torch.rand(30, 2))
    last = ToPlanningGraph(cost='length')
    data = T.Compose([T.Delaunay(), T.FaceToEdge(), last])(raw)
    tail, head = data.edge_index
    want = (data.pos[tail] - data.pos[head]).norm(dim=1)
    torch.testing.assert_close(data.edge_cost, want)
