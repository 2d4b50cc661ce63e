import numpy as np
import pytest
import torch
from helpers import assert_same_data
from scipy.sparse.csgraph import dijkstra

from bcm_pyg import BCMError, planning_graph
from bcm_pyg.datasets import weighted_grid
from bcm_pyg.utils import Adjacency


def slow_edges(blocked: list[list[bool]]) -> list[list[int]]:
    """All directed edges, cell by cell, in the order of a canonical graph."""
    height, width = len(blocked), len(blocked[0])
    edges = []
    for r in range(height):
        for c in range(width):
            for y, x in ((r - 1, c), (r, c - 1), (r, c + 1), (r + 1, c)):
                if not (0 <= y < height and 0 <= x < width):
                    continue
                if not blocked[r][c] and not blocked[y][x]:
                    edges.append([r * width + c, y * width + x])
    return edges


@pytest.mark.parametrize(
    ('layout', 'side', 'blocked', 'edges'),
    [
        ('ushape', 20, 16, 2 * 20 * 19 - 49),
        ('ushape', 40, 64, 2958),
        ('ushape', 60, 144, 2 * 60 * 59 - 339),
        ('block', 40, 64, 2 * 40 * 39 - 2 * 8 * 7 - 4 * 8),
        ('wall', 40, 39, 2 * 40 * 39 - 39 * 2 - 39),
        ('open', 40, 0, 2 * 40 * 39),
    ],
)
def test_counts(layout, side, blocked, edges):
    data = weighted_grid(layout, side)
    assert data.num_nodes == side * side
    assert int(data.blocked.sum()) == blocked
    assert data.num_edges == 2 * edges
    reached = data.edge_index.unique()
    assert reached.tolist() == (~data.blocked).nonzero().flatten().tolist()


def test_the_papers_grid():
    """What the paper prints: 1,536 free cells and 2,958 edges."""
    data = weighted_grid()
    assert int((~data.blocked).sum()) == 1536
    assert data.num_edges // 2 == 2958
    assert_same_data(data, weighted_grid('ushape', 40, 'wide', seed=42))


def test_golden_mean_distance():
    """All ordered pairs of the U at side 40 (baselines.md, section 5)."""
    data = weighted_grid('ushape', 40, 'uniform')
    distance = dijkstra(Adjacency.from_data(data).to_scipy())
    pairs = np.isfinite(distance) & (distance > 0)
    assert pairs.sum() == 1536 * 1535
    assert distance[pairs].mean() == pytest.approx(28.20, abs=0.005)


