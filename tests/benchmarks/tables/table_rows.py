"""Rows of results as tables get them, and what tables make of them."""

from benchmarks.lib.results import Results


def row(**fields):
    plain = {
        'layout': 'ushape',
        'side': 40,
        'costs': 'wide',
        'seed': 42,
        'num_queries': 1000,
        'success_rate': 1.0,
        'cost': 110.0,
        'cost_sd': 50.0,
        'gap': 0.0,
        'gap_sd': 20.0,
        'wspl': 1.0,
        'efficiency': 1.0,
        'megabytes': 0.5,
    }
    return {**plain, **fields}


def add(name, *rows):
    results = Results(name)
    for one in rows:
        results.add(one)


def lines(table, *parts):
    """The cells of the rows that have all the parts."""
    return [
        [cell.strip() for cell in line.strip('|').split('|')]
        for line in table.splitlines()
        if all(part in line for part in parts)
    ]
