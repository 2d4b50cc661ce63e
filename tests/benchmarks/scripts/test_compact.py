from bcm_pyg import BCM
from bcm_pyg.datasets import weighted_grid
from benchmarks.scripts.compact import measure
from benchmarks.tables.markdown import NOT_RUN
from benchmarks.tables.training import compact_table


def add(seed, dtype, gap, success_rate=1.0):
    from benchmarks.lib.results import Results

    Results('compact').add(
        {
            'side': 40,
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


def test_lost_gap_is_the_worst_of_the_seeds(folders):
    for seed, full, small in ((42, 1.0, 1.1), (111, 2.0, 1.7)):
        add(seed, 'float32', full)
        add(seed, 'int8', small, success_rate=0.999)
    lines = compact_table().splitlines()
    assert len(lines) == 4
    graph = '| U, wide, N = 1600 '
    size = '| 0.200 | 0.202 '
    assert lines[2] == (
        f'{graph}| float32 {size}| 1.000 | 1.50 ± 0.71 | - | 42, 111 |'
    )
    assert lines[3] == (
        f'{graph}| int8 {size}| 0.999 | 1.40 ± 0.42 | +0.10 | 42, 111 |'
    )


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
