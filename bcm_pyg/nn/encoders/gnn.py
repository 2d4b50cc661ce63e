import math
from collections.abc import Sequence
from typing import Any, Self

import torch
import torch_geometric.nn
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import check_int

from .base import NodeEncoder
from .parts.axes import bounds_of, finite_bounds, scaled_positions
from .parts.coincident import occupation_order
from .parts.cost_gnn import CostGNN
from .parts.local_features import (
    edge_features,
    local_features,
    num_edge_features,
    num_local_features,
)

#: More rounds than any GNN has: a damaged file may ask for millions.
MAX_LAYERS = 1000


class GNNEncoder(NodeEncoder):
    r"""Message passing over the neighbourhood of a node,

    .. math::
        \psi(x_n) = [\mathbf{f}_n ; \mathrm{GNN}(\mathbf{f}, \mathcal{E},
        \mathbf{e})_n],

    where :math:`\mathbf{f}_n` are coordinates, waves of them and the local
    structure of a node (degrees, costs and bearings of its edges), and
    :math:`\mathbf{e}` are log costs, affinities and bearings of the edges. Both
    are computed once for a graph. Parameters do not grow with the graph. A
    feature numbers the nodes at one position. Every call encodes the whole
    graph, in :math:`O(N + E)`, even if few nodes are asked for.

    Args:
        bounds (Sequence[Tuple[float, float]]): Lowest and highest position of
            each axis.
        mean_cost (float, optional): The unit :math:`\bar{c}` of costs.
            (default: :obj:`1.0`)
        channels (int, optional): Width of the GNN. (default: :obj:`64`)
        num_layers (int, optional): Rounds of message passing. (default:
            :obj:`3`)
        frequencies (int, optional): Octaves of waves per axis. (default:
            :obj:`6`)
        gnn (str or torch.nn.Module, optional): :obj:`"CostGNN"`
            (:class:`~bcm_pyg.nn.encoders.parts.CostGNN`); the name of a PyG
            model of the :class:`~torch_geometric.nn.models.basic_gnn.BasicGNN`
            family (:obj:`"GCN"`, :obj:`"GraphSAGE"`, :obj:`"GAT"`, ...); or a
            custom module that maps :attr:`in_channels` to
            :obj:`channels`, called as :obj:`gnn(x, edge_index)`. With an
            attribute :obj:`supports_edge_attr` it also gets :obj:`edge_attr`,
            the edge features :obj:`[E, 2 + A]`, and with
            :obj:`supports_edge_weight` also :obj:`edge_weight`, the affinities
            :math:`1 / (1 + c / \bar{c})`. (default: :obj:`"CostGNN"`)
        structure (bool, optional): Whether the local structure of a node is
            among its features. (default: :obj:`True`)

    Shapes:
        - **output:** :math:`(|\mathcal{V}|, F + H)`, with :math:`F` =
          :attr:`in_channels`
    """

    def __init__(
        self,
        bounds: Sequence[Sequence[float]],
        mean_cost: float = 1.0,
        channels: int = 64,
        num_layers: int = 3,
        frequencies: int = 6,
        gnn: str | torch.nn.Module = 'CostGNN',
        structure: bool = True,
    ) -> None:
        super().__init__()
        self.bounds = finite_bounds(bounds)
        if not self.bounds:
            raise BCMError('bounds must name at least one axis')
        if not 0 < mean_cost < math.inf:
            raise BCMError(
                f'mean_cost must be positive and finite (got {mean_cost})'
            )
        check_int('num_layers', num_layers, 1, MAX_LAYERS)
        check_int('channels', channels, 1)
        check_int('frequencies', frequencies, 0)
        if not isinstance(gnn, (str, torch.nn.Module)):
            raise BCMError(
                'gnn must be the name of a PyG model or a torch.nn.Module (got '
                f'{type(gnn).__name__})'
            )
        self.mean_cost = float(mean_cost)
        self.channels = channels
        self.num_layers = num_layers
        self.frequencies = frequencies
        self.structure = bool(structure)
        num_axes = len(self.bounds)
        #: Width of the node features that the GNN gets.
        self.in_channels = num_axes * (1 + 2 * frequencies) + 1
        if structure:
            self.in_channels += num_local_features(num_axes)
        #: Width of the edge features that it gets.
        self.edge_channels = num_edge_features(num_axes)
        self.out_channels = self.in_channels + channels
        self.gnn_name = gnn if isinstance(gnn, str) else None
        sizes = self.in_channels, channels, num_layers, self.edge_channels
        self.gnn = _build(gnn, *sizes) if isinstance(gnn, str) else gnn
        self._known: tuple[Any, ...] | None = None

    @classmethod
    def from_data(cls, data: Data, **kwargs: Any) -> Self:
        """With the bounds and the mean cost of the graph."""
        mean_cost = float(data.edge_cost.double().mean()) or 1.0
        return cls(bounds_of(data.pos), mean_cost, **kwargs)

    def reset_parameters(self) -> None:
        """Resets the parameters of the GNN."""
        self._known = None
        reset = getattr(self.gnn, 'reset_parameters', None)
        if reset is not None:
            reset()

    def features(self, data: Data) -> Tensor:
        """Coordinates in :math:`[-1, 1]`, waves of them, local structure."""
        pos = data.pos
        position = 2 * scaled_positions(pos, self.bounds) - 1
        octave = 2.0 ** torch.arange(self.frequencies, device=pos.device)
        angle = (0.5 * math.pi * position[..., None] * octave).flatten(1)
        order = occupation_order(pos)[:, None].to(pos.dtype)
        parts = [position, angle.sin(), angle.cos(), order.log1p()]
        if self.structure:
            parts.append(local_features(data, self.mean_cost))
        return torch.cat(parts, dim=1)

    def forward(self, data: Data) -> Tensor:
        """Node embeddings :obj:`[N, d_o]`."""
        x, edges = self._features(data)
        return torch.cat([x, self.gnn(x, data.edge_index, **edges)], dim=1)

    def _features(self, data: Data) -> tuple[Tensor, dict[str, Tensor]]:
        """Features of nodes and edges, kept while the graph stays the same."""
        read = data.pos, data.edge_index, data.edge_cost
        # Nothing is kept of what autograd or a compiler is to see, nor of
        # features of a subclass, which may be learned.
        is_plain = type(self).features is GNNEncoder.features and not (
            torch.compiler.is_compiling()
            or torch.is_inference_mode_enabled()
            or any(tensor.requires_grad for tensor in read)
        )
        if is_plain and self._known is not None:
            old, versions, x, edges = self._known
            # Costs may change in place; so may features, by the GNN.
            if versions == _versions(x, edges) and all(map(_equal, old, read)):
                return x, edges
        x, edges = self.features(data), {}
        if getattr(self.gnn, 'supports_edge_attr', False):
            edges['edge_attr'] = edge_features(data, self.mean_cost)
        if getattr(self.gnn, 'supports_edge_weight', False):
            edges['edge_weight'] = 1 / (1 + data.edge_cost / self.mean_cost)
        if is_plain:
            copies = [tensor.clone() for tensor in read]
            self._known = copies, _versions(x, edges), x, edges
        return x, edges

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, '_known': None}

    def config(self) -> dict[str, Any]:
        """The constructor arguments."""
        if self.gnn_name is None:
            raise BCMError(
                'a GNNEncoder with a custom module cannot be saved: subclass '
                'NodeEncoder and register it'
            )
        return {
            'bounds': [list(bound) for bound in self.bounds],
            'mean_cost': self.mean_cost,
            'channels': self.channels,
            'num_layers': self.num_layers,
            'frequencies': self.frequencies,
            'gnn': self.gnn_name,
            'structure': self.structure,
        }


