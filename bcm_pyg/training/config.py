import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import torch

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import Adjacency, check_choice, check_float, check_int

from .targets import (
    TARGETS,
    OneStepTargets,
    SweepTargets,
    Targets,
    qualified_name,
)

OPTIMIZERS = ('soap', 'adam')
#: The default weight of regret over the hop diameter, and its bound. Grids of
#: 10,000 nodes need it for walks; beyond the bound distances suffer.
REGRET_SHARE, MOST_REGRET = 0.004, 1.0
#: From the parameters and the learning rate.
MakeOptimizer = Callable[
    [list[torch.nn.Parameter], float], torch.optim.Optimizer
]


@dataclass(frozen=True, kw_only=True)
class FitConfig:
    r"""How :func:`~bcm_pyg.fit` trains a map.

    Attributes:
        time_budget: Seconds of wall time; the schedule fits itself to it.
        steps: Number of steps; with a time budget too, whichever ends first.
            Without either, five minutes.
        targets: What scores are regressed on, with its own settings:
            :class:`~bcm_pyg.training.SweepTargets`, many backups from the map's
            own values; :class:`~bcm_pyg.training.OneStepTargets`, one, as in
            the paper; :class:`~bcm_pyg.training.ExactTargets`, shortest-path
            labels. :obj:`"sweeps"`, :obj:`"paper"` and :obj:`"exact"` are
            these with their default settings.
        sources: Source nodes of a step, each with all its neighbours.
        goals: Goals of a step; every source is trained for every goal. With
            one-step targets those of each patch.
        relative: Whether errors count relative to the target, as
            :math:`(D - T)^2 / (1 + T)^2` in units of the mean cost, or as they
            are; and so does regret.
        ranking: Weight of the ranking loss.
        ranking_temperature: Its temperature in units of the mean cost.
        regret: Weight of the regret loss, what a choice by the scores is
            expected to cost more than the best one. By default 0.004 times the
            hop diameter of the graph, at most 1: as relative regret is small
            where goals are far away.
        optimizer: :obj:`"soap"`, :obj:`"adam"`, or a callable that makes one
            from the list of parameters and the learning rate.
        lr: Peak learning rate; it decays to 0 over the budget.
        encoder_lr: That of the parameters of the encoder, if it has any, as a
            multiple of :obj:`lr`; a callable :obj:`optimizer` does not get it.
        seed: Seed of everything that is sampled here. The initial weights are
            the model's own affair (:func:`torch_geometric.seed_everything`).
        validation_queries: Queries on which the Gap is followed, 0 for none.
            They are compared with exact search, which training never sees.
        validations: How many times during the budget; once more at its end.
    """

    time_budget: float | None = None
    steps: int | None = None
    targets: Targets | str = SweepTargets()
    sources: int = 64
    goals: int = 16
    relative: bool = True
    ranking: float = 0.004
    ranking_temperature: float = 0.1
    regret: float | None = None
    optimizer: str | MakeOptimizer = 'soap'
    lr: float = 6e-3
    encoder_lr: float = 1.0
    seed: int = 0
    validation_queries: int = 64
    validations: int = 10

    def __post_init__(self) -> None:
        if self.time_budget is None and self.steps is None:
            object.__setattr__(self, 'time_budget', 300.0)
        zero = ('steps', 'seed', 'validation_queries', 'validations')
        for name in (*zero, 'sources', 'goals'):
            value = getattr(self, name)
            if value is None and name == 'steps':
                continue
            check_int(name, value, 0 if name in zero else 1)
            object.__setattr__(self, name, int(value))  # numpy's are welcome
        rates = 'time_budget', 'lr', 'encoder_lr'
        for name in (*rates, 'ranking', 'ranking_temperature', 'regret'):
            value = getattr(self, name)
            if value is None and name in ('time_budget', 'regret'):
                continue
            check_float(name, value, positive=name == 'ranking_temperature')
            object.__setattr__(self, name, float(value))
        if not isinstance(self.relative, bool):
            raise BCMError(f'relative must be a bool (got {self.relative!r})')
        if isinstance(self.optimizer, str) or not callable(self.optimizer):
            check_choice('optimizer', self.optimizer, OPTIMIZERS)
        if not isinstance(self.targets, Targets):
            check_choice('targets', self.targets, tuple(TARGETS))
            object.__setattr__(self, 'targets', TARGETS[self.targets]())
        goal_pool = getattr(self.targets, 'goal_pool', self.goals)
        if self.goals > goal_pool:
            raise BCMError(
                f'goals must be at most goal_pool (got {self.goals}, '
                f'goal_pool is {goal_pool})'
            )

    @property
    def target_settings(self) -> Targets:
        """:attr:`targets`, never a name."""
        assert isinstance(self.targets, Targets)
        return self.targets

    @classmethod
    def paper(cls, **kwargs: Any) -> Self:
        """The paper's objective: one backup, squared errors alone.

        What the paper leaves open (optimiser, rates, batch, steps) is our
        choice; any field can be given.
        """
        chosen: dict[str, Any] = {
            'targets': OneStepTargets(),
            'sources': 64,
            'goals': 16,
            'relative': False,
            'ranking': 0.0,
            'regret': 0.0,
            'lr': 4e-3,
            'encoder_lr': 5.0,
        }
        return cls(**{**chosen, **kwargs})

    def resolve(self, adjacency: Adjacency, hop_diameter: int) -> Self:
        """The same with what depends on the graph filled in."""
        targets = self.target_settings.resolve(adjacency, hop_diameter)
        regret = self.regret
        if regret is None:
            regret = min(REGRET_SHARE * hop_diameter, MOST_REGRET)
        return replace(self, targets=targets, regret=regret)

    def to_dict(self) -> dict[str, Any]:
        """The fields, for JSON; classes and callables by qualified name."""
        out = {field.name: getattr(self, field.name) for field in fields(self)}
        out['targets'] = self.target_settings.to_dict()
        told: dict[str, Any] = json.loads(
            json.dumps(out, default=qualified_name)
        )
        return told

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_dict`, where nothing is a user's own."""
        targets = dict(settings['targets'])
        name = targets.pop('name')
        check_choice('the name of targets', name, tuple(TARGETS))
        return cls(**{**settings, 'targets': TARGETS[name](**targets)})
