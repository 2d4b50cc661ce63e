"""Readouts, and the planner that runs them in batches."""

from .greedy import Greedy
from .plan import Plan
from .planner import Planner
from .readout import Readout
from .scorer import Candidates, MapScorer, Scorer
from .visited_greedy import VisitedGreedy
from .walks import plan_of_walks

__all__ = [
    'Candidates',
    'Greedy',
    'MapScorer',
    'Plan',
    'Planner',
    'Readout',
    'Scorer',
    'VisitedGreedy',
    'plan_of_walks',
]
