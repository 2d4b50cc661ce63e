from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn.inits import reset

from bcm_pyg.errors import BCMError


class NodeEncoder(torch.nn.Module, ABC):
    r"""Base class of node encoders :math:`\psi`, with :math:`o = \psi(x)`.

    A subclass sets :attr:`out_channels` and implements :meth:`forward`. To be
    saved it needs :meth:`config` and :func:`bcm_pyg.nn.register_encoder`.
    """

    #: Width :math:`d_o` of a node embedding.
    out_channels: int

    #: Whether the embedding of a node depends on the attributes of that node
    #: alone. Training then encodes only the nodes it needs: :meth:`forward`
    #: gets some nodes of the graph without edges; :obj:`n_id` are their ids.
    per_node: bool = False

    #: Whether it reads coordinates, which a graph may lack.
    needs_pos: bool = True

    @classmethod
    def from_data(cls, data: Data, **kwargs: Any) -> Self:
        """An encoder of the right size for a canonical graph.

        By default the keyword arguments go to the constructor as they are.
        """
        return cls(**kwargs)

    @abstractmethod
    def forward(self, data: Data) -> Tensor:
        """Node embeddings :obj:`[N, d_o]` (dense, or sparse for codes)."""

    def project(self, data: Data, weight: Tensor) -> Tensor:
        """Embeddings times a weight :obj:`[W, d_o]`, that is :obj:`[N, W]`.

        Encoders whose embeddings are mostly zeros override this with a lookup.
        """
        out: Tensor = self(data)
        return out @ weight.T

    def reset_parameters(self) -> None:
        """Resets all learnable parameters; by default of the submodules."""
        for child in self.children():
            reset(child)

    def check_buffers(self, buffers: Mapping[str, Tensor]) -> None:  # noqa: B027
        """Raises a :class:`BCMError` if a buffer is out of range.

        Called before a map is built from a file, with the buffers of this
        module; submodules that have this method check their own. Names, dtypes
        and shapes are right and numbers are finite.
        """

    def config(self) -> dict[str, Any]:
        """The constructor arguments, of JSON types alone."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The encoder that :meth:`config` describes."""
        return cls(**config)


def select_nodes(data: Data, nodes: Tensor) -> Data:
    """Some nodes of a graph, without edges; :obj:`n_id` are their ids.

    :obj:`graph_nodes` is the number of nodes of the graph.
    """
    out = Data(num_nodes=nodes.numel())
    for key in data.node_attrs():
        value = data[key]
        if isinstance(value, Tensor) and value.layout == torch.strided:
            dim = data.__cat_dim__(key, value)
            if value.dim() == 1:  # index_select lacks some types there
                out[key] = value[nodes]
            elif isinstance(dim, int):
                out[key] = value.index_select(dim, nodes)
    out.n_id = nodes  # last: the graph may have an n_id of its own
    out.graph_nodes = data.num_nodes
    return out


def node_ids(data: Data, num_nodes: int | None = None) -> Tensor:
    """Ids of the nodes of a graph, or of those of :func:`select_nodes`.

    The whole graph must have :obj:`num_nodes` nodes, if given.
    """
    # A whole graph may carry an n_id of its own, as PyG's loaders set it.
    is_whole = data.get('edge_index') is not None
    num = data.get('graph_nodes')
    if is_whole:  # compiled code cannot ask for data.num_nodes
        pos = data.get('pos')
        num = data.num_nodes if pos is None else pos.size(0)
    if num_nodes is not None and num not in (None, num_nodes):
        raise BCMError(
            f'encoder was built for {num_nodes} nodes (got a graph of {num}). '
            'If the map is of a simplified graph, pass that: simplified= of '
            'CognitiveMap, or a Planner of it'
        )
    if is_whole:
        return torch.arange(num, device=data.edge_index.device)
    ids: Tensor = data.n_id
    return ids
