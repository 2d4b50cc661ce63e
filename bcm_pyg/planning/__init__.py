"""Readouts, and the planner that runs them in batches."""

from .beam import Beam
from .best_first import BestFirst
from .corridor import Corridor
from .decision_planner import DecisionPlanner
from .distributed import plan_distributed
from .greedy import Greedy
from .landmarks import LandmarkBounds
from .lookahead import Lookahead
from .plan import Plan
from .planner import Planner
from .readout import Readout
from .scorer import Candidates, MapScorer, Scorer
from .visited_greedy import VisitedGreedy
from .walks import plan_of_walks

__all__ = [
    'Beam',
    'BestFirst',
    'Candidates',
    'Corridor',
    'DecisionPlanner',
    'Greedy',
    'LandmarkBounds',
    'Lookahead',
    'MapScorer',
    'Plan',
    'Planner',
    'Readout',
    'Scorer',
    'VisitedGreedy',
    'plan_distributed',
    'plan_of_walks',
]
