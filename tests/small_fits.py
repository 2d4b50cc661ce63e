"""Maps and runs so small that a test may have many."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from torch_geometric.data import Data

from bcm_pyg import BCM, FitConfig, planning_graph
from bcm_pyg.nn import Transition, encoder_resolver
from bcm_pyg.training import Targets
from bcm_pyg.training.targets import TARGETS

KINDS = ['sweeps', 'paper', 'exact']


def targets_of(kind: str, **settings: Any) -> Targets:
    """Targets by name, with those of the settings that they have."""
    known = {field.name for field in fields(TARGETS[kind])}
    chosen = {key: settings[key] for key in settings if key in known}
    return TARGETS[kind](**chosen)


def tiny(targets: str = 'sweeps', **kwargs: Any) -> FitConfig:
    """A configuration whose steps take a few milliseconds."""
    chosen = {
        'targets': targets_of(targets, goal_pool=8, refresh=4, refresh_every=2),
        'sources': 8,
        'goals': 4,
        'validation_queries': 4,
        'validations': 1,
    }
    return FitConfig(**{**chosen, **kwargs})


def small_map(
    data: Data, encoder: str = 'interaction', terminal: str = 'calibrated'
) -> BCM:
    data = planning_graph(data)
    module = encoder_resolver(encoder, data)
    transition = Transition(module.out_channels, 32, 32)
    scale = float(data.edge_cost.mean())
    return BCM(module, transition, terminal, cost_scale=scale)


def weights(model: BCM) -> dict[str, list[Any]]:
    return {name: value.tolist() for name, value in model.state_dict().items()}


def is_finite(model: BCM) -> bool:
    return all(bool(p.isfinite().all()) for p in model.parameters())
