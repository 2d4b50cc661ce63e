from __future__ import annotations

from bcm_pyg import History


def test_history_begins_empty() -> None:
    history = History()
    assert history.steps == 0
    assert history.interrupted is False
    assert history.step == history.loss == history.gap == []
    assert repr(history) == 'History(steps=0)'
    assert repr(History(interrupted=True)).endswith('interrupted=True)')
    assert str(history).split('\n')[1] == '0 steps, 0 pairs a second'
    assert History().step is not history.step


def test_history_prints_as_an_aligned_table() -> None:
    history = History(
        step=[10, 1000],
        seconds=[0.5, 61.25],
        loss=[12.5, 0.0625],
        gap=[float('nan'), 5.25],
        success_rate=[0.5, 1.0],
        steps=1000,
    )
    lines = str(history).split('\n')
    assert repr(history) == (
        'History(steps=1000, loss=0.0625, gap=5.25, success_rate=1)'
    )
    assert len(lines) == 4
    assert lines.pop() == '1000 steps, 0 pairs a second'
    assert len({len(line) for line in lines}) == 1
    assert lines[1].split() == ['10', '0.5', '12.5000', 'nan', '0.500']
    assert lines[2].split() == ['1000', '61.2', '0.0625', '5.25', '1.000']
    head = lines[0]
    for name, value in (('loss', '0.0625'), ('SR', '1.000')):
        assert lines[2][: head.index(name) + len(name)].endswith(value)
