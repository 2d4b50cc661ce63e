"""The paper's tables with our numbers beside its own."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.lib.methods import BASELINES, MAPS, Method
from benchmarks.lib.results import Results
from benchmarks.tables import paper_numbers as paper
from benchmarks.tables.cells import (
    cells,
    gap,
    number,
    of_the_time,
    reported,
    seeds,
    success,
)
from benchmarks.tables.disagreements import disagreements
from benchmarks.tables.figures import paths, patience, scaling, storage
from benchmarks.tables.markdown import markdown, spread
from benchmarks.tables.row_groups import Row, mean, select, values

IN_PAPER = '*in the paper*'
REGIMES = ('uniform', 'mild', 'wide')
WEIGHTED = ('mild', 'wide')
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
    names = ('seed', 'budget_seconds', 'train_steps', 'train_seconds')
    return tuple(row.get(name) for name in names)


def _target(kind: str) -> str:
    return MAPS[kind].label.removeprefix('BCM, ')


PAPER_TABLES: dict[str, Callable[[], str]] = {
    'table1_quality': quality,
    'table2_layouts': layouts,
    'table3_encoders': encoders,
    'table4_visited': visited,
    'figure1_paths': paths,
    'figure3_storage': storage,
    'figure3_scaling': scaling,
    'paper_objective_longer': patience,
    'disagreements': disagreements,
}
