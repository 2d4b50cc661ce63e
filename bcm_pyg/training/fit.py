from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from os import PathLike

import torch
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import planning_graph
from bcm_pyg.nn import BCM
from bcm_pyg.nn.modes import evaluating
from bcm_pyg.utils import Adjacency, Processes, as_path

from ._progress import History
from .config import FitConfig
from .distributed import begin_together
from .graph_defaults import resolve_config
from .sweeps import hop_diameter
from .trainer import Callback, Trainer


def fit(
    model: BCM,
    data: Data,
    config: FitConfig | None = None,
    *,
    progress: bool = False,
    callback: Callback | None = None,
    resume: str | PathLike[str] | None = None,
    distributed: bool | None = None,
) -> History:
    r"""Trains a map on a graph, from its local edge costs.

    Minimises the Bellman-grounded objective

    .. math::
        \mathbb{E}_{(i, j, g)} \left[ \left( D_i(j; g) - c_{i \to j} -
        \mathrm{sg}[V_j(g)] \right)^2 \right]

    over blocks of random sources (with all their neighbours) times random
    goals, one network pass per pair :math:`(i, g)`; by default with errors
    relative to the target and a small ranking loss beside (see
    :class:`FitConfig`). The map is changed in place and may have been trained
    before, also on an earlier state of the graph. Ctrl-C ends the training and
    leaves a usable map.

    **Processes.** Where a process group of :mod:`torch.distributed` is
    initialised and has more than one process, all of them must call this
    alike, and train one map together: each takes a share of the goals of every
    step, so that a step is that of one process up to rounding, as long as its
    goals are at least as many. All begin with the weights of process 0; it
    alone validates, calls back, shows the bar and reads and writes the file to
    resume from, and its clock is the one that counts. All return the same map
    and history. A process that dies ends the others with an error, at the
    latest after the timeout of the group; the file stays usable, also by
    another number of processes.

    **Determinism.** Same seed, same initial weights, same machine, same number
    of threads and processes, a budget of steps: same weights and routes, bit
    for bit, also through :obj:`resume`. Not promised: the same bits on other
    machines, versions of PyTorch, numbers of threads or processes, or on GPUs,
    where sums have no fixed order; nor with a time budget, since how many steps
    fit into it is up to the machine. Encoders that draw random numbers
    themselves (dropout) draw from the global generator.

    Memory: a step needs about 30 rows of 256 floats per pair, the targets
    :obj:`4 N (pool + 5 * draws * renew)` bytes and 1 kB per node; with the
    paper's terminal convention and other than its targets another
    :obj:`E * draws * renew` bytes.

    Args:
        model (BCM): The map.
        data (torch_geometric.data.Data): Its graph.
        config (FitConfig, optional): How to train. (default:
            :obj:`FitConfig()`)
        progress (bool, optional): Whether to show a bar. (default:
            :obj:`False`)
        callback (Callable, optional): Called as :obj:`callback(step, metrics)`
            at every validation. (default: :obj:`None`)
        resume (str or os.PathLike, optional): A file that keeps the state of
            the run, written every half minute, at Ctrl-C and at the end. Where
            it exists already, training goes on from it as if it had never
            stopped. (default: :obj:`None`)
        distributed (bool, optional): :obj:`False` trains in this process alone
            although there is a group, :obj:`True` refuses to where there is
            none. (default: with the group, if there is one)

    Raises:
        BCMError: If the loss or a gradient is not finite; the map then keeps
            the weights of the step before. Or if another process has ended.

    Example:
        >>> from bcm_pyg import BCM, FitConfig, fit
        >>> from bcm_pyg.datasets import weighted_grid
        >>> data = weighted_grid('open', side=4, seed=42)
        >>> model = BCM.from_data(data)
        >>> history = fit(model, data, FitConfig(steps=2))
        >>> history.steps, model.record['steps']
        (2, 2)
    """
    if not isinstance(model, BCM):
        raise BCMError(f'model must be a BCM (got {type(model).__name__})')
    config = FitConfig() if config is None else config
    if not isinstance(config, FitConfig):
        raise BCMError(
            f'config must be a FitConfig (got {type(config).__name__})'
        )
    checkpoint = None if resume is None else as_path('resume', resume)
    if checkpoint is not None and os.path.isdir(checkpoint):
        raise BCMError(f'resume must name a file (got the folder {checkpoint})')
    data = planning_graph(data).to(model.device)
    adjacency = Adjacency.from_data(data)
    config = resolve_config(config, adjacency)
    processes = Processes(distributed)
    was_training = model.training
    try:
        with _undone_on_error(model):
            model.adopt(data)
            with torch.no_grad(), evaluating(model):
                model.hidden(data, adjacency.src[[0, -1]])  # does it fit?
            begin_together(processes, model, config)
            model.train()
            trainer = Trainer(
                model, data, config, progress, callback, checkpoint, processes
            )
            trainer.resume()
        history = trainer.run()
    finally:
        model.train(was_training)
    model.record = {
        'config': asdict(config),
        'hop_diameter': hop_diameter(adjacency),  # to judge the sweeps by
        'mean_cost': model._mean_cost,  # what the cost scale was chosen for
        'steps': history.steps,
        'seconds': trainer.seconds(),
        'validation_gap': _last(history.gap),
        'validation_success_rate': _last(history.success_rate),
    }
    return history


@contextmanager
def _undone_on_error(model: BCM) -> Iterator[None]:
    """Leaves a map of its old graph where a run cannot begin."""
    names = ('graph', 'stored_dtype', '_has_scale', '_mean_cost')
    before = {name: getattr(model, name) for name in names}
    scale = model.cost_scale.clone()
    try:
        yield
    except BaseException:
        for name, value in before.items():
            setattr(model, name, value)
        model.cost_scale.copy_(scale)
        raise


def _last(values: list[float]) -> float | None:
    return values[-1] if values and math.isfinite(values[-1]) else None
