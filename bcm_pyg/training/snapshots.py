"""Copies of a map from its training."""

import copy
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from bcm_pyg.nn import BCM
from bcm_pyg.nn.quantize import compress, expand

from .config import FitConfig

#: What weights are kept in.
DTYPE = 'float16'


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A map as it was during training.

    Attributes:
        step: Steps made until then.
        seconds: Wall time until then.
        gap: Gap in percent on the validation queries.
        success_rate: Success rate there.
        weights: All weights by name, in half precision.
    """

    step: int
    seconds: float
    gap: float
    success_rate: float
    weights: dict[str, Tensor]

    def model(self, like: BCM) -> BCM:
        """The map, given any map of the same shape."""
        out = copy.deepcopy(like)
        names = {name for name, _ in out.named_parameters()}
        state = expand(self.weights, out.state_dict(), names, DTYPE)
        out.load_state_dict(state)
        return out

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}(step={self.step}, '
            f'seconds={self.seconds:.1f}, gap={self.gap:.2f})'
        )


class Recorder:
    """Takes up to :obj:`num` snapshots at validations, evenly spaced.

    The last one is of the trained map; what validations leave out for lack of
    time is missing.

    Args:
        model (BCM): The map that is trained.
        config (FitConfig): How.
        num (int): How many to take.

    Attributes:
        config: The same with a validation for each of them.
        snapshots: Those taken so far.
    """

    def __init__(self, model: BCM, config: FitConfig, num: int) -> None:
        self.model = model
        self.num = num
        validations = max(config.validations, self.num - 1)
        self.config = replace(config, validations=validations)
        self.snapshots: list[Snapshot] = []

    def __call__(self, step: int, metrics: dict[str, float]) -> None:
        """A validation was made."""
        if self._share(step, metrics) * self.num >= len(self.snapshots) + 1:
            self.take(step, metrics)

    def _share(self, step: int, metrics: dict[str, float]) -> float:
        """How much of the budget is spent, from 0 to 1."""
        seconds, share = self.config.time_budget, 0.0
        if self.config.steps:
            share = step / self.config.steps
        if seconds:
            share = max(share, metrics['seconds'] / seconds)
        return min(share, 1.0)

    @torch.no_grad()
    def take(self, step: int, metrics: dict[str, float]) -> None:
        """Keeps the map as it is."""
        state = self.model.state_dict()
        state = {key: value.detach().clone() for key, value in state.items()}
        names = {name for name, _ in self.model.named_parameters()}
        self.snapshots.append(
            Snapshot(
                step=step,
                seconds=metrics['seconds'],
                gap=metrics['gap'],
                success_rate=metrics['success_rate'],
                weights=compress(state, names, DTYPE),
            )
        )
