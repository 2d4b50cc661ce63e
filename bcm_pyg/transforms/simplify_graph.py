import copy

from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from bcm_pyg.graph import simplify_graph


class SimplifyGraph(BaseTransform):  # type: ignore[misc]
    """Removes dead ends and chains (functional name:
    :func:`~bcm_pyg.graph.simplify_graph`).

    A map is trained on the result. Its :obj:`simplified` is the
    :class:`~bcm_pyg.graph.SimplifiedGraph`, with the full graph and the tables
    to go back to it: :obj:`Planner(model, data.simplified)` answers on the full
    graph.
    """

    def forward(self, data: Data) -> Data:
        """The simplified graph."""
        graph = simplify_graph(data)
        out = copy.copy(graph.data)
        out.simplified = graph
        return out
