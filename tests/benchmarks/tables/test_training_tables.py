"""Tables of objectives have the rows of the paper's tables."""

from table_rows import add, lines, row

from benchmarks.tables.markdown import NOT_RUN
from benchmarks.tables.training import training_summary, training_table


def of_map(kind, **fields):
    """The row of a map with all of its steps under wide costs."""
    plain = {
        'method': f'bcm_{kind}',
        'readout': 'VisitedGreedy',
        'parameters': 62_848,
        'train_steps': 59_406,
        'budget_steps': 59_406,
        'train_cpu_seconds': 600.0,
    }
    if kind == 'paper':
        plain |= {'parameters': 186_112, 'train_cpu_seconds': None}
        plain |= {'train_steps': 51_200, 'budget_steps': 51_200}
    return row(**{**plain, **fields})


def test_nothing_run(folders):
    assert training_summary() == training_table() == NOT_RUN


def test_objectives_side_by_side(folders):
    add(
        'table1_quality',
        row(method='eigen', readout='VisitedGreedy', gap=77.0),
        of_map('sweeps', gap=1.0),
        of_map('sweeps', gap=2.0, seed=111, success_rate=0.99),
        of_map('paper', gap=5.0),
        of_map('exact', gap=9.0, readout='Greedy'),
        of_map('exact', gap=9.0, layout='wall'),
    )
    add('figure3_scaling', of_map('sweeps', gap=1.0))  # the same map
    small = {'side': 20, 'budget_steps': 13_187, 'train_steps': 13_187}
    add('figure3_scaling', of_map('exact', gap=0.5, **small))
    assert lines(training_summary())[2:] == [
        ['U, wide, N = 400', NOT_RUN, NOT_RUN, '0.50', '-'],
        ['U, wide, N = 1,600', '1.50 ± 0.71, SR 0.995', '5.00']
        + [NOT_RUN, '5.07'],
    ]
    graph = 'U, wide, N = 1,600'
    ours, theirs = 'ours, self-supervised', "the paper's objective"
    assert lines(training_table(), graph) == [
        [graph, ours, '62,848', '59,406', '10', '0.995', '1.50 ± 0.71']
        + ['5.07', '42, 111'],
        [graph, theirs, '186,112', '51,200', '-', '1.000', '5.00']
        + ['5.07', '42'],
    ]
    (found,) = lines(training_table(), 'N = 400')
    assert found[1:5] == [
        'exact targets (supervised)',
        '62,848',
        '13,187',
        '10',
    ]


def test_maps_of_an_earlier_version_are_marked(folders):
    old = of_map('sweeps', gap=3.0, budget_seconds=600.0)
    del old['budget_steps']
    add('table1_quality', old, {**old, 'seed': 111})
    assert '| 3.00 ± 0.00 [earlier version] |' in training_summary()
    (found,) = lines(training_table(), 'ours')
    assert found[6] == '3.00 ± 0.00 [earlier version]'
    add('table1_quality', of_map('sweeps', gap=1.0, num_queries=5))
    (found,) = lines(training_table(), 'ours')
    assert found[6] == '1.00' and found[-1] == '42'


def test_graphs_are_in_order(folders):
    for costs in ('uniform', 'mild', 'wide'):
        add('table1_quality', of_map('paper', costs=costs, gap=1.0))
    add('figure3_scaling', of_map('paper', side=100, gap=1.0))
    add('figure3_scaling', of_map('paper', side=20, gap=1.0))
    assert [line[0] for line in lines(training_summary())[2:]] == [
        'U, wide, N = 400',
        'U, wide, N = 1,600',
        'U, mild, N = 1,600',
        'U, uniform, N = 1,600',
        'U, wide, N = 10,000',
    ]
