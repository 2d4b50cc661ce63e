"""Readouts, and the planner that runs them in batches."""

from ._landmarks import LandmarkBounds
from ._map_scorer import MapScorer
from .base import BasePlanner, EdgeScores, Readout, Scorer
from .choose_corridor import choose_corridor
from .distributed import plan_distributed
from .plan import Plan
from .plan_turns import plan_turns
from .planner import Planner
from .readouts import (
    Backtracking,
    Beam,
    BestFirst,
    Corridor,
    Greedy,
    Lookahead,
    VisitedGreedy,
)
from .route import Route

__all__ = [
    'Backtracking',
    'BasePlanner',
    'Beam',
    'BestFirst',
    'Corridor',
    'EdgeScores',
    'Greedy',
    'LandmarkBounds',
    'Lookahead',
    'MapScorer',
    'Plan',
    'Planner',
    'Readout',
    'Route',
    'Scorer',
    'VisitedGreedy',
    'choose_corridor',
    'plan_distributed',
    'plan_turns',
]
