"""A few short rounds of the soak: it works, and leaves nothing behind."""

from __future__ import annotations

import re

import pytest
from helpers import ALL_READOUTS

from benchmarks.scripts import soak


def test_every_readout_is_used() -> None:
    used = {type(readout) for readout in soak.READOUTS}
    assert used == {type(readout) for readout in ALL_READOUTS}


def test_a_short_soak(capsys: pytest.CaptureFixture[str]) -> None:
    flags = '--seconds 0 --warm-up 0 --side 10 --steps 2 --queries 10'
    # So few rounds say nothing of memory, but all of files.
    assert soak.main([*flags.split(), '--bound', '1000']) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    for line in lines[:-1]:
        assert re.search(r'round +\d .* 2 files left  Gap \d', line)
    assert lines[-1].startswith('3 rounds, memory grew by')
    assert lines[-1].endswith('files by 0')


def test_growth() -> None:
    assert soak.growth([5, 3, 4, 9, 9, 9, 7, 8, 9]) == 4
    assert soak.growth([5]) == 0
