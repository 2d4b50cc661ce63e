"""Ways to turn local scores into routes, one file each."""

from collections.abc import Callable

from bcm_pyg.errors import BCMError

from ..base import Readout
from .backtracking import Backtracking
from .best_first import Beam, BestFirst
from .corridor import Corridor
from .greedy import Greedy, VisitedGreedy
from .lookahead import Lookahead

#: Readouts by name, with their default settings.
BY_NAME: dict[str, Callable[[], Readout]] = {
    'greedy': Greedy,
    'visited_greedy': VisitedGreedy,
    'backtracking': Backtracking,
    'lookahead': Lookahead,
    'beam': Beam,
    'best_first': BestFirst,
    'corridor': Corridor,
}

__all__ = [
    'Backtracking',
    'Beam',
    'BestFirst',
    'Corridor',
    'Greedy',
    'Lookahead',
    'VisitedGreedy',
    'resolve_readout',
]


def resolve_readout(readout: Readout | str | None) -> Readout:
    """A readout, given itself, its name or that of its class; by default a
    corridor.
    """
    if readout is None:
        return Corridor()
    if isinstance(readout, str):
        classes = {kind.__name__: kind for kind in BY_NAME.values()}
        kind = {**classes, **BY_NAME}.get(readout)
        if kind is None:
            names = ', '.join(BY_NAME)
            raise BCMError(f'readout {readout!r:.80} is not one of {names}')
        return kind()
    if isinstance(readout, type) or not callable(readout):
        raise BCMError(
            'readout must be a readout such as Corridor(), or its name (got '
            f'{readout!r:.80})'
        )
    return readout
