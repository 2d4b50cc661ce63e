"""Budgets in CPU seconds, for a machine that has other work to do."""

from __future__ import annotations

import time
from dataclasses import replace

from torch_geometric import seed_everything
from torch_geometric.data import Data

from bcm_pyg import BCM, FitConfig, fit
from bcm_pyg.training import History

#: Steps before those that are timed, and timed ones.
WARM, TIMED = 20, 120


def milliseconds_per_step(model: BCM, data: Data, config: FitConfig) -> float:
    """CPU time of a step of training; the map is drawn anew afterwards."""
    none = {'time_budget': None, 'validation_queries': 0}

    def seconds(steps: int) -> float:
        began = time.process_time()
        fit(model, data, replace(config, steps=steps, **none))
        return time.process_time() - began

    seconds(WARM)  # the first of a process loads what later ones find loaded
    return max(1e-3, 1e3 * (seconds(WARM + TIMED) - seconds(WARM)) / TIMED)


def fit_for_cpu_seconds(
    model: BCM, data: Data, config: FitConfig, seconds: float
) -> tuple[History, float]:
    """Trains for so many steps as take this CPU time, and says what one took.

    The clock of ``FitConfig(time_budget=...)`` is that on the wall, and stands
    for less work the more others run.
    """
    step = milliseconds_per_step(model, data, config)
    seed_everything(config.seed)
    model.reset_parameters()
    steps = max(1, round(1e3 * seconds / step))
    config = replace(config, time_budget=None, steps=steps)
    return fit(model, data, config), step
