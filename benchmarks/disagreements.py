"""Where we differ from the paper by more than its standard deviation.

The paper prints one for the Gaps of its Table 1. Elsewhere the standard
deviation is that of a mean of as many queries as it used, from the spread of
our own single queries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import paper_numbers as paper
from common import Results
from markdown_table import NOT_RUN
from methods import BASELINES, MAPS
from paper_numbers import Reported
from row_groups import Row, mean, select

#: What we believe is behind it.
REASONS = {
    'dijkstra': 'The optimum depends on the draw of costs and queries alone. '
    'The seeds of the paper cannot be reproduced, and its Table 2 has fewer '
    'queries.',
    'apf': 'The paper states no gains and no place of the obstacles; ours are '
    'fitted to its success rates. The Gap also moves with the draw of costs: '
    'other seeds of ours lie on both sides of its figures.',
    'cml': 'The paper does not state how long it trained CML. Our budget is '
    'fitted to its success rates, and CML varies much from seed to seed.',
    'eigen': 'Neither text nor code of EigenAgent is public. Our potential is '
    'a reconstruction fitted to the U; none that we tried fits all layouts.',
    'eigen_inverse': 'A reconstruction, as the EigenAgent it varies.',
    'eigen_rbf': 'A reconstruction, as the EigenAgent it varies. The paper '
    'does not state its bandwidth, and the result depends on it and on the '
    'draw of costs.',
    'bcm_paper': 'The paper states neither optimiser nor rate nor budget. '
    'One backup a step moves costs one edge at a time, and our minutes on two '
    'CPU cores are too few for it.',
    'bcm_sweeps': 'Another objective: targets that iterate the backup, a '
    'calibrated last edge, a ranking term and a second-order optimiser.',
    'bcm_exact': 'Another objective, and supervised: shortest-path labels.',
}


class Comparison(NamedTuple):
    """One number of ours and the paper's, with what they may differ by."""

    table: str
    method: str
    place: str
    what: str
    ours: float
    published: float
    deviation: float
    printed: bool

    def differs(self) -> bool:
        """By more than the deviation and than rounding explains."""
        rounding = 0.005 if self.what == 'SR' else 0.05
        off = abs(self.ours - self.published)
        return off > max(self.deviation, rounding)

    def __str__(self) -> str:
        digits = 2 if self.what == 'SR' or self.published < 1 else 1
        source = '' if self.printed else ' by sampling'
        return (
            f'{self.what} {self.ours:.{digits}f} instead of '
            f'{self.published:.{digits}f} ± {self.deviation:.{digits}f}'
            f'{source} ({self.place})'
        )


def compare(
    table: str,
    method: str,
    place: str,
    rows: list[Row],
    cell: Reported,
    queries: int,
) -> Iterator[Comparison]:
    """The numbers of a cell that both have."""
    rate, gap = mean(rows, 'success_rate'), mean(rows, 'gap')
    start = table, method, place
    if rate is not None and cell.success_rate is not None:
        deviation = math.sqrt(rate * (1 - rate) / queries)
        yield Comparison(
            *start, 'SR', rate, cell.success_rate, deviation, False
        )
    cost, cost_sd = mean(rows, 'cost'), mean(rows, 'cost_sd')
    # Of the others, the Gap says it without the luck of the draw.
    if method == 'dijkstra' and cost is not None and cell.cost is not None:
        deviation = (cost_sd or 0.0) / math.sqrt(queries)
        yield Comparison(*start, 'Cost', cost, cell.cost, deviation, False)
    if gap is not None and cell.gap is not None:
        sampled = (mean(rows, 'gap_sd') or 0.0) / math.sqrt(queries)
        printed = cell.gap_std is not None
        deviation = cell.gap_std if cell.gap_std is not None else sampled
        yield Comparison(*start, 'Gap', gap, cell.gap, deviation, printed)


def comparisons() -> Iterator[Comparison]:
    """All that both have, in the order of the paper."""
    rows = Results('table1_quality').rows
    for (name, costs), cell in paper.QUALITY.items():
        for method in _ours(name):
            found = select(rows, method=method, costs=costs)
            yield from compare('Table 1', method, costs, found, cell, 300)
    rows = Results('table2_layouts').rows
    for (layout, name, costs), cell in paper.LAYOUTS.items():
        for method in _ours(name):
            found = select(rows, layout=layout, method=method, costs=costs)
            place = f'{layout}, {costs}'
            yield from compare('Table 2', method, place, found, cell, 100)
    rows = Results('figure3_scaling').rows
    for (name, side), cell in paper.SCALING.items():
        for method in _ours(name):
            found = select(rows, method=method, side=side)
            place = f'N = {side * side}'
            yield from compare('Figure 3', method, place, found, cell, 100)
    rows = Results('table3_encoders').rows
    for (encoder, costs), gap in paper.ENCODERS.items():
        for method in _ours('bcm'):
            found = select(rows, encoder=encoder, method=method, costs=costs)
            cell, place = Reported(gap=gap), f'{encoder}, {costs}'
            yield from compare('Table 3', method, place, found, cell, 100)
    rows = Results('table4_visited').rows
    for (encoder, readout), (rate, _) in paper.VISITED.items():
        for method in _ours('bcm'):
            found = select(
                rows, encoder=encoder, method=method, readout=readout
            )
            cell, place = Reported(rate), f'{encoder}, {readout}'
            yield from compare('Table 4', method, place, found, cell, 100)


def disagreements() -> str:
    """A sentence for each method, table by table, and what we believe."""
    checked = list(comparisons())
    if not checked:
        return f'{NOT_RUN}.'
    by_method: dict[str, dict[str, list[str]]] = {}
    for one in checked:
        if one.differs():
            tables = by_method.setdefault(one.method, {})
            tables.setdefault(one.table, []).append(str(one))
    off = sum(one.differs() for one in checked)
    lines = [f'{off} of {len(checked)} numbers that both have differ.', '']
    for method in REASONS:
        if method in by_method:
            parts = [
                f'{table}: {"; ".join(cells)}.'
                for table, cells in by_method[method].items()
            ]
            label = _label(method)
            lines.append(f'- **{label}.** {" ".join(parts)} {REASONS[method]}')
    return '\n'.join(lines)


def _ours(name: str) -> list[str]:
    return [f'bcm_{kind}' for kind in MAPS] if name == 'bcm' else [name]


def _label(method: str) -> str:
    kind = method.removeprefix('bcm_')
    return MAPS[kind].label if kind in MAPS else BASELINES[method].label
