"""Times and memory that are promised, measured each in a process of its own."""

from __future__ import annotations

import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch_geometric.data import Data

from bcm_pyg import BCM, FitConfig, fit, planning_graph

from .bombs import BOMBS, explode, peak_memory
from .kernels import star

#: Rows of the table of a node encoder.
ROWS = 60_000


class Limit(NamedTuple):
    """What is measured, in which unit, and what it may be."""

    what: str
    unit: str
    most: float
    measure: Callable[[], float]


def budget_on_a_star(leaves: int) -> float:
    """Seconds that training takes with a budget of 2."""
    ends = star(leaves - 1)
    model, data = _model_of(ends, leaves, None)

    def train() -> float:
        began = time.perf_counter()
        fit(model, data, FitConfig(time_budget=2))
        return time.perf_counter() - began

    fit(model, data, FitConfig(steps=1))  # compiles, and imports
    return _in_a_copy(train)


def first_step_of_a_table() -> float:
    """MB that the first step takes above one of Adam."""
    line = torch.arange(ROWS - 1)
    ends = torch.stack([line, line + 1])
    model, data = _model_of(ends, ROWS, 'interaction+node_table')

    def train(optimizer: str) -> float:
        config = FitConfig(steps=1, validation_queries=0, optimizer=optimizer)
        before = peak_memory(anew=True)
        fit(model, data, config)
        return peak_memory() - before

    soap, adam = (_in_a_copy(partial(train, x)) for x in ('soap', 'adam'))
    return soap - adam


def worst_bomb() -> float:
    """MB that the worst of all small files takes, in full and in part."""
    with tempfile.TemporaryDirectory() as folder:
        return max(
            explode(name, Path(folder), size)
            for name in BOMBS
            for size in (1.0, 0.3)
        )


LIMITS = {
    'star': Limit(
        'training with `time_budget=2` on a star of 3,000 nodes',
        's',
        4,
        partial(budget_on_a_star, 3000),
    ),
    'large_star': Limit(
        'the same on a star of 10,000 nodes',
        's',
        6,
        partial(budget_on_a_star, 10_000),
    ),
    'table': Limit(
        'first step on a table of 60,000 rows, above that of Adam',
        'MB',
        300,
        first_step_of_a_table,
    ),
    'bombs': Limit(
        f'reading the worst of {2 * len(BOMBS)} small files of much content',
        'MB',
        1024,
        worst_bomb,
    ),
}


def measured() -> Iterator[dict[str, Any]]:
    """A row of each limit."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        for name, limit in LIMITS.items():
            value = round(limit.measure(), 2)
            row = {'name': name, 'what': limit.what, 'unit': limit.unit}
            yield {**row, 'value': value, 'most': limit.most}


def _model_of(
    ends: torch.Tensor, size: int, encoder: str | None
) -> tuple[BCM, Data]:
    torch.manual_seed(0)
    ends = torch.cat([ends, ends.flip(0)], 1)
    data = planning_graph(
        Data(
            pos=torch.rand(size, 2),
            edge_index=ends,
            edge_cost=torch.rand(ends.size(1)),
        )
    )
    return BCM.from_data(data, encoder), data


def _in_a_copy(work: Callable[[], float]) -> float:
    """What a copy of this process returns."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writer, json.dumps(work()).encode())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader, 'rb') as file:
        content = file.read()
    os.waitpid(pid, 0)
    return float(json.loads(content or b'Infinity'))
