"""The paper's tables and figures with our numbers beside its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.lib.methods import (
    MAPS,
    METHODS,
    REGIMES,
)
from benchmarks.lib.results import Results, Row
from benchmarks.tables import paper_numbers as paper
from benchmarks.tables.disagreements import disagreements
from benchmarks.tables.markdown import (
    NOT_RUN,
    gap,
    gap_and_success,
    in_brackets,
    markdown,
    mean,
    number,
    of_the_time,
    rate_and_gap,
    seeds,
    select,
    spread,
    success,
    values,
)

#: All have the same routes; the paper shows those of the first.
EXACT = ('dijkstra', 'apsp', 'cch', 'cpd')
WEIGHTED_EIGEN = ('eigen_inverse', 'eigen_rbf')
WEIGHTED = ('mild', 'wide')
#: Points of a learning curve that are shown.
PARTS = 5
PAPER_LAYOUTS = ('ushape', 'block', 'wall')
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
    """Table 1 without costs of routes; one line for all that is exact."""
    rows = Results('table1_quality').rows
    head = ['method', 'reuse, weighted, sublinear', 'MB']
    for costs in REGIMES:
        head += [f'{costs}: SR', 'Gap %']

    def line(name: str, methods: Sequence[str]) -> list[str]:
        label, *properties = METHODS[name][:4]
        size = mean(select(rows, method=name, costs='wide'), 'megabytes')
        out = [label, ' '.join(properties), number(size, 3)]
        if name in EXACT:
            out = ['Dijkstra, APSP, CCH, CPD (exact)', '', '']
        for costs in REGIMES:
            found = sum(
                (select(rows, method=one, costs=costs) for one in methods), []
            )
            published = paper.QUALITY.get((_published(name), costs))
            if costs == 'mild' and name in WEIGHTED_EIGEN:
                low, high = paper.WEIGHTED_EIGEN_MILD
                out += [success(found), f'{gap(found)} ({low} to {high})']
                continue
            out += rate_and_gap(found, published)
        groups = [select(rows, method=name, costs=costs) for costs in REGIMES]
        return [*out, seeds(groups)]

    lines = [line('dijkstra', EXACT)]
    lines += [line(name, [name]) for name in METHODS if name not in EXACT]
    return markdown([*head, 'seeds (u/m/w)'], lines)


def route_costs() -> str:
    """The costs of Table 1, means over successful queries."""
    rows = Results('table1_quality').rows
    lines = []
    for name, method in METHODS.items():
        if name in EXACT[1:]:
            continue
        line = [method.label]
        for costs in REGIMES:
            found = select(rows, method=name, costs=costs)
            reported = paper.QUALITY.get((_published(name), costs))
            cost = reported.cost if reported else None
            text = spread(values(found, 'cost'), 1) if found else NOT_RUN
            line.append(in_brackets(text, cost))
        lines.append(line)
    return markdown(['mean cost of a route', *REGIMES], lines)


def layouts() -> str:
    """Table 2."""
    rows = Results('table2_layouts').rows
    head = ['layout', 'method', 'mild: SR', 'Gap %', 'wide: SR', 'Gap %']
    lines = []
    for layout, label in LAYOUT_LABELS.items():
        for name in ('apf', 'eigen', *(f'bcm_{kind}' for kind in MAPS)):
            line = [label, METHODS[name].label]
            groups = []
            for costs in WEIGHTED:
                key = layout, _published(name), costs
                fields = {'layout': layout, 'method': name, 'costs': costs}
                groups.append(select(rows, **fields))
                line += rate_and_gap(groups[-1], paper.LAYOUTS.get(key))
            if any(groups) or layout in PAPER_LAYOUTS:
                lines.append([*line, seeds(groups)])
    return markdown([*head, 'seeds (m/w)'], lines)


def encoders() -> str:
    """Table 3."""
    rows = Results('table3_encoders').rows
    head = ['encoder', 'grows with', 'parameters', 'objective']
    head += ['mild: Gap %', 'wide: Gap %', 'seeds (m/w)']
    lines = []
    for encoder, growth in GROWTH.items():
        for kind in MAPS:
            fields = {'encoder': encoder, 'method': f'bcm_{kind}'}
            size = number(mean(select(rows, **fields), 'parameters'), 0)
            if kind == 'paper':
                known = paper.ENCODER_PARAMETERS.get(encoder)
                size = in_brackets(size, known)
            line = [encoder, growth, size, _target(kind)]
            groups = []
            for costs in WEIGHTED:
                groups.append(select(rows, costs=costs, **fields))
                known = paper.ENCODERS.get((encoder, costs))
                known = known if kind == 'paper' else None
                line.append(in_brackets(gap_and_success(groups[-1]), known))
            if any(groups) or encoder in paper.ENCODER_PARAMETERS:
                lines.append([*line, seeds(groups)])
    return markdown(head, lines)


def visited() -> str:
    """Table 4, both readouts of the same maps: those with one do not count."""
    rows = Results('table4_visited').rows
    readouts = ('Greedy', 'VisitedGreedy')
    head = ['encoder', 'objective']
    for name in ('SR', 'wSPL'):
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
            line = [encoder, _target(kind) + of_the_time(sum(found, []))]
            cells = [*map(success, found)]
            cells += [spread(values(part, 'wspl'), 3) for part in found]
            known = [
                paper.VISITED[encoder, name]
                for name in readouts
                if (encoder, name) in paper.VISITED
            ]
            if kind == 'paper' and known:
                rates, wspls = zip(*known, strict=True)
                published = [f'{rate:.2f}' for rate in rates]
                published += [f'{wspl:.3f}' for wspl in wspls]
                cells = [*map(in_brackets, cells, published)]
            if both or known:
                lines.append([*line, *cells, len(both)])
    return markdown([*head, 'seeds'], lines)


def _map_of(row: Row) -> tuple:
    """What tells a trained map from another of its kind."""
    names = ('seed', 'train_steps', 'train_seconds')
    return tuple(row.get(name) for name in names)


def _published(name: str) -> str:
    """What the paper calls a method; of our maps one is the paper's."""
    return 'bcm' if name == 'bcm_paper' else name


