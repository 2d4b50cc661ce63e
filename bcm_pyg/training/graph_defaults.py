"""Settings of training that depend on the graph."""

from __future__ import annotations

import math
from dataclasses import replace

from bcm_pyg.utils import Adjacency

from .config import FitConfig
from .sweeps import hop_diameter

#: Backups of the default targets as a share of the hop diameter.
SWEEP_SHARE = 0.3

#: Nodes of a draw over the root of the number of nodes. More make the minimum
#: over noisy values too low, fewer make the way over one of them a detour.
SEED_SHARE = 2.4

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
            sweeps = max(2, round(SWEEP_SHARE * diameter))
        backups = sweeps - 1
    if seeds is None:
        sources = int((adjacency.degree() > 0).sum())
        seeds = max(1, round(SEED_SHARE * math.sqrt(sources)))
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
