"""Memory that was freed is not given back, only to be asked for again."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

COUNT_FAULTS = """
import resource, sys, torch
from bcm_pyg.utils import keep_freed_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def work():  # eight megabytes in pieces, freed together
    parts = [torch.ones(2**18) for _ in range(8)]

if sys.argv[1] == 'keep':
    keep_freed_memory()
for _ in range(10):
    work()
before = faults()
for _ in range(100):
    work()
print(faults() - before)
"""


def faults(mode: str) -> int:
    done = subprocess.run(
        [sys.executable, '-c', COUNT_FAULTS, mode],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.skipif(
    platform.libc_ver()[0] != 'glibc', reason='only glibc learns'
)
def test_no_new_pages_for_freed_memory() -> None:
    pages = 100 * 8 * 2**20 // 4096
    # Else there is nothing to mend. What an import frees may teach glibc, too,
    # if it has to be compiled first: that does not happen again.
    assert any(faults('leave') > pages / 2 for _ in range(3))
    assert faults('keep') < pages / 50
