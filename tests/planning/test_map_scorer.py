from __future__ import annotations

import pytest
import torch
from helpers import ALL_ENCODERS, integer_map, out_edges, score_table
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, planning_graph
from bcm_pyg.nn import scoring
from bcm_pyg.planning import MapScorer, _map_scorer
from bcm_pyg.utils import Adjacency

TERMINALS = ['calibrated', 'paper']


def make_scorer(model: BCM, data: Data) -> MapScorer:
    return MapScorer(model, data, Adjacency.from_data(data))


def every_query(data: Data) -> tuple[torch.Tensor, torch.Tensor]:
    nodes = torch.arange(data.num_nodes)
    return nodes.repeat_interleave(data.num_nodes), nodes.repeat(data.num_nodes)


@pytest.mark.parametrize('terminal', TERMINALS)
@pytest.mark.parametrize('encoder', ALL_ENCODERS)
def test_edge_scores(diamond: Data, encoder: str, terminal: str) -> None:
    model = BCM.from_data(diamond, encoder, terminal)
    table = score_table(model, diamond)
    nodes, goals = every_query(diamond)
    ways = make_scorer(model, diamond)(nodes, goals)
    expected = [
        (row, edge, table[edge][goal])
        for row, (node, goal) in enumerate(zip(nodes, goals, strict=True))
        for edge, _ in out_edges(diamond)[node]
    ]
    assert ways.source.tolist() == [row for row, _, _ in expected]
    assert ways.edge.tolist() == [edge for _, edge, _ in expected]
    scores = torch.tensor([score for _, _, score in expected])
    torch.testing.assert_close(ways.score, scores, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ('terminal', 'last'), [('calibrated', 1), ('paper', 0)]
)
def test_terminal_convention(diamond: Data, terminal: str, last: int) -> None:
    model = BCM.from_data(diamond, 'one_hot', terminal)
    model.cost_scale.fill_(5.0)
    ways = make_scorer(model, diamond)(torch.tensor([0]), torch.tensor([2]))
    assert ways.edge.tolist() == [0, 1]
    assert float(ways.score[1]) == last  # the edge 0 -> 2 costs 5


def test_nodes_without_ways(diamond: Data) -> None:
    score = make_scorer(BCM.from_data(diamond), diamond)
    ways = score(torch.tensor([4, 1, 4]), torch.tensor([0, 0, 0]))
    assert ways.source.tolist() == [1]
    assert ways.edge.tolist() == [2]
    ways = score(torch.tensor([4]), torch.tensor([0]))
    assert ways.score.shape == ways.edge.shape == ways.source.shape == (0,)


@pytest.mark.parametrize('terminal', TERMINALS)
@pytest.mark.parametrize('max_rows', [1, 3, 7])
def test_chunks(
    grid: Data, terminal: str, max_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = integer_map(grid, 'interaction', terminal, seed=0)
    score = make_scorer(model, grid)
    nodes, goals = torch.randint(100, (2, 40))
    whole = score(nodes, goals)
    value, matrix = score.values(nodes, goals), score.value_matrix(nodes, goals)
    monkeypatch.setattr(_map_scorer, 'MAX_ROWS', max_rows)
    monkeypatch.setattr(scoring, 'MAX_ROWS', max_rows)
    for one, two in zip(whole, score(nodes, goals), strict=True):
        assert one.tolist() == two.tolist()
    assert score.values(nodes, goals).tolist() == value.tolist()
    assert score.value_matrix(nodes, goals).tolist() == matrix.tolist()


@pytest.mark.parametrize('terminal', TERMINALS)
def test_values_are_minima_in_units_of_the_graph(
    diamond: Data, terminal: str
) -> None:
    model = integer_map(diamond, 'one_hot', terminal, 1, cost_scale=2.0)
    score = make_scorer(model, diamond)
    table, ways = score_table(model, diamond), out_edges(diamond)
    expected = [
        [
            0.0
            if node == goal
            else float('inf')  # node 4 is isolated
            if goal == 4
            else 2.0
            * min(
                (table[edge][goal] for edge, _ in ways[node]),
                default=float('inf'),
            )
            for goal in range(5)
        ]
        for node in range(5)
    ]
    nodes = torch.arange(5)
    assert score.value_matrix(nodes, nodes).tolist() == expected
    assert score.values(*every_query(diamond)).tolist() == sum(expected, [])


def test_hub_of_degree_100() -> None:
    leaf = torch.arange(1, 101)
    spokes = torch.stack([torch.zeros_like(leaf), leaf])
    data = planning_graph(
        Data(
            pos=torch.randn(101, 2),
            edge_index=torch.cat([spokes, spokes.flip(0)], dim=1),
            edge_cost=torch.arange(200).float() + 1,
        )
    )
    model = integer_map(data, 'one_hot', 'calibrated', seed=3)
    score = make_scorer(model, data)
    nodes, goals = torch.tensor([0, 5, 0]), torch.tensor([100, 7, 31])
    ways, table = score(nodes, goals), score_table(model, data)
    assert ways.source.bincount().tolist() == [100, 1, 100]
    row_goal = goals[ways.source].tolist()
    pairs = zip(ways.edge.tolist(), row_goal, strict=True)
    assert ways.score.tolist() == [table[edge][goal] for edge, goal in pairs]
    matrix = score.value_matrix(torch.arange(101), goals)
    every = score.values(torch.arange(101), torch.tensor(31).expand(101))
    assert matrix[:, 2].tolist() == every.tolist()
    assert matrix[0].tolist() == [
        2 * min(table[edge][goal] for edge in range(100))
        for goal in goals.tolist()
    ]


@pytest.mark.parametrize('training', [True, False])
def test_scorer_leaves_the_mode_alone(diamond: Data, training: bool) -> None:
    model = BCM.from_data(diamond).train(training)
    score = make_scorer(model, diamond)
    assert model.training is training
    assert not score.hidden.requires_grad
    assert score.cache_bytes() == 5 * 128 * 4


def test_broken_weights(diamond: Data) -> None:
    names = [name for name, _ in BCM.from_data(diamond).named_parameters()]
    assert len(names) >= 7
    for name in names:
        model = BCM.from_data(diamond)
        with torch.no_grad():
            model.get_parameter(name).view(-1)[0] = float('nan')
        with pytest.raises(BCMError, match='not finite'):
            make_scorer(model, diamond)
