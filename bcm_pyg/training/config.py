from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import check_choice, check_float, check_int

TARGETS = ('sweeps', 'paper', 'exact')
OPTIMIZERS = ('soap', 'adam')
#: Numbers that may be left open, most of them to depend on the graph.
OPTIONAL = ('steps', 'sweeps', 'draws', 'seeds', 'renew_every')


@dataclass(frozen=True, kw_only=True)
class FitConfig:
    r"""How :func:`~bcm_pyg.fit` trains a map.

    Attributes:
        time_budget: Seconds of wall time; the schedule fits itself to it.
        steps: Number of steps; with a time budget too, whichever ends first.
            Without either, five minutes.
        targets: What scores are regressed on. :obj:`"sweeps"`: the min-plus
            backup :math:`V_i \leftarrow \min_j c_{ij} + V_j` applied
            :obj:`sweeps` times, starting from the map's own values.
            :obj:`"paper"`: once. :obj:`"exact"`: until convergence, that is
            shortest-path labels; supervision, for comparison.
        sweeps: Number of backups, for :obj:`"sweeps"`; by default three tenths
            of the hop diameter of the graph.
        draws: Independent draws of nodes that the map is asked on for a goal;
            by default 4, and fewer on graphs of more than some thousand nodes.
        seeds: Nodes of one draw; by default :math:`2.4 \sqrt{N}`.
        sources: Source nodes of a step, each with all its neighbours.
        near: Share of the sources that are drawn near to one of the goals, at
            all scales of distance; the others come from anywhere. Not for
            :obj:`"paper"`.
        goals: Goals of a step; every source is trained for every goal. No more
            than the pool has, but for :obj:`"paper"`.
        pool: Goals whose values are kept ready.
        renew: Goals of the pool redrawn at a time.
        renew_every: Steps between two renewals; by default 8, and more where
            the backups of so many goals would take most of the time.
        relative: Whether errors count relative to the target, as
            :math:`(D - T)^2 / (1 + T)^2` in units of the mean cost, or as they
            are.
        ranking: Weight of the ranking loss.
        ranking_temperature: Its temperature in units of the mean cost.
        optimizer: :obj:`"soap"` or :obj:`"adam"`.
        lr: Peak learning rate; it decays to 0 over the budget.
        seed: Seed of everything that is sampled here. The initial weights are
            the model's own affair (:func:`torch_geometric.seed_everything`).
        validation_queries: Queries on which the Gap is followed, 0 for none.
            They are compared with exact search, which training never sees.
        validations: How many times during the budget; once more at its end.
    """

    time_budget: float | None = None
    steps: int | None = None
    targets: str = 'sweeps'
    sweeps: int | None = None
    draws: int | None = None
    seeds: int | None = None
    sources: int = 32
    near: float = 0.0
    goals: int = 32
    pool: int = 64
    renew: int = 16
    renew_every: int | None = None
    relative: bool = True
    ranking: float = 0.004
    ranking_temperature: float = 0.1
    optimizer: str = 'soap'
    lr: float = 6e-3
    seed: int = 0
    validation_queries: int = 64
    validations: int = 10

    def __post_init__(self) -> None:
        if self.time_budget is None and self.steps is None:
            object.__setattr__(self, 'time_budget', 300.0)
        check_choice('targets', self.targets, TARGETS)
        check_choice('optimizer', self.optimizer, OPTIMIZERS)
        for name, least in (
            ('steps', 0),
            ('sweeps', 1),
            ('draws', 1),
            ('seeds', 1),
            ('sources', 1),
            ('goals', 1),
            ('pool', 1),
            ('renew', 1),
            ('renew_every', 1),
            ('seed', 0),
            ('validation_queries', 0),
            ('validations', 0),
        ):
            value = getattr(self, name)
            if value is None and name in OPTIONAL:
                continue
            check_int(name, value, least)
            object.__setattr__(self, name, int(value))  # numpy's are welcome
        self._check_targets()
        if not isinstance(self.relative, bool):
            raise BCMError(f'relative must be a bool (got {self.relative!r})')
        if self.time_budget is not None:
            self._check_float('time_budget')
        self._check_float('lr')
        self._check_float('ranking')
        self._check_float('ranking_temperature', positive=True)
        self._check_float('near')
        if self.near > 1:
            raise BCMError(f'near must be at most 1 (got {self.near})')
        if self.near and self.targets == 'paper':
            raise BCMError(
                f'near is not for targets="paper" (got near={self.near})'
            )

    def _check_targets(self) -> None:
        """Refuses settings that the targets would silently pass over."""
        if self.targets == 'sweeps' or self.sweeps is None:
            pass
        elif self.targets == 'exact' or self.sweeps > 1:
            raise BCMError(
                f'sweeps is for targets="sweeps" (got sweeps={self.sweeps} '
                f'with targets={self.targets!r})'
            )
        if self.targets != 'paper' and self.goals > self.pool:
            raise BCMError(
                f'goals must be at most pool (got {self.goals}, pool is '
                f'{self.pool})'
            )

    def _check_float(self, name: str, *, positive: bool = False) -> None:
        value = getattr(self, name)
        check_float(name, value, positive=positive)
        object.__setattr__(self, name, float(value))

    @classmethod
    def paper(cls, **kwargs: Any) -> Self:
        """The paper's objective: one backup, no ranking loss, plain Adam.

        What the paper leaves open (optimiser, rate, batch, steps) is our
        choice; any field can be given.
        """
        chosen: dict[str, Any] = {
            'targets': 'paper',
            'sweeps': 1,
            'relative': False,
            'ranking': 0.0,
            'near': 0.0,
            'optimizer': 'adam',
            'lr': 1e-3,
        }
        return cls(**{**chosen, **kwargs})
