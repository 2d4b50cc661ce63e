"""Every example runs with a tiny budget and writes what it says."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(name: str, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, str(ROOT / 'examples' / name), *args],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_ushape(tmp_path):
    out = run(
        'ushape.py',
        *('--side', '10', '--budget', '3', '--queries', '50'),
        *('--out', str(tmp_path)),
    )
    rows = [line for line in out.splitlines() if line.startswith('BCM')]
    assert len(rows) >= 2
    assert 'Dijkstra (exact)   1.000' in out
    assert (tmp_path / 'routes.png').stat().st_size > 10_000
    assert (tmp_path / 'map' / 'config.json').exists()
    assert 'explorer.html in a browser' in out
    assert (tmp_path / 'explorer.html').stat().st_size > 50_000


def test_swap_encoder():
    out = run('swap_encoder.py', '--side', '10', '--budget', '1')
    names = [line.split()[0] for line in out.splitlines()[1:]]
    assert names == ['interaction', 'one_hot', 'k_hot', 'gnn', 'MLPEncoder']


def test_swap_encoder_draws_its_own_encoder_after_the_seed():
    code = f"""
import runpy, sys, bcm_pyg, torch, torch_geometric
torch.rand(3)  # whatever was drawn before
bcm_pyg.fit = lambda *args: None
sys.argv = 'swap_encoder.py --side 10 --queries 5 --seed 7'.split()
own = runpy.run_path({str(ROOT / 'examples' / 'swap_encoder.py')!r})['own']
torch_geometric.seed_everything(7)
again = type(own)(own.span)
for one, two in zip(own.parameters(), again.parameters(), strict=True):
    assert torch.equal(one, two)
"""
    subprocess.run([sys.executable, '-c', code], cwd=ROOT, check=True)


@pytest.mark.parametrize('edges', ['knn', 'delaunay'])
def test_custom_graph(tmp_path, edges):
    out = run(
        'custom_graph.py',
        *('--nodes', '60', '--budget', '2', '--edges', edges),
        *('--out', str(tmp_path)),
    )
    assert 'bins=' in out
    assert (tmp_path / 'routes.png').stat().st_size > 10_000


def test_train_distributed(tmp_path):
    command = [sys.executable, '-m', 'torch.distributed.run', '--standalone']
    script = str(ROOT / 'examples' / 'train_distributed.py')
    done = subprocess.run(
        [*command, '--nproc_per_node=2', script]
        + ['--side', '10', '--steps', '10', '--queries', '50']
        + ['--out', str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('2 processes, 10 steps') == 1
    assert (tmp_path / 'map' / 'config.json').exists()


@pytest.mark.parametrize('path', sorted((ROOT / 'examples').glob('*.py')))
def test_is_short(path):
    assert len(path.read_text().splitlines()) <= 110
