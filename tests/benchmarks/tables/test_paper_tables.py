"""Tables of results that are missing, partial or complete."""

import pytest
from table_rows import add, lines, row

from bcm_pyg.datasets import weighted_grid
from benchmarks.lib.methods import MAPS, map_steps
from benchmarks.scripts.figure3_scaling import storage_row
from benchmarks.tables import paper_numbers as paper
from benchmarks.tables.markdown import (
    NOT_RUN,
    best_rows,
    of_the_time,
    select,
    spread,
    time_share,
)
from benchmarks.tables.paper import (
    PAPER_TABLES,
    encoders,
    layouts,
    learning,
    paths,
    quality,
    route_costs,
    scaling,
    storage,
    storage_agrees,
    tuning,
    visited,
)


def test_spread():
    assert spread([], 2) == spread([None], 2) == '-'
    assert spread([1.0, None], 2) == '1.00'
    assert spread([1.0, 3.0], 1) == '2.0 ± 1.4'


@pytest.mark.parametrize('name', PAPER_TABLES)
def test_tables_without_results(name, folders):
    assert NOT_RUN in PAPER_TABLES[name]()


def test_tables_have_as_many_cells_as_heads(folders):
    for table in (quality(), layouts(), encoders(), visited()):
        assert len({line.count('|') for line in table.splitlines()}) == 1


def test_quality(folders):
    add(
        'table1_quality',
        row(method='eigen', gap=40.0),
        row(method='eigen', gap=44.0, seed=111, success_rate=0.9999),
        row(method='eigen', gap=9.0, costs='mild'),
        row(method='dijkstra'),
        row(method='cch', gap=1.0),
        row(method='bcm_paper', gap=3.0),
        row(method='bcm_sweeps', gap=2.0),
    )
    ours = lines(quality(), 'EigenAgent |')[0]
    assert ours[:3] == ['EigenAgent', '✓ ✗ ✗', '0.500']
    assert ours[3:5] == [f'{NOT_RUN} (1.00)', '- (4.4 ± 1.1)']
    assert ours[5:7] == ['1.000 (1.00)', '9.00 (24.4 ± 1.7)']
    assert ours[7:9] == ['0.999 (1.00)', '42.0 ± 2.8 (47.2 ± 1.7)']
    assert ours[9] == '0/1/2'
    exact = lines(quality(), '(exact)')
    assert len(exact) == 1 and exact[0][8] == '0.50 ± 0.71 (0.0)'  # of both
    assert lines(quality(), 'RBF')[0][5:7] == [NOT_RUN, '- (21.4 to 22.9)']
    assert lines(quality(), "paper's objective")[0][8] == '3.00 (5.07 ± 0.64)'
    assert lines(quality(), 'our default')[0][8] == '2.00'


def test_costs_of_routes(folders):
    add('table1_quality', row(method='eigen'), row(method='bcm_exact'))
    assert lines(route_costs(), 'EigenAgent |')[0] == [
        'EigenAgent',
        f'{NOT_RUN} (29.9)',
        f'{NOT_RUN} (59.5)',
        '110.0 (163.0)',
    ]
    assert lines(route_costs(), 'exact targets')[0][3] == '110.0'


def test_the_row_with_most_queries_counts():
    few, many = row(num_queries=10, gap=9.0), row(gap=1.0)
    other = row(gap=2.0, seed=1)
    assert best_rows([few, many, other]) == [many, other]
    assert best_rows([many, few]) == [many]
    assert select([few, many, other], costs='wide') == [other, many]


def trained(kind='sweeps', share=1.0, **fields):
    """The row of a map with a share of the usual steps."""
    plain = row(method=f'bcm_{kind}', **fields)
    steps = map_steps(kind, plain['side'], plain['costs'], share)
    return {**plain, 'budget_steps': steps}


def of_an_earlier_version(**fields):
    return row(method='bcm_sweeps', **{'budget_seconds': 600.0, **fields})


def test_the_row_with_the_usual_training_counts_first():
    full = trained(num_queries=10)
    short, long = trained(share=0.25), trained(share=4)
    for rows in ([full, short, long], [long, short, full]):
        assert best_rows(rows) == [full]
    assert best_rows([long, short]) == [short]
    unusual = [
        row(side=10, method='bcm_exact', budget_steps=n, num_queries=n)
        for n in (1, 2)
    ]
    assert best_rows(unusual) == unusual[1:]


