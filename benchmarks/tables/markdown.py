"""Tables as text, and how their cells print."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

#: What stands where nothing was run.
NOT_RUN = 'not run yet'


def markdown(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table, every cell as it prints."""
    head = list(head)
    lines = ['| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head)]
    for row in rows:
        lines.append('| ' + ' | '.join(str(cell) for cell in row) + ' |')
    return '\n'.join(lines)


def spread(values: Sequence[float | None], digits: int) -> str:
    """Mean and, of several, standard deviation; a dash without a value."""
    known = [value for value in values if value is not None]
    if not known:
        return '-'
    text = f'{statistics.mean(known):.{digits}f}'
    if len(known) > 1:
        text += f' ± {statistics.stdev(known):.{digits}f}'
    return text
