"""What the figures show, as tables, with the paper's numbers beside."""

from __future__ import annotations

from benchmarks.lib.methods import BASELINES, MAPS
from benchmarks.lib.results import Results
from benchmarks.tables import paper_numbers as paper
from benchmarks.tables.cells import (
    beside,
    gap_and_success,
    number,
    seeds,
    success,
)
from benchmarks.tables.markdown import NOT_RUN, markdown
from benchmarks.tables.row_groups import mean, select, time_share


def storage() -> str:
    """Figure 3a: sizes, and how many maps fit into the others."""
    rows = Results('figure3_scaling').rows
    lines = []
    stored = sorted(select(rows, method='storage'), key=lambda row: row['side'])
    for row in stored:
        side, bcm = row['side'], row['bcm_megabytes']
        line = [f'{row["nodes"]:,}']
        line += [
            f'{row[f"bcm_{part}_megabytes"]:.3f}'
            for part in ('fixed', 'coordinates')
        ]
        line.append(beside(bcm, paper.MEGABYTES['bcm'].get(side)))
        for name in ('eigen', 'apsp'):
            size = row[f'{name}_megabytes']
            cell = beside(size, paper.MEGABYTES[name].get(side))
            ratio = paper.RATIOS[name].get(side)
            line += [cell, beside(size / bcm, ratio, 1)]
        line.append(f'{row["cml_megabytes"]:.1f}')
        line.append(f'{row["apsp_packed_megabytes"]:.3f}')
        for name in ('cpd', 'cch'):
            found = select(rows, method=name, side=side)
            line.append(number(mean(found, 'megabytes'), 3))
        lines.append(line)
    head = [
        'N',
        'BCM, transition MB',
        'BCM, coordinates MB',
        'BCM MB',
        'EigenAgent MB',
        'over BCM',
        'APSP MB',
        'over BCM',
        'CML MB',
        'APSP, packed next hops MB',
        'CPD MB',
        'CCH on disk MB',
    ]
    return markdown(head, lines) if lines else f'{NOT_RUN}.'


def scaling() -> str:
    """Figure 3b: Gap by size; seeds in the order of the columns."""
    rows = Results('figure3_scaling').rows
    names = ['eigen', *(f'bcm_{kind}' for kind in MAPS)]
    head = ['N', 'EigenAgent Gap %', *(MAPS[kind].label for kind in MAPS)]
    lines = []
    for side in sorted({row['side'] for row in rows}):
        line = [f'{side * side:,}']
        groups = [select(rows, method=name, side=side) for name in names]
        for name, found in zip(names, groups, strict=True):
            cell = gap_and_success(found)
            if name == 'eigen' and not found and side > 60:
                cell = 'too large'
            reported = paper.SCALING.get((name, side))
            line.append(f'{cell} ({reported.gap})' if reported else cell)
        published = paper.SCALING.get(('bcm', side))
        line.append(str(published.gap) if published else '-')
        lines.append([*line, seeds(groups)])
    head += ['*BCM in the paper*', 'seeds']
    return markdown(head, lines) if lines else f'{NOT_RUN}.'


def patience() -> str:
    """What the paper's objective comes to where it had more than our time."""
    rows = [
        row
        for row in Results('figure3_scaling').rows
        if (row['method'], row.get('seed')) == ('bcm_paper', 42)
        and time_share(row) >= 1
    ]
    longer = {row['side'] for row in rows if time_share(row) > 1}
    shown = [row for row in rows if row['side'] in longer]
    shown.sort(key=lambda row: (row['side'], row['budget_seconds']))
    lines = [
        [
            f'{row["side"] ** 2:,}',
            f'{row["train_steps"]:,}',
            success([row]),
            number(row['gap'], 2),
        ]
        for row in shown
    ]
    head = ['N', 'steps', 'SR', 'Gap %']
    return markdown(head, lines) if lines else f'{NOT_RUN}.'


def paths() -> str:
    """Figure 1: what the routes cost, for the seed of the picture."""
    rows = Results('figure1_paths').rows
    labels = {name: method.label for name, method in BASELINES.items()}
    labels |= {f'bcm_{kind}': MAPS[kind].label for kind in MAPS}
    lines = [
        [
            label,
            'reached' if row['success'] else 'failed',
            row['steps'],
            number(row['cost'], 1),
            number(row['excess_percent'], 1),
        ]
        for name, label in labels.items()
        for row in select(rows, method=name, seed=42)
    ]
    head = ['method', 'goal', 'steps', 'cost', 'more than the optimum, %']
    return markdown(head, lines) if lines else f'{NOT_RUN}.'
