from bcm_pyg import BCM
from bcm_pyg.datasets import weighted_grid
from benchmarks.scripts.compact import measure
from benchmarks.tables.markdown import NOT_RUN
from benchmarks.tables.training import compact_table


def add(seed, dtype, gap, success_rate=1.0, side=40):
    from benchmarks.lib.results import Results

    Results('compact').add(
        {
            'side': side,
            'costs': 'wide',
            'seed': seed,
            'budget_seconds': 600.0,
            'dtype': dtype,
            'num_queries': 1000,
            'weight_bytes': 200_000,
            'folder_bytes': 201_500,
            'success_rate': success_rate,
            'gap': gap,
        }
    )


def test_nothing_run(folders):
    assert compact_table() == NOT_RUN


def test_a_line_for_each_grid(folders):
    for seed, full, small in ((42, 1.0, 1.1), (111, 2.0, 1.7)):
        add(seed, 'float32', full)
        add(seed, 'int8', small, success_rate=0.999)
    head, _, line = compact_table().splitlines()
    assert head == '| graph | float32: kB | Gap % | int8: kB | Gap % |'
    assert line == (
        '| U, wide, N = 1,600 | 202 | 1.50 ± 0.71 '
        '| 202 | 1.40 ± 0.42, SR 0.999 |'
    )


def test_a_dtype_that_was_not_run(folders):
    add(42, 'float32', 1.0)
    add(42, 'int8', 1.0, side=20)
    lines = compact_table().splitlines()
    assert lines[2].endswith('| 202 | 1.00 | - | - |')
    assert lines[3].endswith('| - | - | 202 | 1.00 |')


def test_a_row():
    data = weighted_grid('ushape', 10, 'wide', 1)
    model = BCM.from_data(data)
    rows = {
        dtype: measure(model, data, dtype, 20, 0)
        for dtype in ('float32', 'int8')
    }
    assert rows['float32']['weight_bytes'] == model.storage_bytes()
    for dtype, row in rows.items():
        assert row['weight_bytes'] == model.storage_bytes(dtype)
        overhead = row['folder_bytes'] - row['weight_bytes']
        assert 0 < overhead < 3000
        assert 0 <= row['success_rate'] <= 1
