"""Graphs on which training once went wrong."""

import math

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from bcm_pyg import BCM, BCMError, FitConfig, Planner, evaluate, fit
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.nn import InteractionEncoder, NodeEncoder
from bcm_pyg.training import SweepTargets
from bcm_pyg.training.objective import ranking_loss
from bcm_pyg.training.targets import _mean_of_known


def finite(model):
    return all(torch.isfinite(p).all() for p in model.parameters())


def test_many_components():
    """Values that no draw knows are NaN, and stay out of the gradient."""
    node = torch.arange(360).view(30, 12)
    tail, head = node[:, :-1].reshape(-1), node[:, 1:].reshape(-1)
    edge_index = to_undirected(torch.stack([tail, head]))
    data = Data(
        pos=torch.rand(360, 2),
        edge_index=edge_index,
        edge_cost=torch.rand(edge_index.size(1)),
    )
    model = BCM.from_data(data)
    history = fit(model, data, FitConfig(steps=12, validations=0))
    assert finite(model)
    assert all(math.isfinite(loss) for loss in history.loss)


def test_few_bootstrap_nodes():
    data = weighted_grid('open', side=5)
    model = BCM.from_data(data)
    targets = SweepTargets(
        num_backups=2, bootstrap_samples=1, bootstrap_nodes=1
    )
    fit(model, data, FitConfig(steps=6, targets=targets))
    assert finite(model)


def test_ranking_gradient_with_unknown_targets():
    scores = torch.rand(4, 2, requires_grad=True)
    target = torch.tensor(
        [[1.0, math.nan], [2.0, 1.0], [math.inf, math.inf], [math.inf, 3.0]]
    )
    row = torch.tensor([0, 0, 1, 1])
    loss = ranking_loss(scores, target, row, 2, temperature=0.5)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(scores.grad).all()
    assert scores.grad[:, 1][:2].tolist() == [0, 0]  # one of them is unknown
    assert scores.grad[:, 0][2:].tolist() == [0, 0]  # no way at all
    assert (scores.grad[:2, 0] != 0).all()


def test_small_islands_do_not_blow_up_the_weights():
    """Blocks with nothing to learn from must not reach the optimiser."""
    grid = weighted_grid('open', side=10, seed=1)
    a = torch.arange(100, 140, 2)
    data = Data(
        pos=torch.cat([grid.pos, torch.rand(40, 2) + 20]),
        edge_cost=torch.cat([grid.edge_cost, torch.ones(40)]),
        edge_index=torch.cat(
            [grid.edge_index, torch.stack([a, a + 1]), torch.stack([a + 1, a])],
            dim=1,
        ),
    )
    model = BCM.from_data(data)
    config = FitConfig(steps=60, validation_queries=0, validations=5)
    assert max(fit(model, data, config).loss) < 5


def test_mean_of_known():
    inf, nan = math.inf, math.nan
    value = torch.tensor([[[1.0], [3.0]], [[inf], [5.0]], [[inf], [inf]]])
    mean = _mean_of_known(value, None)
    torch.testing.assert_close(
        mean, torch.tensor([[2.0], [5.0], [nan]]), equal_nan=True
    )
    reach = torch.tensor([[True], [True], [False]])
    assert _mean_of_known(value, reach).tolist() == [[2.0], [5.0], [inf]]


def test_attributes_of_other_layouts():
    data = Data(
        pos=torch.rand(4, 2),
        edge_index=torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]),
        edge_cost=torch.rand(4),
        face=torch.randint(0, 4, (3, 4)),
        codes=torch.eye(4).to_sparse(),
    )
    model = BCM.from_data(data)
    fit(model, data, FitConfig(steps=2))
    assert finite(model)


