import math
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch.nn.utils import clip_grad_norm_
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import planning_graph
from bcm_pyg.kernels import load_kernels
from bcm_pyg.nn import BCM
from bcm_pyg.nn.bcm import not_compiled
from bcm_pyg.nn.scoring import evaluating
from bcm_pyg.utils import Adjacency, Processes, as_path, check_choice

from ._progress import Callback, History, Interrupt, Progress
from .blocks import Block, Run
from .checkpoint import Checkpoint
from .config import FitConfig
from .distributed import begin_together, sum_gradients
from .objective import block_loss, drop_noise
from .optim import learning_rate, make_optimizer, of_encoder
from .sampling import PairSampler
from .sweeps import hop_diameter

#: Gradients longer than this are shortened: the first backups can be wild.
MAX_GRAD_NORM = 10.0
#: Just below the largest piece of memory that glibc ever keeps.
KEPT_BYTES = 31 * 2**20


def fit(
    model: BCM,
    data: Data,
    config: FitConfig | None = None,
    *,
    progress: bool | None = None,
    callback: Callback | None = None,
    checkpoint: str | PathLike[str] | None = None,
    distributed: bool | None = None,
    **settings: Any,
) -> History:
    r"""Trains a map on a graph, from its local edge costs.

    Minimises the Bellman-grounded objective

    .. math::
        \mathbb{E}_{(i, j, g)} \left[ \left( D_i(j; g) - c_{i \to j} -
        \mathrm{sg}[V_j(g)] \right)^2 \right]

    over blocks of random sources (with all their neighbours) times random
    goals, by default with relative errors and small losses of ranking and
    regret (see :class:`FitConfig`). The map is changed in place and may have
    been trained before. Ctrl-C ends the training and leaves a usable map.

    **Processes.** All processes of a :mod:`torch.distributed` group must call
    this alike. Each takes a share of the goals of every step, so that a step is
    that of one process up to rounding. All begin with the weights of process 0,
    which alone validates, calls back, shows the bar and has the checkpoint. A
    process that dies ends the others with an error, at the latest after the
    timeout of the group.

    **Determinism.** Same seed, initial weights, machine, number of threads and
    processes, and steps: same weights, bit for bit, also through a checkpoint.
    Not promised on GPUs, with a time budget, or for encoders that draw random
    numbers themselves.

    **Memory.** A step needs about 30 rows of the map's width per pair, the
    targets :obj:`4 N (goal_pool + 5 * bootstrap_samples * refresh)` bytes and a
    row per node; with the paper's terminal convention and other than its
    targets another :obj:`E * bootstrap_samples * refresh` bytes. The paper's
    targets have a second copy of the map, and half as many rows more.

    Args:
        model (BCM): The map. One of :func:`torch.compile` is trained without
            being compiled, which is as fast.
        data (torch_geometric.data.Data): Its graph.
        config (FitConfig, optional): How to train. (default: all defaults)
        progress (bool, optional): Whether to show a bar. (default: in terminals
            and notebooks)
        callback (Callable, optional): Called as :obj:`callback(step, metrics)`
            at every validation. (default: :obj:`None`)
        checkpoint (str or os.PathLike, optional): A file that keeps the state
            of the run, written every half minute, at Ctrl-C and at the end.
            Where it exists already, training goes on from it as if it had never
            stopped. (default: :obj:`None`)
        distributed (bool, optional): :obj:`False` trains in this process alone
            although there is a group, :obj:`True` refuses to where there is
            none. (default: with the group, if there is one)
        **settings (optional): Fields of :class:`FitConfig`, such as
            :obj:`steps` or :obj:`time_budget`; they replace those of
            :obj:`config`.

    Raises:
        BCMError: If the loss or a gradient is not finite; the map then keeps
            the weights of the step before. Or if another process has ended.

    Example:
        >>> from bcm_pyg import BCM, fit
        >>> from bcm_pyg.datasets import weighted_grid
        >>> data = weighted_grid('open', side=4, seed=42)
        >>> model = BCM.from_data(data)
        >>> history = fit(model, data, steps=2)
        >>> history.steps, model.info.training['steps']
        (2, 2)
    """
    model = not_compiled(model)
    if not isinstance(model, BCM):
        raise BCMError(f'model must be a BCM (got {type(model).__name__})')
    config = _config(config, settings)
    if callback is not None and not callable(callback):
        raise BCMError(f'callback must be callable (got {callback!r:.80})')
    path = None if checkpoint is None else as_path('checkpoint', checkpoint)
    if path is not None and os.path.isdir(path):
        raise BCMError(f'checkpoint must name a file (got the folder {path})')
    data = planning_graph(data).to(model.device)
    adjacency = Adjacency.from_data(data)
    diameter = hop_diameter(adjacency)
    config = config.resolve(adjacency, diameter)
    processes = Processes(distributed)
    was_training = model.training
    try:
        with _undone_on_error(model):
            model._adopt(data)
            with torch.no_grad(), evaluating(model):
                model.project_nodes(data, adjacency.src[[0, -1]])  # it fits
            if processes.size > 1:
                begin_together(processes, model, config)
            model.train()
            sampler = PairSampler(adjacency, config.seed)
            run = Run(model, data, sampler, config, processes)
            load_kernels()  # compiled before the clock starts
            # The C library keeps what is freed in pieces up to a size that it
            # has seen freed; otherwise each step asks for the same pages again.
            torch.empty(KEPT_BYTES, dtype=torch.uint8)
            shown = Progress(run, progress, callback)
            trainer = Trainer(run, shown, path)
        _warn_of_other_graph(model, data)
        history = trainer.train()
    finally:
        model.train(was_training)
    facts = {
        'config': config.to_dict(),
        'num_nodes': adjacency.num_nodes,
        'num_edges': adjacency.num_edges,
        'hop_diameter': diameter,  # to judge the backups by
        'mean_cost': model._mean_cost,  # what the cost scale was chosen for
        **shown.summary(),
    }
    model.info = replace(model.info, training=facts)
    return history