def test_rows_of_an_earlier_version_count_where_there_are_no_others():
    old = of_an_earlier_version()
    few, other_seed = trained(share=0.1, num_queries=10), trained(seed=111)
    for new in (few, other_seed):
        assert best_rows([old, new]) == best_rows([new, old]) == [new]
    for new in (
        trained('exact'),
        trained(layout='wall'),
        trained(encoder='k_hot'),
    ):
        assert best_rows([old, new]) == [old, new]  # of other cells
    longer = of_an_earlier_version(budget_seconds=900.0, num_queries=10)
    more = of_an_earlier_version(num_queries=2000)
    assert best_rows([old, longer, more]) == [longer]
    assert best_rows([old, more]) == [more]


def test_other_trainings_are_marked():
    full, half, double = (trained(share=share) for share in (1, 0.5, 2))
    assert of_the_time([]) == of_the_time([row()]) == of_the_time([full]) == ''
    assert of_the_time([row(method='eigen')]) == ''
    assert of_the_time([half]) == ' [50 % steps]'
    assert of_the_time([double]) == ' [200 % steps]'
    assert of_the_time([full, half, half]) == ' [50 % steps and 100 % steps]'
    assert of_the_time([trained(costs='uniform')]) == ''
    assert of_the_time([trained('exact', 0.3)]) == ' [30 % steps]'
    old = of_an_earlier_version(budget_seconds=1.0)
    assert of_the_time([old, old]) == ' [earlier version]'
    assert of_the_time([old, full]) == ' [100 % steps and earlier version]'


def test_layouts(folders):
    add('table2_layouts', row(method='bcm_sweeps', layout='maze', gap=1.0))
    (found,) = lines(layouts(), '| maze')  # nothing else is there or published
    assert found[1:] == [
        'BCM, our default (self-supervised)',
        NOT_RUN,
        '',
        '1.000',
        '1.00',
        '0/1',
    ]
    wall = lines(layouts(), 'wall', "paper's objective")[0]
    missing = f'{NOT_RUN} (1.00)'
    assert wall[2:] == [missing, '- (3.0)', missing, '- (5.3)', '0/0']


def test_encoders_and_visited(folders):
    fields = {'encoder': 'k_hot', 'parameters': 152320, 'gap': 5.0}
    add('table3_encoders', row(method='bcm_sweeps', **fields))
    found = lines(encoders(), 'k_hot')
    assert [line[3] for line in found] == [
        MAPS[kind].label.removeprefix('BCM, ') for kind in MAPS
    ]
    assert [line[2] for line in found] == ['- (152K)', '152,320', '-']
    size = {'encoder': 'one_hot', 'parameters': 541440}
    add('table3_encoders', row(method='bcm_paper', gap=1.0, **size))
    assert lines(encoders(), 'one_hot')[0][2] == '541,440 (541K)'
    assert found[0][4:] == [f'{NOT_RUN} (12.82)', f'{NOT_RUN} (15.88)', '0/0']
    assert found[1][4:] == [NOT_RUN, '5.00', '0/1']
    assert not lines(encoders(), 'gnn')
    fields |= {'method': 'bcm_exact', 'readout': 'Greedy'}
    add('table4_visited', row(**fields, success_rate=0.5, wspl=0.45))
    found = lines(visited(), 'k_hot', 'supervised')[-1]
    assert found[2:] == [NOT_RUN, NOT_RUN, '-', '-', '0']
    fields['readout'] = 'VisitedGreedy'
    other = row(**{**fields, 'seed': 111}, success_rate=0.1)
    add('table4_visited', other, row(**fields, success_rate=0.9, wspl=0.8))
    for readout, steps in (('Greedy', 5), ('VisitedGreedy', 6)):
        of_two_maps = {**fields, 'readout': readout, 'seed': 512}
        add('table4_visited', row(**of_two_maps, train_steps=steps))
    found = lines(visited(), 'k_hot', 'supervised')[-1]  # of 42 alone
    assert found[2:] == ['0.500', '0.900', '0.450', '0.800', '1']
    found = lines(visited(), 'interaction', "paper's objective")[0]
    rates = [f'{NOT_RUN} (0.84)', f'{NOT_RUN} (1.00)']
    assert found[2:] == [*rates, '- (0.799)', '- (0.950)', '0']


