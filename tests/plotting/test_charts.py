import pytest

from bcm_pyg import BCMError, History
from bcm_pyg.plotting import plot_history, plot_scaling


def history(rates):
    count = len(rates)
    return History(
        step=list(range(1, count + 1)),
        seconds=[10.0 * k for k in range(1, count + 1)],
        loss=[1.0] * count,
        gap=[8.0 / k for k in range(1, count + 1)],
        success_rate=rates,
        steps=count,
    )


def points(line):
    return list(zip(line.get_xdata(), line.get_ydata(), strict=True))


def test_history():
    ax = plot_history(history([0.5, 1.0]))
    line, hollow = ax.lines
    assert points(line) == [(10.0, 8.0), (20.0, 4.0)]
    assert points(hollow) == [(10.0, 8.0)]
    assert ax.get_xscale() == 'linear' and ax.get_yscale() == 'log'
    assert ax.get_legend() is None


def test_histories_by_name_and_step():
    runs = {'ours': history([1.0]), 'paper': history([1.0, 1.0])}
    ax = plot_history(runs, x='step')
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ['ours', 'paper']
    assert ax.get_xlabel() == 'step'


def test_scaling():
    lines = {'a': [(10, 1.0), (100, 2.0)], 'none': []}
    styles = {'a': {'color': 'k', 'linestyle': '--'}}
    ax = plot_scaling(lines, ylabel='MB', styles=styles)
    (line,) = ax.lines
    assert points(line) == lines['a'] and line.get_linestyle() == '--'
    assert ax.get_ylabel() == 'MB' and ax.get_xscale() == 'log'


def test_errors():
    with pytest.raises(BCMError, match='History'):
        plot_history(History())
    with pytest.raises(BCMError, match='seconds'):
        plot_history(history([1.0]), x='time')
