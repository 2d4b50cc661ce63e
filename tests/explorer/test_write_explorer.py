import json
import re
from importlib.resources import files

import numpy as np
import pytest
import torch
from page_twin import page_map
from small_fits import small_map, tiny
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, CognitiveMap, Planner, fit
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.explorer import write_explorer
from bcm_pyg.explorer.export import MAX_NODES
from bcm_pyg.graph import simplify_graph
from docs.explorers import write_pages

HOSTILE = ['</script><script>alert(1)</script>', '"\'><img src=x>', '\u202eabc']


def about_of(path):
    text = path.read_text()
    found = re.search(r'id="about">(.*?)</script>', text, re.S)
    return json.loads(found[1])


@pytest.fixture(scope='module')
def grid():
    data = weighted_grid('ushape', 10, 'wide', 1)
    return data, small_map(data)


def test_page(grid, tmp_path):
    path = tmp_path / 'page.html'
    data, model = grid
    write_explorer(path, model, data, title='U', unit='min', readout='greedy')
    about = about_of(path)
    assert (about['title'], about['unit']) == ('U', 'min')
    assert about['readout'] == 'greedy'
    assert about['size'] == 100
    assert about['cells'] and about['calibrated']
    assert [one['label'] for one in about['maps']] == ['']
    assert about['start'] != about['goal']
    # No server and no network.
    assert not re.search(r'(src|href)="(?!data:)', path.read_text())
    assert list(tmp_path.iterdir()) == [path]


def test_ends_and_snapshots(grid, tmp_path):
    data, model = grid
    path = tmp_path / 'page.html'
    snapshots = [('10 steps', model), ('<b>', model)]
    write_explorer(path, model, data, snapshots=snapshots, start=3, goal=9)
    about = about_of(path)
    assert (about['start'], about['goal']) == (3, 9)
    labels = [one['label'] for one in about['maps']]
    assert labels == ['10 steps', '<b>', 'trained']
    write_explorer(path, model, data, goal=0)
    assert about_of(path)['start'] == 99


def test_hostile_text_is_no_markup(grid, tmp_path):
    data, model = grid
    path = tmp_path / 'page.html'
    names = [f'{HOSTILE[n % 3]} {n}' for n in range(100)]
    names[5] = 'half a pair \ud800'
    title = ' '.join(HOSTILE)
    write_explorer(path, model, data, names=names, title=title, unit=HOSTILE[0])
    text = path.read_text()
    assert 'alert(1)</script>' not in text and '<img' not in text
    assert '\u202e' not in text
    assert about_of(path)['title'] == title


def test_small(tmp_path):
    data = weighted_grid('ushape', 40, 'wide', 42)
    path = tmp_path / 'page.html'
    write_explorer(path, BCM.from_data(data, hidden_channels=128), data)
    assert path.stat().st_size < 150_000


def test_a_map_of_5000_nodes_takes_a_megabyte(tmp_path):
    generator = torch.Generator().manual_seed(0)
    size = 5000
    pos = torch.rand(size, 2, generator=generator) * 1e4
    tail = torch.randint(size, (6250,), generator=generator)
    head = torch.randint(size, (6250,), generator=generator)
    edges = torch.stack([torch.cat([tail, head]), torch.cat([head, tail])])
    cost = torch.rand(6250, generator=generator).repeat(2)
    data = Data(pos=pos, edge_index=edges, edge_cost=cost)
    path = tmp_path / 'page.html'
    write_explorer(path, BCM.from_data(data, hidden_channels=128), data)
    assert path.stat().st_size < 1_000_000


def test_too_large(tmp_path):
    size = MAX_NODES + 1
    line = torch.arange(size - 1)
    data = Data(
        pos=torch.rand(size, 2),
        edge_index=torch.stack([line, line + 1]),
        edge_cost=torch.ones(size - 1),
    )
    path = tmp_path / 'page.html'
    model = small_map(weighted_grid('open', 3))
    with pytest.raises(BCMError, match=r'at most 50,000 nodes.*got 50,001'):
        write_explorer(path, model, data)
    assert not path.exists()


