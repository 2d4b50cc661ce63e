import warnings
from os import PathLike
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy
from torch_geometric.data import Data
from torch_geometric.nn.inits import reset

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import fingerprint, planning_graph, warn_of_scales
from bcm_pyg.graph.planning_graph import canonical, check_pos, version_of
from bcm_pyg.utils import as_ids, check_choice, check_int

from .encoders import NodeEncoder, encoder_resolver
from .encoders.base import select_nodes
from .encoders.check import check_embeddings
from .encoders.interaction import CHANNELS
from .encoders.resolver import default_encoder
from .quantize import stored_bytes
from .saved_map import MapInfo, load_map, save_map
from .scoring import block_scores, evaluating, plain_scores
from .transition import WIDTH, Transition

TERMINALS = ('calibrated', 'paper')

#: Costs that change by more than this factor are taken for other units.
OTHER_UNITS = 4.0


class BCM(torch.nn.Module):
    r"""The Bellman-grounded cognitive map of `"Compact Bellman-Grounded
    Cognitive Maps for Cost-Aware Navigation"`.

    Nodes are embedded by :math:`o_i = \psi(x_i)`, transitions by
    :math:`z_{i \to j} = \phi(o_j - o_i)`, and a neighbour :math:`j` of
    :math:`i` is scored for goal :math:`g` by

    .. math::
        D_i(j; g) = \lVert z_{i \to j} - z_{i \to g} \rVert^2 ,

    which training makes an estimate of the cost of going to :math:`g` through
    :math:`j`, in units of :attr:`cost_scale`.

    Args:
        encoder (torch.nn.Module): The node encoder :math:`\psi`: a
            :class:`~bcm_pyg.nn.NodeEncoder`, or any module that maps
            :obj:`data` to :obj:`[N, d_o]` and has :obj:`out_channels`.
        transition (Transition, optional): The transition encoder :math:`\phi`.
            (default: an MLP of widths 128, 128, 128)
        terminal (str, optional): What the last edge into the goal scores:
            :obj:`"calibrated"`, its cost, so that scores are costs-to-go;
            :obj:`"paper"`, 0. (default: :obj:`"calibrated"`)
        cost_scale (float, optional): The cost that a score of 1 stands for.
            (default: the mean cost of the first graph it is trained on)

    Example:
        >>> from bcm_pyg import BCM
        >>> from bcm_pyg.datasets import weighted_grid
        >>> model = BCM.from_data(weighted_grid('ushape', side=40))
        >>> model.num_parameters(), model.storage_bytes()
        (62848, 251392)
    """

    cost_scale: Tensor

    def __init__(
        self,
        encoder: torch.nn.Module,
        transition: Transition | None = None,
        terminal: str = 'calibrated',
        cost_scale: float | None = None,
    ) -> None:
        super().__init__()
        check_choice('terminal', terminal, TERMINALS)
        if not isinstance(encoder, torch.nn.Module):
            got = encoder if isinstance(encoder, type) else type(encoder)
            raise BCMError(
                f'encoder must be a torch.nn.Module, an instance (got '
                f'{got.__name__})'
            )
        width = getattr(encoder, 'out_channels', None)
        if not isinstance(width, int):
            raise BCMError(
                f'encoder {type(encoder).__name__} must have an int attribute '
                f'out_channels (got {width!r:.80})'
            )
        try:
            scale = 1.0 if cost_scale is None else float(cost_scale)
        except (TypeError, ValueError):
            scale = float('nan')
        if not _is_scale(scale):
            raise BCMError(
                'cost_scale must be positive and finite in float32, and so '
                f'must be its inverse (got {cost_scale!r:.80})'
            )
        transition = Transition(width) if transition is None else transition
        if not isinstance(transition, torch.nn.Module):
            raise BCMError(
                f'transition must be a Transition (got {transition!r:.80})'
            )
        if transition.in_channels != width:
            raise BCMError(
                f'the transition encoder takes {transition.in_channels} '
                f'channels, but the encoder gives {width}'
            )
        self.encoder = encoder
        self.transition = transition
        self.terminal = terminal
        self.register_buffer('cost_scale', torch.tensor(scale))
        self._has_scale = cost_scale is not None
        # Of the graph for which the scale was chosen, once there is one.
        self._mean_cost: float | None = None
        #: Its graph, how it was trained, and what its file holds.
        self.info = MapInfo()
        self._drawn = self._changes()

    @classmethod
    def from_data(
        cls,
        data: Data,
        encoder: str | torch.nn.Module | None = None,
        terminal: str = 'calibrated',
        hidden_channels: int | None = None,
        **kwargs: Any,
    ) -> Self:
        r"""A map of the right size for a graph.

        Args:
            data (torch_geometric.data.Data): The graph.
            encoder (str or torch.nn.Module, optional): :obj:`"interaction"`,
                :obj:`"one_hot"`, :obj:`"k_hot"`, :obj:`"gnn"`, the name of a
                registered one, or a module. (default: :obj:`"interaction"`;
                with real coordinates and no arguments
                :obj:`"interaction+node_table"`, if the graph has 16,384 nodes
                at most; of a graph without coordinates :obj:`"landmark"`, with
                a warning)
            terminal (str, optional): The terminal convention. (default:
                :obj:`"calibrated"`)
            hidden_channels (int, optional): Width of all three layers of the
                transition encoder. The cost of a hop grows with its square.
                (default: :obj:`128`; the paper has 256)
            **kwargs (optional): Arguments of the named encoder, such as
                :obj:`channels`.
        """
        if hidden_channels is None:
            hidden_channels = WIDTH
        check_int('hidden_channels', hidden_channels, 1)
        data = planning_graph(data)
        warn_of_scales(data, stacklevel=2)
        given = encoder
        if encoder is None:
            encoder, kwargs = default_encoder(data, **kwargs)
            if data.get('pos') is None:
                warnings.warn(
                    'the graph has no coordinates: the map sees nodes by their '
                    f'distances to a few landmarks, encoder={encoder!r}. '
                    'Pass that if it is meant; otherwise set data.pos, or '
                    'name coordinates with from_networkx(graph, pos=...)',
                    stacklevel=2,
                )
        if isinstance(encoder, str):
            encoder = encoder_resolver(encoder, data, **kwargs)
        elif kwargs:
            raise BCMError(
                f'arguments {tuple(kwargs)} go with the name of an encoder, '
                'not with a module'
            )
        transition = None
        width = getattr(encoder, 'out_channels', None)
        if isinstance(width, int):  # else the constructor says what is wrong
            size = int(hidden_channels)
            transition = Transition(width, size, size)
        model = cls(encoder, transition, terminal).to(data.edge_index.device)
        if model.encoder is given:
            with torch.no_grad(), evaluating(model):
                check_embeddings(model.encoder, data)
        model._adopt(data)
        return model

    @classmethod
    def paper(
        cls,
        data: Data,
        encoder: str | torch.nn.Module | None = 'interaction',
        **kwargs: Any,
    ) -> Self:
        """The model of the paper: its widths of 256, terminal convention and
        random initialisation.
        """
        kwargs.setdefault('hidden_channels', 256)
        encoder = 'interaction' if encoder is None else encoder
        if encoder == 'interaction':
            kwargs.setdefault('init', 'random')
            data = planning_graph(data)
            if data.get('coord') is not None and kwargs.get('bins') is None:
                kwargs.setdefault('channels', CHANNELS)
        return cls.from_data(data, encoder, terminal='paper', **kwargs)

    def reset_parameters(self) -> None:
        """Resets all learnable parameters and forgets how they were trained."""
        reset(self.encoder)
        reset(self.transition)
        self.info = MapInfo(self.info.fingerprint)
        self._drawn = self._changes()

    def is_untrained(self) -> bool:
        """Whether all weights are as they were drawn: no step of an optimiser
        or :meth:`load_state_dict` changed them.
        """
        return not self.info.training and self._drawn == self._changes()

    def _changes(self) -> int:
        """How often weights were changed in place so far."""
        known = (p for p in self.parameters() if not is_lazy(p))
        return sum(version_of(value) for value in known)

    def _adopt(self, data: Data) -> None:
        """Makes the map one of this canonical graph.

        The cost scale is the mean cost of the first graph. It is kept when some
        costs change, so that scores keep their meaning, and follows a change of
        all costs, as from minutes to seconds.
        """
        mean = float(data.edge_cost.double().mean())
        before = self._mean_cost or mean
        change = mean / before if before else 1.0
        scale = float(self.cost_scale) * change if self._has_scale else mean
        is_kept = self._has_scale and 1 / OTHER_UNITS <= change <= OTHER_UNITS
        if not is_kept and _is_scale(scale):
            self.cost_scale.fill_(scale)
            before = mean
        self._has_scale, self._mean_cost = True, before
        self.info = MapInfo(fingerprint(data), self.info.training)

    @property
    def device(self) -> torch.device:
        """Where the map is."""
        return self.cost_scale.device

    def encode(self, data: Data) -> Tensor:
        r"""Node embeddings :math:`o`, :obj:`[N, d_o]`, of a graph."""
        out: Tensor = self.encoder(self._graph(data))
        return out

    def project_nodes(self, data: Data, nodes: Tensor | None = None) -> Tensor:
        r"""Projected nodes :math:`h = W_1 o`, :obj:`[N, H]`, or some of them.

        This is all of a node that a score needs; planners keep it.

        Args:
            data (torch_geometric.data.Data): The graph.
            nodes (torch.Tensor, optional): The nodes. (default: all)
        """
        data = self._graph(data)
        weight = self.transition.lin1.weight
        # Compiled code cannot make a Data of some nodes.
        compiling = torch.compiler.is_compiling()
        per_node = not compiling and getattr(self.encoder, 'per_node', False)
        if nodes is not None and per_node:
            data = select_nodes(data, nodes)
        if isinstance(self.encoder, NodeEncoder):
            out = self.encoder.project(data, weight)
        else:
            out = self.encoder(data) @ weight.T
        return out if nodes is None or per_node else out[nodes]

    def _graph(self, data: Data) -> Data:
        """A graph that the encoder can read."""
        data = canonical(data)
        if getattr(self.encoder, 'needs_pos', False):
            check_pos(data, type(self.encoder).__name__)
        return data

    def forward(
        self,
        data: Data,
        sources: Tensor,
        heads: Tensor,
        goals: Tensor,
        source: Tensor,
    ) -> Tensor:
        r"""Raw scores :math:`D_i(j; g)` of a block, :obj:`[M, G]`.

        A block has sources :math:`i`, each with some of its neighbours
        :math:`j`, and goals :math:`g` that are shared by all, or its own.

        Args:
            data (torch_geometric.data.Data): The graph.
            sources (torch.Tensor): Nodes to leave, :obj:`[S]`.
            heads (torch.Tensor): Neighbours to move to, :obj:`[M]`.
            goals (torch.Tensor): Goals, :obj:`[G]`, or those of each source,
                :obj:`[S, G]`.
            source (torch.Tensor): The position in :obj:`sources` of the node
                that each neighbour belongs to, ascending, :obj:`[M]`.
        """
        some, position = goals, None
        if goals.dim() == 2:  # many sources have the same
            some, position = goals.unique(return_inverse=True)
        hidden = self.project_nodes(data, torch.cat([sources, heads, some]))
        sizes = [sources.numel(), heads.numel(), some.numel()]
        node, head, goal = hidden.split(sizes)
        if position is not None:
            goal = goal.index_select(0, position.flatten())
            goal = goal.view(*goals.shape, goal.size(-1))
        return block_scores(self.transition, node, head, goal, source)

    def score(
        self, o: Tensor, i: Tensor | int, j: Tensor | int, g: Tensor | int
    ) -> Tensor:
        r"""The raw score :math:`D_i(j; g)` of embeddings :math:`o`.

        Args:
            o (torch.Tensor): What :meth:`encode` returned.
            i (torch.Tensor or int): Nodes to leave; ids of any shapes that
                broadcast.
            j (torch.Tensor or int): Neighbours to move to.
            g (torch.Tensor or int): Goals.
        """
        ids = _nodes('i', i, o), _nodes('j', j, o), _nodes('g', g, o)
        nodes = torch.broadcast_tensors(*ids)
        if not o.is_sparse:
            return plain_scores(self.transition, o, *nodes)
        # Codes: a sparse product beats differences of codes.
        lin1 = self.transition.lin1
        return plain_scores(
            lambda hidden: self.transition.from_hidden(hidden + lin1.bias),
            torch.sparse.mm(o, lin1.weight.T),
            *nodes,
        )

    def num_parameters(self) -> int:
        """Number of trainable parameters."""
        return sum(p.numel() for p in self.parameters() if p.requires_grad)

    def storage_bytes(self, dtype: str | None = None) -> int:
        """Bytes of the parameters, as the paper counts a map.

        Buffers of the encoder, such as distances to landmarks, count too.

        Args:
            dtype (str, optional): What they are stored in, as for :meth:`save`.
                (default: what it was loaded from)
        """
        return stored_bytes(
            dict(self.named_parameters()),
            dict(self.encoder.named_buffers()),
            self.info.dtype if dtype is None else dtype,
        )

    def save(self, path: str | PathLike[str], dtype: str = 'float32') -> None:
        """Writes the map into a folder, atomically.

        Args:
            path (str or os.PathLike): The folder, made if missing. A map that
                is there is replaced.
            dtype (str, optional): :obj:`"float32"` keeps every bit,
                :obj:`"float16"` needs half the space, :obj:`"int8"` about a
                quarter (see :func:`~bcm_pyg.nn.quantize.compress`). The map
                itself is not changed, and a loaded one computes in float32.
                (default: :obj:`"float32"`)
        """
        save_map(self, path, dtype)

    @classmethod
    def load(
        cls, path: str | PathLike[str], data: Data, force: bool = False
    ) -> Self:
        """Reads a map that :meth:`save` wrote, whatever its dtype.

        Args:
            path (str or os.PathLike): The folder.
            data (torch_geometric.data.Data): The graph it belongs to.
            force (bool, optional): Whether to accept a map of another graph.
                (default: :obj:`False`)

        Raises:
            BCMError: If the folder does not hold a whole map of this graph. No
                code in it is ever run.
        """
        return load_map(cls, path, data, force)

    def extra_repr(self) -> str:
        """For the representation."""
        return (
            f'terminal={self.terminal!r}, '
            f'cost_scale={float(self.cost_scale):.4g}, '
            f'parameters={self.num_parameters():,}, '
            f'last_training={self.info.training.get("steps", 0)} steps'
        )


def _is_scale(scale: float) -> bool:
    """As the buffer will hold it: 1e-50 is 0 there."""
    single = torch.tensor(scale, device='cpu')
    return bool(0 < single < float('inf') and single.reciprocal().isfinite())


def _nodes(name: str, node: Tensor | int, o: Tensor) -> Tensor:
    ids = torch.as_tensor(node, device=o.device)
    if torch.compiler.is_compiling():
        return ids
    return as_ids(ids.reshape(-1), o.size(0), name).view(ids.shape)


def not_compiled(model: Any) -> Any:
    """The model that :func:`torch.compile` wrapped, or the model itself."""
    return getattr(model, '_orig_mod', model)
