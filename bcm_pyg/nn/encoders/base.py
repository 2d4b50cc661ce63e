from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn.inits import reset


class NodeEncoder(torch.nn.Module, ABC):
    r"""Base class of node encoders :math:`\psi`, with :math:`o = \psi(x)`.

    A subclass sets :attr:`out_channels` and implements :meth:`forward`; that is
    all a map needs. To be saved it also needs :meth:`config` and a name (see
    :func:`bcm_pyg.nn.register_encoder`).
    """

    #: Width :math:`d_o` of a node embedding.
    out_channels: int

    #: Whether the embedding of a node depends on the attributes of that node
    #: alone. Training then encodes just the nodes it needs: :meth:`forward`
    #: gets a graph of some nodes, without edges, whose :obj:`n_id` tells which.
    per_node: bool = False

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
        return self(data) @ weight.T

    def reset_parameters(self) -> None:
        """Draws all parameters anew; by default those of the submodules."""
        for child in self.children():
            reset(child)

    def check_buffers(self, buffers: Mapping[str, Tensor]) -> None:  # noqa: B027
        """Refuses buffers of a file that no encoder of this kind would have.

        Called before a map is built from a file, with what the buffers of this
        module are to hold (those of its submodules are theirs to check, if they
        have this method). Names, dtypes and shapes are right and numbers are
        finite. By default anything goes.

        Raises:
            BCMError: If one is out of range.
        """

    def config(self) -> dict[str, Any]:
        """The constructor arguments, of JSON types alone."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The encoder that :meth:`config` describes."""
        return cls(**config)
