"""The tables of roads: costs of all sizes, encoders, distances, updates."""

from __future__ import annotations

from benchmarks.lib.results import Results
from benchmarks.tables.markdown import NOT_RUN, markdown
from benchmarks.tables.real import gap_cell, walk_cell

#: The workload of W_Jinan as published (arXiv 2602.04068): what learns its
#: distances from labels, MRE in percent, and MB.
SURVEY = {
    'LandmarkNN (landmarks and coordinates)': (3.10, 4.7),
    'CatBoost (landmarks and coordinates)': (3.29, 13),
    'ANEDA': (5.82, 2.2),
    'RNE': (5.83, 2.2),
    'GeoDNN (coordinates alone)': (6.65, 0.09),
    'RGATdist2vec': (6.75, 0.6),
    'Ndist2vec': (7.09, 2.2),
    'Vdist2vec': (8.26, 2.2),
    'Landmarks, upper bound': (36.0, 2.2),
}
#: What a distance may take, in microseconds, where a search is part of it.
SEARCH_TIME = 100.0


def heavy_tails() -> str:
    """What one change at a time does on the roads of Andorra."""
    rows = [
        [
            row['change'],
            f'{row["nodes"]:,}',
            f'{row["mre"]:.1f}',
            walk_cell(row['methods']['VisitedGreedy']),
            gap_cell(row['methods']['BestFirst']),
        ]
        for row in Results('heavy_tails').rows
    ]
    head = ['change', 'nodes trained on', 'MRE %']
    head += ['`VisitedGreedy`: SR, Gap %', '`BestFirst`: Gap %']
    return markdown(head, rows) if rows else NOT_RUN


def encoders_real() -> str:
    """Error of distances and routes of each encoder, and its size.

    Of several runs the one with most steps.
    """
    runs = sorted(Results('encoders_real').rows, key=lambda row: row['steps'])
    names = ('graph', 'targets', 'encoder', 'seed')
    best = {tuple(row[name] for name in names): row for row in runs}
    rows = [
        [
            row['graph'],
            row['encoder'],
            f'{row["parameters"]:,}',
            row['steps'],
            f'{row["train_seconds"]:.0f}',
            f'{row["mre"]:.2f}',
            f'{row["success_rate"]:.3f}',
            gap_cell(row),
        ]
        for row in best.values()
    ]
    head = ['graph', 'encoder', 'parameters', 'steps', 'seconds']
    head += ['MRE %', 'SR', 'Gap %']
    return markdown(head, rows) if rows else NOT_RUN


def near_distances() -> str:
    """Error and time against the expansions of the exact search."""
    lines = []
    kinds = {'exact': ', labels', 'sweeps': ', self-supervised'}
    for row in Results('near_distances').rows:
        cells = [
            f'{found["mre"]:.2f}, {100 * found["exact"]:.0f}, '
            f'{found["cpu_us"]:.0f}'
            for found in row['within'].values()
        ]
        way = f'a map{kinds.get(row["targets"], "")}' if row['map'] else ''
        if row['landmarks'] or not way:
            way += f'{" + " if way else ""}{row["landmarks"]} landmarks'
        size = row['int8_bytes'] + row['landmark_bytes']
        lines.append([row['graph'], way, f'{size / 1e6:.2f}', *cells])
        limits = [f'n = {limit}' for limit in row['within']]
    if not lines:
        return f'{NOT_RUN}.'
    return markdown(['graph', 'by', 'MB', *limits], lines)


def jinan() -> str:
    """Distances of W_Jinan beside those that a survey has published."""
    published = [
        [f'*{name}*', 'labels', f'{mre:.2f}', f'{size:g}', '']
        for name, (mre, size) in SURVEY.items()
    ]
    lines = []
    for row in Results('near_distances').rows:
        if row['graph'] != 'w_jinan' or not row['map']:
            continue
        kind = 'labels' if row['targets'] == 'exact' else 'none'
        size = (row['int8_bytes'] + row['landmark_bytes']) / 1e6
        name = f'a map, {row["parameters"]:,} parameters'
        if row['landmarks']:
            name += f', + {row["landmarks"]} landmarks'
        limits = ['0']
        limits += [
            limit
            for limit, found in row['within'].items()
            if found['cpu_us'] <= SEARCH_TIME and limit != '0'
        ][-1:]
        for limit in limits:
            found, searched = row['within'][limit], ''
            if limit != '0':
                searched = f', `exact_within={limit}`'
            cells = [f'{found["mre"]:.2f}', f'{size:.2f}']
            lines.append(
                [name + searched, kind, *cells, f'{found["cpu_us"]:.0f}']
            )
    lines = lines or [['a map', NOT_RUN, '', '', '']]
    head = ['method', 'trained on', 'MRE %', 'MB', 'CPU µs']
    return markdown(head, [*published, *lines])


def updates() -> str:
    """Gap after a change, by what was trained since."""
    lines = []
    for row in Results('updates').rows:
        for part in row['shares']:
            ways = (part['kept'], part['chosen'])
            lines.append(
                [
                    row['graph'],
                    row['change'],
                    f'{100 * part["share"]:g}',
                    f'{part["cpu_seconds"]:.0f}',
                    *map(walk_cell, ways),
                    f'{part["choice_cpu_seconds"]:.1f}',
                ]
            )
    head = ['graph', 'change', '% of the training', 'CPU s']
    head += ['corridor of before: SR, Gap %', 'chosen anew: SR, Gap %']
    return markdown([*head, 'its CPU s'], lines) if lines else NOT_RUN


ROAD_TABLES = {
    'heavy_tails': heavy_tails,
    'encoders_real': encoders_real,
    'near_distances': near_distances,
    'jinan': jinan,
    'updates': updates,
}
