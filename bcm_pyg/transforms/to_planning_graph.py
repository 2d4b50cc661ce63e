from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from bcm_pyg.graph import planning_graph


class ToPlanningGraph(BaseTransform):  # type: ignore[misc]
    """Turns a graph into a canonical planning graph (functional name:
    :func:`~bcm_pyg.planning_graph`).

    Args:
        cost (str or torch.Tensor, optional): Where costs are. (default:
            :obj:`None`)
        pos (str or torch.Tensor, optional): Where coordinates are. (default:
            :obj:`None`)
    """

    def __init__(
        self,
        cost: str | Tensor | None = None,
        pos: str | Tensor | None = None,
    ) -> None:
        self.cost = cost
        self.pos = pos

    def forward(self, data: Data) -> Data:
        """The canonical graph."""
        return planning_graph(data, self.cost, self.pos)

    def __repr__(self) -> str:
        return f'{type(self).__name__}(cost={self.cost!r}, pos={self.pos!r})'