def test_a_map_without_a_scale_takes_the_mean_cost():
    data = weighted_grid('open', side=6, costs=(500, 3000))
    model = BCM(encoder=InteractionEncoder([6, 6]))
    fit(model, data, FitConfig(steps=150, validations=0))
    mean = data.edge_cost.mean().item()
    assert float(model.cost_scale) == pytest.approx(mean, rel=1e-4)
    starts, goals = sample_queries(data, 200)
    report = evaluate(Planner(model, data), data, starts, goals)
    assert report.success_rate > 0.95 and report.gap < 15
    fixed = BCM(encoder=InteractionEncoder([6, 6]), cost_scale=7.0)
    fit(fixed, data, FitConfig(steps=1, validations=0))
    assert float(fixed.cost_scale) == 7


def test_a_planner_keeps_the_map_it_was_built_with():
    data = weighted_grid('open', side=6)
    model = BCM.from_data(data)
    fit(model, data, FitConfig(steps=20, validations=0))
    planner = Planner(model, data)
    queries = sample_queries(data, 50)
    before = planner(*queries), planner.distance(*queries)
    fit(model, data, FitConfig(steps=20, validations=0))
    assert torch.equal(planner(*queries).nodes, before[0].nodes)
    assert torch.equal(planner.distance(*queries), before[1])
    assert not torch.equal(Planner(model, data).distance(*queries), before[1])


def test_unwritable_checkpoint_is_found_out_at_once(tmp_path):
    (tmp_path / 'file').write_text('')
    data = weighted_grid('open', side=4)
    model = BCM.from_data(data)
    before = model.encoder.tables[0].detach().clone()
    with pytest.raises(BCMError, match='cannot write the checkpoint'):
        fit(model, data, FitConfig(steps=2), checkpoint=tmp_path / 'file' / 'x')
    assert torch.equal(model.encoder.tables[0], before)


def test_interrupt_in_a_step_leaves_a_sound_checkpoint(tmp_path, monkeypatch):
    from bcm_pyg.training import checkpoint
    from bcm_pyg.training.optim import SOAP

    data = weighted_grid('open', side=5)
    config = FitConfig(
        steps=20, targets=SweepTargets(bootstrap_nodes=5), validations=0
    )
    torch.manual_seed(1)
    whole = BCM.from_data(data)
    stopped = BCM.from_data(data)
    stopped.load_state_dict(whole.state_dict())
    fit(whole, data, config)

    monkeypatch.setattr(checkpoint, 'CHECKPOINT_EVERY', 0.0)
    plain, calls = SOAP._update, []

    def interrupted(self, *args):
        calls.append(args)
        if len(calls) == 75:
            raise KeyboardInterrupt
        plain(self, *args)

    monkeypatch.setattr(SOAP, '_update', interrupted)
    path = tmp_path / 'run'
    assert fit(stopped, data, config, checkpoint=path).interrupted
    fit(stopped, data, config, checkpoint=path)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, stopped.state_dict()[name]), name


def test_directed_half_of_a_graph_is_warned_about():
    data = Data(
        pos=torch.rand(5, 2),
        edge_index=torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]]),
        edge_cost=torch.ones(4),
    )
    with pytest.warns(UserWarning, match='holds both directions'):
        fit(BCM.from_data(data), data, FitConfig(steps=2))


def test_reset_reaches_the_layers_of_a_user_encoder():
    class Mine(NodeEncoder):
        def __init__(self):
            super().__init__()
            self.out_channels = 3
            self.lin = torch.nn.Linear(2, 3)

        def forward(self, data):
            return self.lin(data.pos)

    model = BCM(Mine())
    before = model.encoder.lin.weight.detach().clone()
    model.reset_parameters()
    assert not torch.equal(model.encoder.lin.weight, before)


def test_short_time_budgets_are_for_training():
    data = weighted_grid('ushape', side=20)
    model = BCM.from_data(data)
    history = fit(model, data, FitConfig(time_budget=2.0))
    assert len(history.step) <= 11
    assert len(set(history.step)) == len(history.step)
    assert history.steps > 2 * len(history.step)