def test_nodes_are_cells():
    data = weighted_grid('open', 3)
    assert data.coord.tolist() == [[n // 3, n % 3] for n in range(9)]
    assert data.coord.dtype == torch.long
    assert data.pos.tolist() == data.coord.tolist()
    assert data.pos.dtype == torch.float32
    assert data.edge_index.T.tolist() == slow_edges([[False] * 3] * 3)


def test_is_canonical(grid):
    assert_same_data(planning_graph(grid), grid)


def test_rectangular_mask():
    mask = [[False, True, False, False], [False, False, False, True]]
    for layout in (np.array(mask), torch.tensor(mask), mask):
        data = weighted_grid(layout)
        assert data.num_nodes == 8
        assert data.blocked.tolist() == sum(mask, [])
        assert data.coord[6].tolist() == [1, 2]
        assert data.edge_index.T.tolist() == slow_edges(mask)


def test_one_row_is_a_grid():
    data = weighted_grid(np.zeros((1, 3), dtype=bool), costs='uniform')
    assert data.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]


def test_named_layout_equals_its_mask(grid):
    mask = grid.blocked.reshape(10, 10)
    assert_same_data(weighted_grid(mask, costs='wide', seed=1), grid)
    assert_same_data(weighted_grid(mask, 10, costs='wide', seed=1), grid)


def test_mask_is_copied():
    mask = np.zeros((2, 2), dtype=bool)
    data = weighted_grid(mask)
    data.blocked[0] = True
    assert not mask.any()


@pytest.mark.parametrize(
    ('costs', 'low', 'high'),
    [
        ('uniform', 1, 1),
        ('mild', 1, 3),
        ('wide', 1, 10),
        ((0.25, 0.5), 0.25, 0.5),
        ([0, 0], 0, 0),
    ],
)
def test_one_cost_per_undirected_edge_within_bounds(costs, low, high):
    data = weighted_grid('ushape', 20, costs)
    cost = {
        (i, j): c
        for (i, j), c in zip(
            data.edge_index.T.tolist(), data.edge_cost.tolist(), strict=True
        )
    }
    assert all(cost[j, i] == c for (i, j), c in cost.items())
    assert low <= min(cost.values()) and max(cost.values()) <= high
    span = high - low  # 711 draws fill it, and seldom meet
    assert max(cost.values()) - min(cost.values()) >= 0.98 * span
    assert len(set(cost.values())) > (0.99 * len(cost) / 2 if span else 0)
    assert np.mean(list(cost.values())) == pytest.approx(
        (low + high) / 2, abs=0.05 * span
    )


def test_regimes_are_affine_maps_of_one_draw():
    mild, wide, own = (
        weighted_grid('ushape', 20, costs, seed=3)
        for costs in ('mild', 'wide', (2, 2.5))
    )
    draw = (wide.edge_cost.double() - 1) / 9
    for data, low, span in ((mild, 1, 2), (own, 2, 0.5)):
        torch.testing.assert_close(
            data.edge_cost.double(), low + span * draw, rtol=1e-6, atol=0
        )
        assert torch.equal(data.edge_index, wide.edge_index)


def test_seeds():
    one, same, other = (weighted_grid('open', 9, seed=s) for s in (1, 1, 2))
    assert_same_data(one, same)
    assert torch.equal(one.edge_index, other.edge_index)
    assert (one.edge_cost != other.edge_cost).all()


def test_global_generators_are_left_alone():
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1]
    weighted_grid('open', 9)
    assert torch.equal(torch.get_rng_state(), torch_state)
    assert np.array_equal(np.random.get_state()[1], numpy_state)


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'layout': 'maze'}, "layout must be one of .*got 'maze'"),
        ({'layout': None}, 'layout must be a name or a .*mask'),
        ({'layout': np.zeros((3, 3))}, 'boolean mask .*float64'),
        ({'layout': np.zeros(9, dtype=bool)}, r'boolean mask .*\(9,\)'),
        ({'layout': np.zeros((0, 3), dtype=bool)}, r'non-empty .*\(0, 3\)'),
        ({'layout': [[True], [False, True]]}, 'boolean mask'),
        ({'layout': np.zeros((2, 3), dtype=bool), 'side': 3}, 'not side 3'),
        ({'layout': np.ones((3, 3), dtype=bool)}, 'no edges'),
        ({'layout': np.zeros((1, 1), dtype=bool)}, 'no edges'),
        ({'side': 9}, "'ushape' needs a side of at least 10"),
        ({'side': 40.0}, 'side must be an int'),
        ({'costs': 'steep'}, "costs must be one of .*got 'steep'"),
        ({'costs': (1,)}, r'costs must be \(low, high\)'),
        ({'costs': (1, 2, 3)}, r'costs must be \(low, high\)'),
        ({'costs': 3.0}, r'costs must be \(low, high\)'),
        ({'costs': ('a', 'b')}, r'costs must be \(low, high\)'),
        ({'costs': (2, 1)}, '0 <= low <= high'),
        ({'costs': (-1, 1)}, '0 <= low <= high'),
        ({'costs': (1, float('inf'))}, '0 <= low <= high < inf'),
        ({'costs': (float('nan'), 1)}, '0 <= low <= high'),
        ({'costs': (1e39, 1e39)}, 'edge_cost must be finite in float32'),
        ({'seed': -1}, r'seed must be an int .*got -1'),
        ({'seed': 'x'}, "seed must be an int .*got 'x'"),
    ],
    ids=str,
)
def test_bad_arguments(options, message):
    with pytest.raises(BCMError, match=message):
        weighted_grid(**options)
