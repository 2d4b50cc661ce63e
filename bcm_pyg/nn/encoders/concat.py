from collections.abc import Sequence
from functools import reduce
from typing import Any, Self

import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError

from .base import NodeEncoder


class ConcatEncoder(NodeEncoder):
    r"""Puts several encoders side by side,
    :math:`\psi(x_n) = [\psi_1(x_n) ; \psi_2(x_n) ; \ldots]`.

    Names joined by a plus stand for it, for instance
    :obj:`BCM.from_data(data, 'interaction+landmark')`. Arguments of a part are
    given by its name: :obj:`landmark={'num_landmarks': 16}`.

    Args:
        encoders (Sequence[NodeEncoder]): The parts.

    Shapes:
        - **output:** as wide as all parts together
    """

    def __init__(self, encoders: Sequence[NodeEncoder]) -> None:
        super().__init__()
        if not encoders:
            raise BCMError('encoders must name at least one part')
        for part in encoders:
            if not isinstance(part, NodeEncoder):
                raise BCMError(
                    'encoders must be instances of NodeEncoder (got '
                    f'{type(part).__name__})'
                )
        self.encoders = torch.nn.ModuleList(encoders)
        self.out_channels = sum(part.out_channels for part in encoders)
        self.per_node = all(part.per_node for part in encoders)
        self.needs_pos = any(part.needs_pos for part in encoders)

    @classmethod
    def from_data(
        cls,
        data: Data,
        encoders: Sequence[str] = ('interaction', 'landmark'),
        **kwargs: Any,
    ) -> Self:
        """The named parts, each built for the graph.

        Args:
            data (torch_geometric.data.Data): The canonical graph.
            encoders (Sequence[str], optional): Names of the parts. (default:
                :obj:`("interaction", "landmark")`)
            **kwargs (optional): Dictionaries of arguments, by part.
        """
        from .resolver import encoder_resolver

        for name, arguments in kwargs.items():
            if name not in encoders or not isinstance(arguments, dict):
                raise BCMError(
                    f'argument {name!r}: arguments go with one of the parts '
                    f"{tuple(encoders)}, as interaction={{'channels': 32}}"
                )
        parts = [
            encoder_resolver(name, data, **kwargs.get(name, {}))
            for name in encoders
        ]
        return cls(parts)

    def forward(self, data: Data) -> Tensor:
        """Node embeddings :obj:`[N, d_o]`, sparse if all parts are."""
        parts = [part(data) for part in self.encoders]
        if not all(part.is_sparse for part in parts):
            parts = [part.to_dense() for part in parts]
        return torch.cat(parts, dim=1)

    def project(self, data: Data, weight: Tensor) -> Tensor:
        """The sum of what the parts make of their columns of the weight."""
        widths = [part.out_channels for part in self.encoders]
        columns = weight.split(widths, dim=1)
        parts: list[Tensor] = [
            part.project(data, own)  # type: ignore[operator]
            for part, own in zip(self.encoders, columns, strict=True)
        ]
        return reduce(torch.add, parts)

    def config(self) -> dict[str, Any]:
        """Names and configurations of the parts."""
        from .resolver import encoder_config

        return {'encoders': [encoder_config(part) for part in self.encoders]}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The encoder that :meth:`config` describes."""
        from .resolver import encoder_from_config

        return cls([encoder_from_config(part) for part in config['encoders']])
