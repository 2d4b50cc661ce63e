import torch
import torch_geometric.transforms as T

from bcm_pyg import BCM, Planner
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.datasets import ToyStreets, sample_queries
from bcm_pyg.graph import fingerprint, simplify_graph
from bcm_pyg.transforms import SimplifyGraph


def test_simplify_graph():
    raw = ToyStreets()[0]
    assert str(SimplifyGraph()) == 'SimplifyGraph()'
    data = T.Compose([SimplifyGraph()])(raw)
    want = simplify_graph(raw)
    assert fingerprint(data) == fingerprint(want.data)
    assert 'simplified' not in raw and 'simplified' not in data.simplified.data
    assert torch.equal(data.simplified.node, want.node)
    assert data.clone().to('cpu').simplified.full.num_nodes == raw.num_nodes


def test_planners_answer_on_the_full_graph():
    raw = ToyStreets()[0]
    data = SimplifyGraph()(raw)
    starts, goals = sample_queries(raw, 20, seed=1)
    exact = Dijkstra(raw)(starts, goals).cost
    plan = Dijkstra(data.simplified)(starts, goals)
    torch.testing.assert_close(plan.cost, exact, rtol=1e-5, atol=0)
    model = BCM.from_data(data, hidden_channels=16)
    plan = Planner(model, data.simplified)(starts, goals)
    assert bool((plan.cost >= exact - 1e-4).all())