def _config(config: FitConfig | None, settings: dict[str, Any]) -> FitConfig:
    """A configuration with some of its fields replaced."""
    if config is not None and not isinstance(config, FitConfig):
        raise BCMError(f'config must be a FitConfig (got {config!r:.80})')
    known = tuple(field.name for field in fields(FitConfig))
    for name in settings:
        check_choice('a keyword of fit', name, known)
    if config is None:
        return FitConfig(**settings)
    return replace(config, **settings) if settings else config


def _warn_of_other_graph(model: BCM, data: Data) -> None:
    """Other costs are what a trained map is trained on for; not so others."""
    training = model.info.training
    for name in ('num_nodes', 'num_edges'):
        now, before = int(getattr(data, name)), training.get(name)
        if before not in (None, now):
            warnings.warn(
                f'the map was trained on another graph, with {name}={before} '
                f'(this one has {now}): BCM.from_data(data) makes one of '
                'its size',
                stacklevel=3,
            )
            return


class Trainer:
    """The loop of :func:`fit`; it goes on from a checkpoint that is there."""

    def __init__(self, run: Run, progress: Progress, path: Path | None) -> None:
        self.run = run
        self.progress = progress
        self.alone = run.processes.size == 1
        self.interrupt = Interrupt(self.alone)
        self.parameters = [p for p in run.model.parameters() if p.requires_grad]
        self.optimizer = make_optimizer(
            self.parameters, run.config, of_encoder(run.model)
        )
        self.peaks = [group['lr'] for group in self.optimizer.param_groups]
        self.blocks = run.config.target_settings.blocks(run)
        self.checkpoint: Checkpoint | None = None
        if path is not None or not self.alone:  # process 0 may have a path
            self.checkpoint = Checkpoint(
                path, run, self.optimizer, self.blocks, progress
            )
            self.checkpoint.load()

    def train(self) -> History:
        """Trains until the budget is spent, or Ctrl-C."""
        history = self.progress.history
        with self.progress, self.interrupt:
            try:
                self._loop()
            except KeyboardInterrupt:
                # If in a step: what was saved last stays saved.
                self.interrupt.came = True
            history.interrupted = self.interrupt.came
            try:
                self.progress.end()
            except KeyboardInterrupt:  # an impatient second one
                history.interrupted |= self.alone
        return history

    def _loop(self) -> None:
        progress = self.progress
        self._save()  # an unwritable path is better found out now
        while (done := progress.agreed_done()) < 1:
            self.blocks.done = done
            self._step(self.blocks.block(progress.history.steps), done)
            if progress.validation_is_due(done):
                try:
                    progress.validate()
                except KeyboardInterrupt:  # of the callback
                    if self.alone:
                        raise
                    # The others wait for the next sum, and end there too.
                    self.interrupt.came = True
            if self.alone and self.interrupt.came:
                break
            self._save(force=False)
        self._save()

    def _save(self, force: bool = True) -> None:
        if self.checkpoint is not None:
            self.checkpoint.save(force)

    def _step(self, block: Block, done: float) -> None:
        progress = self.progress
        groups = self.optimizer.param_groups
        for group, peak in zip(groups, self.peaks, strict=True):
            group['lr'] = learning_rate(peak, done)
        self.optimizer.zero_grad()
        loss = self._backward(block)
        if loss == 0:  # a block in which every goal is next to its sources
            self._check_scores(block)
            progress.history.steps += 1
            return
        norm = float(clip_grad_norm_(self.parameters, MAX_GRAD_NORM))
        if not math.isfinite(loss) or not math.isfinite(norm):
            self._stop(f'the loss is {loss} and the gradient norm {norm}')
        self.optimizer.step()
        progress.step(loss, block.sources.numel() * block.goals.size(-1))

    def _check_scores(self, block: Block) -> None:
        """Without a target that is finite, it may be for the map's scores."""
        with torch.no_grad():
            head = self.run.sampler.adjacency.dst[block.edge]
            ends = block.sources, head, block.goals, block.source
            scores = self.run.model(self.run.data, *ends)
        if not bool(scores.isfinite().all()):
            self._stop('the map has scores that are not finite')

    def _stop(self, why: str) -> NoReturn:
        """Refuses to go on; the map is as it was before this step."""
        step = self.progress.history.steps
        hint = 'The map keeps the weights of the step before; try a lower lr'
        if step == 0:
            hint = 'The map itself is unusable: make a new one'
        raise BCMError(f'training stopped at step {step}: {why}. {hint}')

    def _backward(self, block: Block) -> float:
        """Computes the gradients of a block, and returns its loss."""
        run, value, share = self.run, 0.0, None
        if not self.alone:
            share = run.processes.share(block.goals.size(-1))
        if share is None or share.start < share.stop:
            loss = block_loss(run, block, share)
            value = float(loss.detach())
            if value != 0:
                loss.backward()
                drop_noise(run.model)
        if self.alone:
            return value
        return sum_gradients(
            run.processes, self.parameters, value, self.interrupt.came
        )


@contextmanager
def _undone_on_error(model: BCM) -> Iterator[None]:
    """Leaves a map of its old graph where a run cannot begin."""
    names = ('info', '_has_scale', '_mean_cost')
    before = {name: getattr(model, name) for name in names}
    scale = model.cost_scale.clone()
    try:
        yield
    except BaseException:
        for name, value in before.items():
            setattr(model, name, value)
        model.cost_scale.copy_(scale)
        raise
