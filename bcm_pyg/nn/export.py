"""The scorer of a map as a separate program, for other runtimes."""

import copy

import torch
from torch import Tensor
from torch.export import Dim, ExportedProgram
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import planning_graph

from .bcm import BCM
from .scoring import evaluating, pair_scores
from .transition import Transition

#: Rows of the example that is traced; the program takes any number.
_EXAMPLE = 4


def export_scorer(model: BCM, data: Data | None = None) -> ExportedProgram:
    r"""The scores :math:`D_i(j; g)` of a map by :func:`torch.export.export`.

    With a graph the program maps ids :obj:`(nodes, neighbors, goals)`, three
    int64 vectors :obj:`[B]`, to scores :obj:`[B]`. It holds the projected nodes
    and needs neither encoder nor graph. Without a graph it maps projected nodes
    (:meth:`BCM.project_nodes`), three matrices :obj:`[B, H]`, to scores.
    :math:`B` is dynamic, 0 and 1 included. The program has copies of the
    weights: train first, then export.

    Scores are raw, as :meth:`BCM.score` gives them, and in units of the map's
    cost scale. The terminal convention is up to the caller: where the neighbour
    is the goal, a readout takes 0 for a map with :obj:`terminal="paper"`, and
    the cost of that edge divided by :obj:`model.cost_scale` for one with
    :obj:`terminal="calibrated"`. Then the neighbour of least score is next.

    Note:
        :func:`torch.export.save` writes the program to a file.
        :func:`torch.export.load` may run code from a file: load programs you
        trust, and ship maps with :meth:`BCM.save`, whose files are safe.

    Args:
        model (BCM): The map.
        data (torch_geometric.data.Data, optional): Its graph. (default:
            :obj:`None`)
    """
    if not isinstance(model, BCM):
        raise BCMError(f'model must be a BCM (got {type(model).__name__})')
    device, width = model.device, model.transition.hidden_channels
    hidden, example = None, torch.zeros(_EXAMPLE, width, device=device)
    if data is not None:
        data = planning_graph(data).to(device)
        with evaluating(model), torch.no_grad():
            hidden = model.project_nodes(data)
        example = torch.zeros(_EXAMPLE, dtype=torch.long, device=device)
    scorer = _PairScorer(model.transition, hidden)
    # Three tensors: one tensor given three times would be taken as one input.
    inputs = tuple(example.clone() for _ in range(3))
    batch = Dim('batch', min=0)
    return torch.export.export(
        scorer.eval(), inputs, dynamic_shapes=tuple({0: batch} for _ in inputs)
    )


class _PairScorer(torch.nn.Module):
    """Scores of projected nodes, or of ids where it has all of these."""

    hidden: Tensor | None

    def __init__(self, transition: Transition, hidden: Tensor | None) -> None:
        super().__init__()
        self.transition = copy.deepcopy(transition).requires_grad_(False)
        del self.transition.lin1.weight  # projected nodes hold it already
        self.register_buffer('hidden', hidden)

    def forward(
        self, nodes: Tensor, neighbors: Tensor, goals: Tensor
    ) -> Tensor:
        ends = nodes, neighbors, goals
        if self.hidden is not None:
            ends = (
                self.hidden[nodes],
                self.hidden[neighbors],
                self.hidden[goals],
            )
        each = torch.arange(nodes.size(0), device=nodes.device)
        return pair_scores(self.transition, *ends, each)
