"""The graph contract as PyG transforms, for :obj:`T.Compose` and datasets."""

from .simplify_graph import SimplifyGraph
from .to_planning_graph import ToPlanningGraph

__all__ = ['SimplifyGraph', 'ToPlanningGraph']
