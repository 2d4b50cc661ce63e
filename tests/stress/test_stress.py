"""A slice of every attack of ``make stress``."""

import pytest

from stress import bombs
from stress.__main__ import ATTACKS, run
from stress.disks import can_mount

#: Seconds of a slice; one round at least.
SECONDS = {'queries': 6.0, 'pair': 0.0, 'degrees': 0.0}
#: Too large for a slice: minutes, or gigabytes.
LARGE = {'size', 'caches'}


@pytest.mark.parametrize('name', sorted(ATTACKS.keys() - LARGE))
def test_a_slice(name: str, tmp_path) -> None:
    if name == 'disk' and not can_mount(tmp_path):
        pytest.skip('only root can mount a small disk')
    row = run(name, SECONDS.get(name, 1.5), seed=len(name))
    assert row['count'] > 0
    assert row['first'] == []


@pytest.mark.parametrize(
    'name',
    ['name', 'places', 'long map', 'nodes', 'defaults', 'line', 'saved nodes'],
)
def test_small_files_take_little_memory(name: str, tmp_path) -> None:
    # A twentieth is read in full, 90 bytes an edge.
    assert bombs.explode(name, tmp_path, 0.05) < bombs.MOST / 2


def test_every_bomb_is_small(tmp_path) -> None:
    for name, (file, make, *parts) in bombs.BOMBS.items():
        made = [part(0.01) if callable(part) else part for part in parts]
        make(tmp_path / file, *made)
        assert 0 < (tmp_path / file).stat().st_size < 10**5, name