@pytest.mark.parametrize(
    ('settings', 'message'),
    [
        ({'readout': 'beam'}, 'readout'),
        ({'names': ['a']}, 'names must have an entry for each of 100 nodes'),
        ({'ground': torch.ones(3)}, 'ground must hold a finite number'),
        ({'ground': np.full(100, np.nan)}, 'ground must hold a finite number'),
        ({'start': 100}, 'start'),
        ({'snapshots': [('a', 5)]}, 'snapshots must be pairs'),
    ],
)
def test_errors(grid, tmp_path, settings, message):
    data, model = grid
    path = tmp_path / 'page.html'
    with pytest.raises(BCMError, match=message):
        write_explorer(path, model, data, **settings)
    assert list(tmp_path.iterdir()) == []


def test_wrong_model_and_path(grid, tmp_path):
    data, model = grid
    with pytest.raises(BCMError, match='model must be a BCM'):
        write_explorer(tmp_path / 'x.html', data, data)
    with pytest.raises(BCMError, match='cannot write'):
        write_explorer(tmp_path / 'no' / 'x.html', model, data)


def test_page_map_scores_like_the_map(grid):
    data, model = grid
    fit(model, data, tiny(steps=20, validation_queries=0))
    starts, goals = sample_queries(data, 50, seed=0)
    wanted = Planner(model, data).distance(starts, goals)
    found = Planner(page_map(model, data), data).distance(starts, goals)
    error = (found - wanted).abs() / wanted.abs().mean()
    assert float(error.max()) < 0.05
    again = page_map(model, data)
    assert torch.equal(
        again.project_nodes(data), page_map(model, data).project_nodes(data)
    )


def test_simplified(tmp_path, comb):
    graph = simplify_graph(comb)
    model = small_map(graph.data)
    path = tmp_path / 'page.html'
    write_explorer(path, model, graph)
    about = about_of(path)
    assert about['size'] == comb.num_nodes
    assert 'forced' in [entry[0] for entry in about['arrays']]
    nodes = page_map(model, graph).project_nodes(graph.data)
    assert nodes.size(0) == graph.node.numel()


def test_pages_of_the_site(tmp_path):
    write_pages(tmp_path, budget=2)
    grid = about_of(tmp_path / 'grid.html')
    assert grid['cells'] and len(grid['maps']) > 1
    town = about_of(tmp_path / 'streets.html')
    arrays = [entry[0] for entry in town['arrays']]
    assert {'bend_x', 'forced'} <= set(arrays)


def test_files_are_shipped():
    names = {entry.name for entry in files('bcm_pyg.explorer').iterdir()}
    assert names >= {'template.html', 'explorer.css', 'kernel.wasm', 'map.js'}


def test_cognitive_map(tmp_path, comb):
    config = tiny(steps=4, validation_queries=4, validations=2)
    atlas = CognitiveMap.learn(comb, config=config, snapshots=2)
    path = tmp_path / 'page.html'
    names = atlas.names
    atlas.explore(path, title='comb', start=names[3], goal=names[0])
    about = about_of(path)
    assert about['title'] == 'comb'
    assert (about['start'], about['goal']) == (3, 0)
    assert len(about['maps']) == len(atlas.snapshots)


def test_nothing_to_explore(tmp_path):
    line = torch.arange(3)
    tree = Data(
        pos=torch.rand(4, 2),
        edge_index=torch.stack(
            [torch.cat([line, line + 1]), torch.cat([line + 1, line])]
        ),
        edge_cost=torch.ones(6),
    )
    with pytest.raises(BCMError, match='no map to explore'):
        CognitiveMap.learn(tree).explore(tmp_path / 'page.html')
