from __future__ import annotations

from abc import abstractmethod

from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.graph import SimplifiedGraph
from bcm_pyg.planning import BasePlanner, EdgeScores, Greedy, Plan, Readout
from bcm_pyg.planning.readouts import resolve_readout


class PotentialPlanner(BasePlanner):
    """Goes where a potential is lowest, by any readout.

    Its method :meth:`score` is a :class:`~bcm_pyg.planning.Scorer`, for a
    :class:`~bcm_pyg.Planner` that gives guarantees beside.

    Args:
        data (torch_geometric.data.Data or SimplifiedGraph): The graph.
        readout (Readout or str, optional): How to turn potentials into routes.
            (default: :class:`~bcm_pyg.planning.Greedy`)
    """

    def __init__(
        self,
        data: Data | SimplifiedGraph,
        readout: Readout | str | None = None,
    ) -> None:
        super().__init__(data)
        self.readout = resolve_readout(readout or Greedy())

    @abstractmethod
    def score(self, nodes: Tensor, goals: Tensor) -> EdgeScores:
        """Potentials of the neighbours of each node, for its goal."""

    def _plan(self, starts: Tensor, goals: Tensor) -> Plan:
        return self.readout(self.score, self.adjacency, starts, goals)
