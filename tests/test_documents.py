"""What the documents show runs, and their tables are up to date."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib
import networkx as nx
import pytest
from helpers import ALL_READOUTS

matplotlib.use('Agg')
import matplotlib.pyplot as plt

from bcm_pyg import BCM, BCMError, Plan, baselines, fit
from bcm_pyg.datasets import weighted_grid

ROOT = Path(__file__).parents[1]


def snippets(name: str) -> list[str]:
    text = (ROOT / name).read_text()
    return re.findall(r'```python\n(.*?)```', text, flags=re.DOTALL)


def test_readme_example(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example = snippets('README.md')[1]
    assert 'side=40' in example and 'time_budget=300' in example
    example = example.replace('side=40', 'side=10')
    example = example.replace('time_budget=300', 'time_budget=1')
    space: dict[str, Any] = {}
    exec(example, space)
    assert isinstance(space['plan'], Plan)
    assert len(space['plan']) == 100
    assert (tmp_path / 'map' / 'config.json').exists()


def test_readme_begins_with_three_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    streets = nx.cycle_graph(['Ayr', 'Bude', 'Crail', 'Deal'])
    streets.add_edge('Ayr', 'Crail')
    streets.add_edge('Bude', 'Deal')
    for number, name in enumerate(streets):
        streets.add_node(name, x=float(number), y=number % 2 + 0.5)
    nx.set_edge_attributes(streets, 1.0, 'length')
    nx.write_graphml(streets, 'streets.graphml')
    example = snippets('README.md')[0]
    assert len([line for line in example.splitlines() if line]) == 3
    example = example.replace('budget=300', 'budget=0')
    exec(example.replace('progress=True', 'progress=False'), {})
    plt.close('all')
    assert (tmp_path / 'route.png').stat().st_size > 1000


def test_encoder_table():
    """Its parameters are those of the maps."""
    text = (ROOT / 'docs' / 'encoders.md').read_text()
    rows = re.findall(r"^\| `'([\w+]+)'`.*$", text, flags=re.MULTILINE)
    assert {'interaction', 'k_hot', 'one_hot', 'gnn'} <= set(rows)
    data = weighted_grid(side=40)
    for name in rows:
        (row,) = re.findall(
            rf"^\| `'{re.escape(name)}'`.*$", text, re.MULTILINE
        )
        assert f' {BCM.from_data(data, name).num_parameters():,} ' in row


def test_tables_are_rendered():
    done = subprocess.run(
        [sys.executable, '-m', 'benchmarks.scripts.render', '--check'],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


PAGES = sorted((ROOT / 'benchmarks' / 'pages').glob('*.md'))


@pytest.mark.parametrize(
    'name',
    ['README.md', 'benchmarks/README.md']
    + [str(path.relative_to(ROOT)) for path in PAGES],
)
def test_no_table_is_typed_by_hand(name):
    """Every number in percent stands in a rendered table, or is a choice."""
    text = (ROOT / name).read_text()
    text = re.sub(r'<!-- table.*?<!-- end -->', '', text, flags=re.DOTALL)
    assert not re.findall(r'\d+(?:\.\d+)? ?%', text)


def test_readme_names_what_there_is():
    text = (ROOT / 'README.md').read_text()
    names = [type(readout).__name__ for readout in ALL_READOUTS]
    names += [name for name in baselines.__all__ if name[0].isupper()]
    names += [path.name for path in (ROOT / 'examples').glob('*.[pi]*')]
    names += ['complete=True', 'epsilon=']
    assert [name for name in names if name not in text] == []


def test_readme_is_short():
    assert len((ROOT / 'README.md').read_text().splitlines()) <= 120


def test_fit_says_what_it_wants():
    data = weighted_grid('open', side=4)
    with pytest.raises(BCMError, match='FitConfig'):
        fit(BCM.from_data(data), data, 5)


def test_every_page_of_the_benchmarks_is_on_the_site():
    pages = {path.name for path in (ROOT / 'benchmarks/pages').glob('*.md')}
    assert pages == {path.name for path in (ROOT / 'docs/pages').glob('*.md')}
    toctree = (ROOT / 'docs/benchmarks.md').read_text().splitlines()
    assert all(f'pages/{name[:-3]}' in toctree for name in pages)
