"""The paper's tables and figures with our numbers beside its own."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.lib.methods import (
    BASELINES,
    MAPS,
    METHODS,
    REGIMES,
    Method,
)
from benchmarks.lib.results import Results, Row
from benchmarks.tables import paper_numbers as paper
from benchmarks.tables.disagreements import disagreements
from benchmarks.tables.markdown import (
    NOT_RUN,
    beside,
    cells,
    gap,
    gap_and_success,
    markdown,
    mean,
    number,
    of_the_time,
    reported,
    seeds,
    select,
    spread,
    success,
    values,
)

IN_PAPER = '*in the paper*'
WEIGHTED = ('mild', 'wide')
#: Points of a learning curve that are shown.
PARTS = 5
LAYOUT_LABELS = {
    'ushape': 'U',
    'block': 'centre block',
    'wall': 'wall with gap',
    'maze': 'maze',
}
GROWTH = {
    'one_hot': 'N',
    'k_hot': 'sqrt(N)',
    'interaction': 'sqrt(N)',
    'gnn': 'nothing',
}


def quality() -> str:
    """Table 1. Sizes are those under wide costs: they matter to the CPD."""
    rows = Results('table1_quality').rows
    head = ['method', 'Reuse', 'Weighted', 'Sublinear', 'MB']
    for costs in REGIMES:
        head += [f'{costs} SR', 'Cost', 'Gap %']

    def ours(name: str, method: Method) -> list[str]:
        found = [select(rows, method=name, costs=costs) for costs in REGIMES]
        line = [method.label, *method[1:4]]
        line.append(number(mean(found[-1], 'megabytes'), 3))
        for part in found:
            line += cells(part)
        return [*line, seeds(found)]

    def published(name: str, label: str) -> list[list[str]]:
        known = [paper.QUALITY.get((name, costs)) for costs in REGIMES]
        if not any(known):
            return []
        line = [label, '', '', '', '', *sum(map(reported, known), []), '']
        if name in ('eigen_inverse', 'eigen_rbf'):
            low, high = paper.WEIGHTED_EIGEN_MILD
            line[head.index('mild SR') + 2] = f'{low} to {high}'
        return [line]

    lines = []
    for name, method in BASELINES.items():
        lines.append(ours(name, method))
        if name == 'apsp':
            packed = mean(select(rows, method='apsp'), 'packed_megabytes')
            line = ['the same, next hops packed', *method[1:4]]
            lines.append([*line, number(packed, 3), *10 * ['']])
        lines += published(name, IN_PAPER)
    lines += [ours(f'bcm_{kind}', MAPS[kind]) for kind in MAPS]
    lines += published('bcm', '*BCM in the paper*')
    return markdown([*head, 'seeds (u/m/w)'], lines)


def layouts() -> str:
    """Table 2."""
    rows = Results('table2_layouts').rows
    head = ['layout', 'method', 'mild SR', 'Cost', 'Gap %']
    head += ['wide SR', 'Cost', 'Gap %', 'seeds (m/w)']

    def ours(layout: str, name: str, label: str) -> list[str]:
        found = [
            select(rows, layout=layout, method=name, costs=costs)
            for costs in WEIGHTED
        ]
        line = [LAYOUT_LABELS[layout], label]
        return [*line, *sum(map(cells, found), []), seeds(found)]

    def published(layout: str, name: str, label: str) -> list[list[str]]:
        known = [paper.LAYOUTS.get((layout, name, costs)) for costs in WEIGHTED]
        if not any(known):
            return []
        line = [LAYOUT_LABELS[layout], label]
        return [[*line, *sum(map(reported, known), []), '']]

    lines = []
    for layout in LAYOUT_LABELS:
        for name in ('dijkstra', 'apf', 'eigen'):
            lines.append(ours(layout, name, BASELINES[name].label))
            lines += published(layout, name, IN_PAPER)
        for kind in MAPS:
            lines.append(ours(layout, f'bcm_{kind}', MAPS[kind].label))
        lines += published(layout, 'bcm', '*BCM in the paper*')
    return markdown(head, lines)


def encoders() -> str:
    """Table 3."""
    rows = Results('table3_encoders').rows
    head = ['encoder', 'grows with', 'parameters', '*paper*', 'targets']
    head += ['mild SR', 'mild Gap %', '*paper*', 'wide SR', 'wide Gap %']
    head += ['*paper*', 'seeds (m/w)']
    lines = []
    for encoder, growth in GROWTH.items():
        for kind in MAPS:
            found = [
                select(rows, encoder=encoder, method=f'bcm_{kind}', costs=costs)
                for costs in WEIGHTED
            ]
            parameters = mean(sum(found, []), 'parameters')
            line = [encoder, growth, number(parameters, 0)]
            line += [paper.ENCODER_PARAMETERS.get(encoder, '-'), _target(kind)]
            for costs, part in zip(WEIGHTED, found, strict=True):
                line += [success(part), gap(part)]
                line.append(str(paper.ENCODERS.get((encoder, costs), '-')))
            lines.append([*line, seeds(found)])
    return markdown(head, lines)


def visited() -> str:
    """Table 4: efficiency is the share of the optimum among successes.

    Both readouts of the same maps: a map with one of them does not count.
    """
    rows = Results('table4_visited').rows
    readouts = ('Greedy', 'VisitedGreedy')
    head = ['encoder', 'targets']
    for name in ('SR', 'wSPL', 'efficiency'):
        head += [f'{name}, no memory', f'{name}, visited-aware']
    lines = []
    for encoder in GROWTH:
        for kind in MAPS:
            found = [
                select(
                    rows, encoder=encoder, method=f'bcm_{kind}', readout=name
                )
                for name in readouts
            ]
            both = set.intersection(*(set(map(_map_of, one)) for one in found))
            found = [[r for r in one if _map_of(r) in both] for one in found]
            target = _target(kind) + of_the_time(sum(found, []))
            line = [encoder, target, *map(success, found)]
            for name in ('wspl', 'efficiency'):
                line += [spread(values(part, name), 3) for part in found]
            lines.append([*line, len(both)])
        if (encoder, 'Greedy') in paper.VISITED:
            pairs = [paper.VISITED[encoder, name] for name in readouts]
            line = [encoder, IN_PAPER, *(f'{sr:.2f}' for sr, _ in pairs)]
            line += [f'{wspl:.3f}' for _, wspl in pairs]
            line += [f'{wspl / sr:.3f}' for sr, wspl in pairs]
            lines.append([*line, ''])
    return markdown([*head, 'seeds'], lines)


def _map_of(row: Row) -> tuple:
    """What tells a trained map from another of its kind."""
    names = ('seed', 'train_steps', 'train_seconds')
    return tuple(row.get(name) for name in names)


def _target(kind: str) -> str:
    return MAPS[kind].label.removeprefix('BCM, ')


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


def learning() -> str:
    """How the Gap of the paper's objective falls with the steps."""
    rows = Results('paper_curves').rows
    lines = []
    for row in sorted(
        rows,
        key=lambda row: (
            row['side'],
            row['layout'],
            row['costs'],
            row['encoder'],
            row['seed'],
        ),
    ):
        found = {}
        for step, _, percent, rate in row['curve']:
            # The first of each part that is reached; the last is the end.
            part = step * PARTS // row['train_steps']
            failed = '' if rate == 1 else f' ({rate:.3f})'
            found.setdefault(part, number(percent, 1) + failed)
        line = [f'{row["side"] ** 2:,}', row['layout'], row['costs']]
        line += [row['encoder'], row['seed'], f'{row["train_steps"]:,}']
        seconds = row['cpu_seconds']
        line.append(number(None if seconds is None else seconds / 60, 0))
        lines.append([*line, *(found.get(n + 1, '-') for n in range(PARTS))])
    head = ['N', 'layout', 'costs', 'encoder', 'seed', 'steps', 'CPU minutes']
    head += [f'{100 * (n + 1) // PARTS} %' for n in range(PARTS)]
    return markdown(head, lines) if lines else f'{NOT_RUN}.'


def paths() -> str:
    """Figure 1: what the routes cost, for the seed of the picture."""
    rows = Results('figure1_paths').rows
    lines = [
        [
            method.label,
            'reached' if row['success'] else 'failed',
            row['steps'],
            number(row['cost'], 1),
            number(row['excess_percent'], 1),
        ]
        for name, method in METHODS.items()
        for row in select(rows, method=name, seed=42)
    ]
    head = ['method', 'goal', 'steps', 'cost', 'more than the optimum, %']
    return markdown(head, lines) if lines else f'{NOT_RUN}.'


PAPER_TABLES: dict[str, Callable[[], str]] = {
    'table1_quality': quality,
    'table2_layouts': layouts,
    'table3_encoders': encoders,
    'table4_visited': visited,
    'figure1_paths': paths,
    'figure3_storage': storage,
    'figure3_scaling': scaling,
    'paper_learning': learning,
    'disagreements': disagreements,
}
