import torch

from bcm_pyg import BCM
from bcm_pyg.datasets import weighted_grid
from benchmarks.scripts.compact import in_four_bits, measure
from benchmarks.tables.markdown import NOT_RUN
from benchmarks.tables.training import compact_table


def add(seed, dtype, gap, success_rate=1.0, side=40):
    from benchmarks.lib.results import Results

    Results('compact').add(
        {
            'row': f'wide{side}',
            'costs': 'wide',
            'side': side,
            'width': 96,
            'channels': 64,
            'parameters': 42_272,
            'seed': seed,
            'dtype': dtype,
            'num_queries': 1000,
            'weight_bytes': 43_500,
            'folder_bytes': 45_500,
            'success_rate': success_rate,
            'gap': gap,
        }
    )


def test_nothing_run(folders):
    assert compact_table() == NOT_RUN


def test_a_line_for_each_size(folders):
    for seed, full, small in ((42, 1.0, 1.1), (111, 2.0, 1.7)):
        add(seed, 'float32', full)
        add(seed, 'int8', small, success_rate=0.999)
    head, _, line = compact_table().splitlines()
    assert head == (
        '| graph | parameters (width, channels) '
        '| float32: kB | Gap % | int8: kB | Gap % | seeds |'
    )
    assert line == (
        '| U, wide, N = 1,600 | 42,272 (96, 64) | 43.5 | 1.50 ± 0.71 '
        '| 43.5 | 1.40 ± 0.42, SR 0.999 | 42, 111 |'
    )


def test_a_dtype_that_was_not_run(folders):
    add(42, 'float32', 1.0)
    add(42, 'int8', 1.0, side=20)
    lines = compact_table().splitlines()
    assert lines[2].endswith('| 43.5 | 1.00 | - | - | 42 |')
    assert lines[3].endswith('| - | - | 43.5 | 1.00 | 42 |')


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


def test_four_bits():
    weight = torch.tensor([[7.0, -3.2, 0.4] + [0.0] * 13, [0.0] * 16])
    rounded, size = in_four_bits(weight)
    assert rounded[0, :3].tolist() == [7.0, -3.0, 0.0]
    assert rounded[1].tolist() == [0.0] * 16
    assert size == 16 + 2 * 2  # half a byte a number, two for a scale
    data = weighted_grid('ushape', 10, 'wide', 1)
    model = BCM.from_data(data)
    before = [parameter.clone() for parameter in model.parameters()]
    row = measure(model, data, '4 bit', 20, 0)
    assert row['weight_bytes'] < 0.7 * model.storage_bytes('int8')
    for old, now in zip(before, model.parameters(), strict=True):
        assert torch.equal(old, now)  # a copy was rounded
