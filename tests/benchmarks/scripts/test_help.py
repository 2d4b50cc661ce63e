"""Every script says what it does, at once."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPTS = sorted(
    path.stem
    for path in (ROOT / 'benchmarks' / 'scripts').glob('*.py')
    if path.stem != '__init__'
)


def test_there_are_scripts() -> None:
    assert {'table1_quality', 'figure1_paths', 'render'} <= set(SCRIPTS)


@pytest.mark.parametrize('name', SCRIPTS)
def test_help(name: str) -> None:
    """Well below three seconds of CPU time: torch alone takes more than one."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, '-m', f'benchmarks.scripts.{name}', '--help'],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert spent < 1.5
    source = (ROOT / 'benchmarks' / 'scripts' / f'{name}.py').read_text()
    first = source.removeprefix('"""').partition('\n')[0]
    assert first in done.stdout
    assert 'options:' in done.stdout