def _equal(old: Tensor, new: Tensor) -> bool:
    is_alike = (old.device, old.dtype) == (new.device, new.dtype)
    return is_alike and torch.equal(old, new)


def _versions(x: Tensor, edges: dict[str, Tensor]) -> list[int]:
    return [tensor._version for tensor in (x, *edges.values())]


def _build(
    name: str, in_channels: int, channels: int, num_layers: int, edge_dim: int
) -> torch.nn.Module:
    if name == 'CostGNN':
        return CostGNN(in_channels, channels, num_layers, edge_dim)
    model = getattr(torch_geometric.nn.models, name, None)
    base = torch_geometric.nn.models.basic_gnn.BasicGNN
    if not (isinstance(model, type) and issubclass(model, base)):
        raise BCMError(
            "gnn must be 'CostGNN' or name a PyG model such as 'GCN', "
            f"'GraphSAGE' or 'GAT' (got {name!r})"
        )
    takes_edges = getattr(model, 'supports_edge_attr', False)
    edges = {'edge_dim': edge_dim} if takes_edges else {}
    try:
        out: torch.nn.Module
        out = model(in_channels, channels, num_layers, **edges)
        return out
    except TypeError as error:
        raise BCMError(
            f'{name} needs more than channels and layers ({error}): build it '
            'and pass the module'
        ) from None