def _target(kind: str) -> str:
    return MAPS[kind].label.removeprefix('BCM, ')


#: Sizes in the row of a graph, and those of peers that are built.
STORED = {
    'BCM': 'bcm',
    'EigenAgent': 'eigen',
    'APSP': 'apsp',
    'CML': 'cml',
    'APSP, packed next hops': 'apsp_packed',
}
BUILT = {'CPD': 'cpd', 'CCH on disk': 'cch'}


def storage() -> str:
    """Figure 3a: sizes in MB."""
    rows = Results('figure3_scaling').rows
    lines = []
    stored = sorted(select(rows, method='storage'), key=lambda row: row['side'])
    for row in stored:
        sizes = [row[f'{name}_megabytes'] for name in STORED.values()]
        for name in BUILT.values():
            found = select(rows, method=name, side=row['side'])
            sizes.append(mean(found, 'megabytes'))
        cells = (number(size, 3) for size in sizes)
        lines.append([f'{row["nodes"]:,}', *cells])
    head = ['N, sizes in MB', *STORED, *BUILT]
    return markdown(head, lines) if lines else f'{NOT_RUN}.'


def storage_agrees() -> str:
    """How many of the sizes that the paper prints are ours."""
    rows = Results('figure3_scaling').rows
    pairs = []
    for name, sizes in paper.MEGABYTES.items():
        for side, size in sizes.items():
            for row in select(rows, method='storage', side=side):
                pairs.append((row[f'{name}_megabytes'], size))
    same = sum(abs(ours - printed) < 6e-4 for ours, printed in pairs)
    if not pairs:
        return f'{NOT_RUN}.'
    return (
        f'{same} of the {len(pairs)} sizes that the paper prints agree to the '
        'last digit.'
    )


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
            if not found and side not in paper.SCALING_SIDES:
                cell = '-'  # the paper has none, and we did not plan it
            reported = paper.SCALING.get((_published(name), side))
            known = reported.gap if reported else None
            line.append(in_brackets(cell, known))
        lines.append([*line, seeds(groups)])
    head.append('seeds')
    return markdown(head, lines) if lines else f'{NOT_RUN}.'


def learning() -> str:
    """How the Gap of the paper's objective falls with the steps."""
    rows = Results('learning_curves').rows
    lines = []
    for row in sorted(
        (row for row in rows if row['targets'] == 'paper'),
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
            failed = '' if rate == 1 else f', SR {rate:.3f}'
            found.setdefault(part, number(percent, 1) + failed)
        layout = LAYOUT_LABELS[row['layout']]
        line = [f'{row["side"] ** 2:,}', layout, row['costs']]
        line += [row['encoder'], row['seed'], f'{row["train_steps"]:,}']
        seconds = row['cpu_seconds']
        line.append(number(None if seconds is None else seconds / 60, 0))
        lines.append([*line, *(found.get(n + 1, '-') for n in range(PARTS))])
    head = ['N', 'layout', 'costs', 'encoder', 'seed', 'steps', 'CPU minutes']
    head += [f'{100 * (n + 1) // PARTS} %' for n in range(PARTS)]
    return markdown(head, lines) if lines else f'{NOT_RUN}.'


def tuning() -> str:
    """Settings of the paper's objective, one change at a time."""
    lines = [
        [
            f'{row["side"] ** 2:,}',
            row['costs'],
            row['seed'],
            f'{row["train_steps"]:,}',
            number(row['train_cpu_seconds'], 0),
            row['name'],
            f'{row["success_rate"]:.3f}',
            number(row['gap'], 2),
            number(row['distance_error'], 1),
        ]
        for row in Results('paper_tuning').rows
        if 'name' in row  # others are of prototypes
    ]
    head = ['N', 'costs', 'seed', 'steps', 'CPU s', 'change']
    head += ['SR', 'Gap %', 'MRE %']
    return markdown(head, lines) if lines else f'{NOT_RUN}.'


def paths() -> str:
    """Figure 1: what the routes cost, for the seed of the picture."""
    rows = Results('figure1_paths').rows
    lines = [
        [
            method.label + of_the_time([row]),
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
    'table1_costs': route_costs,
    'table2_layouts': layouts,
    'table3_encoders': encoders,
    'table4_visited': visited,
    'figure1_paths': paths,
    'figure3_storage': storage,
    'storage_agrees': storage_agrees,
    'figure3_scaling': scaling,
    'paper_learning': learning,
    'paper_tuning': tuning,
    'disagreements': disagreements,
}