def test_figures(folders):
    sizes = storage_row(weighted_grid('ushape', side=40))
    key = {'method': 'storage', 'layout': 'ushape', 'side': 40}
    add('figure3_scaling', {**key, **sizes}, row(method='cpd', megabytes=0.1))
    found = lines(storage(), '1,600')[0]
    assert found[1:4] == ['0.744', '9.824', '30.720']
    assert found[-2:] == ['0.100', '-']
    assert storage_agrees().startswith('3 of the 3 sizes')
    add('figure3_scaling', {**key, **sizes, 'side': 20})  # those of another
    assert storage_agrees().startswith('3 of the 6 sizes')
    add('figure3_scaling', row(method='bcm_paper', gap=3.0, success_rate=0.5))
    add('figure3_scaling', row(method='bcm_exact', side=100, gap=12.0))
    found = lines(scaling(), '1,600')[0]
    assert found[1:3] == [f'{NOT_RUN} (45.2)', '3.00, SR 0.500 (5.8)']
    assert found[-1] == '0/1/0/0'
    assert lines(scaling(), '10,000')[0][1:5] == ['-', '-', '-', '12.0']
    fields = {'success': False, 'cost': None, 'excess_percent': None}
    for seed, steps in ((111, 9), (42, 4)):
        plain = {'method': 'apf', 'steps': steps, 'seed': seed}
        add('figure1_paths', {**plain, **fields})
    assert lines(paths(), 'APF') == [['APF', 'failed', '4', '-', '-']]
    old = {'method': 'bcm_exact', 'steps': 5, 'seed': 42, **fields}
    add('figure1_paths', {**old, 'budget_seconds': 600.0})
    (found,) = lines(paths(), 'supervised')
    assert found[0].endswith('(supervised) [earlier version]')


def test_learning_curves_of_the_paper_objective(folders):
    plain = {
        'layout': 'ushape',
        'side': 20,
        'costs': 'wide',
        'encoder': 'interaction',
        'seed': 42,
        'targets': 'paper',
        'train_steps': 100,
        'cpu_seconds': 600.0,
    }
    curve = [[n, 0.5, 100.0 - n, 1.0 if n > 50 else 0.9] for n in (20, 41, 60)]
    resumed = {**plain, 'seed': 7, 'cpu_seconds': None}
    last = [[100, 0.1, None, 1.0]]
    other = {**plain, 'targets': 'sweeps', 'curve': curve}
    add('learning_curves', other, {**plain, 'curve': curve})
    add('learning_curves', {**resumed, 'curve': last})
    start = ['400', 'U', 'wide', 'interaction']
    assert lines(learning())[2:] == [
        [*start, '7', '100', '-', '-', '-', '-', '-', '-'],
        [*start, '42', '100', '10', '80.0, SR 0.900', '59.0, SR 0.900']
        + ['40.0', '-', '-'],
    ]


def test_tuning(folders):
    run = {'name': 'chosen', 'side': 20, 'costs': 'mild', 'seed': 7}
    run['train_steps'] = 4000
    found = {'train_cpu_seconds': 130.4, 'gap': 1.0, 'success_rate': 1.0}
    add('paper_tuning', {'side': 20}, {**run, **found, 'distance_error': 3.0})
    assert lines(tuning())[2:] == [
        ['400', 'mild', '7', '4,000', '130', 'chosen', '1.000', '1.00', '3.0']
    ]


def test_steps_of_the_paper_objective_have_a_share_too():
    assert time_share(trained('paper')) == 1
    small = trained('paper', 0.5, side=7)  # others have no steps for that
    assert time_share(small) == 0.5 and of_the_time([small]) == ' [50 % steps]'


def test_numbers_of_the_paper_agree_with_each_other():
    for name, ratios in paper.RATIOS.items():
        for side, ratio in ratios.items():
            sizes = paper.MEGABYTES[name][side], paper.MEGABYTES['bcm'][side]
            assert sizes[0] / sizes[1] == pytest.approx(ratio, rel=1e-3)
    for side in (20, 40, 60):
        size = paper.TRANSITION_MEGABYTES + 4 * 2 * 64 * side / 1e6
        assert size == pytest.approx(paper.MEGABYTES['bcm'][side], abs=6e-4)
    for costs in ('mild', 'wide'):
        for name in ('bcm', 'eigen'):
            reported = paper.LAYOUTS['ushape', name, costs]
            assert reported.success_rate == 1
    for name in ('bcm', 'eigen'):
        same = paper.LAYOUTS['ushape', name, 'wide'].gap
        assert paper.SCALING[name, 40].gap == same
