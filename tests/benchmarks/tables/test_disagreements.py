"""What lies outside of the paper's spread is told, the rest is counted."""

import pytest
from table_rows import add, lines, row

from benchmarks.lib.methods import BASELINES
from benchmarks.tables.disagreements import (
    CAUSES,
    Comparison,
    compare,
    disagreements,
)
from benchmarks.tables.paper_numbers import Reported


def test_printed_and_sampled_deviations():
    rows = [row(gap=10.0, success_rate=0.5, cost=100.0, cost_sd=40.0)]
    cell = Reported(0.52, 109.0, 12.0, 1.0, 0.9)
    found = list(compare('T', 'wide', {'apf': rows}, cell, 400))
    rate, wspl, gap = found
    assert rate.deviation == pytest.approx(0.025) and not rate.differs()
    assert wspl.deviation == 0 and wspl.differs()
    assert wspl.cells()[:3] == [
        'APF: wSPL, wide (T)',
        '0.900 ± 0.000',
        '1.000',
    ]
    assert gap.deviation == 1.0 and gap.differs()
    what = 'APF: Gap %, wide (T)'
    assert gap.cells() == [what, '12.0 ± 1.0', '10.0', CAUSES['apf']]
    cell = Reported(gap=12.0)
    (gap,) = compare('T', 'wide', {'apf': rows}, cell, 100)
    assert gap.deviation == pytest.approx(2.0) and not gap.differs()
    assert not list(compare('T', 'wide', {'apf': []}, cell, 100))


def test_the_map_that_varies_least_says_how_much_maps_vary():
    groups = {
        'bcm_paper': [row(gap=50.0, gap_sd=400.0)],
        'bcm_sweeps': [row(gap=1.0, gap_sd=3.0), row(gap=1.0, gap_sd=5.0)],
        'bcm_exact': [],
    }
    found = list(compare('T', 'x', groups, Reported(gap=20.0), 100))
    # Other objectives are another method: they are not compared.
    assert [one.method for one in found] == ['bcm_paper']
    assert found[0].deviation == pytest.approx(0.4)


def test_draws_of_costs_vary_too():
    rows = [row(gap=10.0, gap_sd=30.0, seed=n) for n in (1, 2)]
    rows[1]['gap'] = 12.0  # a spread of sqrt(2)
    cell = Reported(gap=15.0)
    (gap,) = compare('T', 'x', {'apf': rows}, cell, 100)
    assert gap.deviation == pytest.approx((3**2 + 2) ** 0.5)


def test_a_share_of_the_training_is_told():
    short = row(gap=9.0, gap_sd=1.0, method='bcm_paper', budget_steps=12_800)
    (gap,) = compare('T', 'x', {'bcm_paper': [short]}, Reported(gap=5.0), 100)
    assert gap.cells()[1:3] == ['5.0 ± 0.1', '9.0 [25 % steps]']


def test_bounds_are_left_on_one_side(folders):
    for name, gap, off in (
        ('bcm_paper', 6.5, ['below 5.9', '6.5']),
        ('bcm_paper', 1.0, None),
        ('eigen', 36.0, ['above 38.0', '36.0']),
        ('eigen', 60.0, None),
    ):
        fields = {'method': name, 'side': 20, 'gap': gap, 'gap_sd': 5.0}
        (folders / 'results' / 'figure3_scaling.json').unlink(missing_ok=True)
        add('figure3_scaling', row(**fields))
        text = disagreements()
        assert text.startswith(f'{2 if off is None else 1} of 2 numbers')
        found = lines(text, 'N = 400 (Figure 3)')
        assert [one[1:3] for one in found] == ([] if off is None else [off])


def test_one_query_may_lie_as_far_off_as_any(folders):
    route = {'method': 'eigen', 'seed': 42, 'excess_percent': 57.0}
    add('figure1_paths', row(**route))
    add('table1_quality', row(method='eigen', gap=47.2, gap_sd=30.0))
    assert 'Figure 1' not in disagreements()
    add('figure1_paths', row(**{**route, 'method': 'bcm_paper'}))
    (found,) = lines(disagreements(), 'Figure 1')
    assert found[1:3] == ['0.00 ± 0.00', '57.00']


def test_rounding_is_no_disagreement():
    exact = Comparison('T', 'apf', 'x', 'Gap', 0.04, 0.0, 0.0, '')
    assert not exact.differs()
    assert exact._replace(ours=0.06).differs()


def test_disagreements(folders):
    plain = {'method': 'eigen', 'cost': 163.0}
    add('table1_quality', row(**plain, gap=48.0))
    text = disagreements()
    assert text == "2 of 2 numbers lie within the paper's spread."
    add('table2_layouts', row(**plain, layout='wall', gap=60.0))
    text = disagreements()
    assert text.startswith("3 of 4 numbers lie within the paper's spread. The")
    assert lines(text, 'Table 2') == [
        [
            'EigenAgent: Gap %, wall, wide (Table 2)',
            '47.0 ± 2.0',
            '60.0',
            CAUSES['eigen'],
        ]
    ]


def test_costs_are_compared_of_optimal_routes_alone(folders):
    add('table1_quality', row(method='dijkstra', cost=200.0))
    (found,) = lines(disagreements(), 'Dijkstra')
    assert found[:3] == [
        'Dijkstra: Cost, wide (Table 1)',
        '108.8 ± 2.9',
        '200.0',
    ]
    add('table1_quality', row(method='apf', cost=9.0))
    assert 'APF: Cost' not in disagreements()


def test_the_u_has_the_deviation_of_table_1_everywhere(folders):
    plain = {'method': 'bcm_paper', 'encoder': 'interaction', 'gap': 57.0}
    for name in ('table2_layouts', 'figure3_scaling', 'table3_encoders'):
        add(name, row(**plain))
    found = [line[1] for line in lines(disagreements(), 'BCM', 'Gap')]
    assert found == ['5.8 ± 0.6', '5.8 ± 0.6', '4.9 ± 0.6']


def test_a_range_is_left_on_either_side(folders):
    fields = {'method': 'eigen_rbf', 'costs': 'mild', 'gap_sd': 99.0}
    add('table1_quality', row(**fields, gap=22.8))
    assert disagreements().startswith('1 of 1 ')
    add('table1_quality', row(**fields, gap=24.0, seed=111))
    (found,) = lines(disagreements(), 'RBF')
    assert found[1:3] == ['21.4 to 22.9', '23.4']


def test_memory_is_compared_by_wspl_too(folders):
    fields = {'method': 'bcm_paper', 'encoder': 'k_hot', 'success_rate': 0.97}
    add('table4_visited', row(**fields, readout='VisitedGreedy', wspl=0.95))
    text = disagreements()
    assert text.startswith('1 of 2 ')
    assert lines(text, 'wSPL')[0][1:3] == ['0.865 ± 0.022', '0.950']


def test_every_method_has_a_cause():
    exact = {'apsp', 'cch', 'cpd'}  # the paper shows none of their routes
    assert {*CAUSES} == ({*BASELINES} - exact) | {'bcm_paper'}
