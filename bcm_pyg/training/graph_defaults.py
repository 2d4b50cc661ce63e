"""Settings of training that depend on the graph."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from bcm_pyg.utils import Adjacency

from .config import FitConfig
from .sweeps import hop_diameter

#: Backups of the default targets as a share of the hop diameter.
SWEEP_SHARE = 0.3
#: The same where costs are heavy-tailed: on roads a value of the map is wrong
#: by more than what the next edges cost.
HEAVY_SWEEP_SHARE = 0.6
#: The 95th percentile of such costs over the 5th.
HEAVY_SPREAD = 10.0

#: Nodes of a draw over the root of the number of nodes. More make the minimum
#: over noisy values too low, fewer make the way over one of them a detour.
SEED_SHARE = 2.4
#: The same where backups cross half of the graph: then few are no detour.
FEW_SEED_SHARE = 0.6

#: Draws of a goal, and steps between renewals of goals, where they are cheap.
DRAWS, RENEW_EVERY = 4, 8

#: Values that the backups of a step may touch: a third of the time of a step.
#: Beyond, on graphs of many thousand nodes, draws become fewer first. A quarter
#: of it left the values of long mazes far too low: what is known of a goal
#: spreads by renewals.
MAX_SWEPT = 2**24


def resolve_config(config: FitConfig, adjacency: Adjacency) -> FitConfig:
    """The configuration with what depends on the graph filled in."""
    sweeps, seeds = config.sweeps, config.seeds
    diameter = hop_diameter(adjacency)
    backups = 0
    if config.targets == 'paper':
        sweeps = 1
    elif config.targets == 'exact':
        backups = diameter  # until convergence
    else:
        if sweeps is None:
            share = _sweep_share(config, adjacency, diameter)
            sweeps = max(2, round(share * diameter))
        backups = sweeps - 1
    if seeds is None:
        share = FEW_SEED_SHARE if 2 * (sweeps or 0) > diameter else SEED_SHARE
        sources = int((adjacency.degree() > 0).sum())
        seeds = max(1, round(share * math.sqrt(sources)))
    swept = max(1, backups * adjacency.num_edges * config.renew)  # a draw
    draws, renew_every = config.draws, config.renew_every
    if draws is None:
        most = RENEW_EVERY * MAX_SWEPT // swept
        draws = max(1, min(DRAWS, most)) if config.targets == 'sweeps' else 1
    if renew_every is None:
        swept *= draws if config.targets == 'sweeps' else 1
        renew_every = max(RENEW_EVERY, math.ceil(swept / MAX_SWEPT))
    return replace(
        config,
        sweeps=sweeps,
        seeds=seeds,
        draws=draws,
        renew_every=renew_every,
    )


def _sweep_share(
    config: FitConfig, adjacency: Adjacency, diameter: int
) -> float:
    """By the spread of costs, if more backups leave goals their renewals."""
    low, high = np.quantile(adjacency.cost.cpu().numpy(), [0.05, 0.95])
    swept = HEAVY_SWEEP_SHARE * diameter * adjacency.num_edges * config.renew
    is_cheap = swept <= RENEW_EVERY * MAX_SWEPT  # with one draw
    is_heavy = high > HEAVY_SPREAD * low
    return HEAVY_SWEEP_SHARE if is_heavy and is_cheap else SWEEP_SHARE
