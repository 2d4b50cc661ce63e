"""How the map of a cognitive map is trained."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from bcm_pyg.errors import BCMError
from bcm_pyg.planning import BestFirst, Corridor, Readout
from bcm_pyg.training import FitConfig
from bcm_pyg.utils import check_choice, check_float


def fit_config(
    config: FitConfig | None,
    settings: Mapping[str, Any],
    readout: Readout | None,
    *,
    default: float,
    budget: float | None,
    seed: int | None = None,
) -> FitConfig:
    """How to train: as told, else as it suits the readout.

    Walks need right choices, searches (the default) right distances. Seconds
    are those of the budget, else the default, unless the settings say how long.
    """
    known = tuple(field.name for field in fields(FitConfig))
    for name in settings:
        check_choice('a keyword', name, known)
    if budget is not None:
        check_float('budget', budget)
    given: dict[str, Any] = {'time_budget': budget, 'seed': seed}
    chosen = {key: value for key, value in given.items() if value is not None}
    if twice := [name for name in chosen if name in settings]:
        raise BCMError(f'{twice[0]} is given twice')
    if config is not None:
        if not isinstance(config, FitConfig):
            raise BCMError(f'config must be a FitConfig (got {config!r:.80})')
        if chosen:
            raise BCMError(
                'budget and seed are not used beside a config, which has '
                'time_budget and seed of its own: give one or the other'
            )
        return replace(config, **settings)
    guide = readout.guide if isinstance(readout, Corridor) else None
    searches = readout is None or isinstance(guide, BestFirst)
    chosen['regret'] = 0.0 if searches else FitConfig.regret
    if not {'steps', 'time_budget'} & {*settings, *chosen}:
        chosen['time_budget'] = default
    return FitConfig(**{**chosen, **settings})
