from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bcm_pyg.errors import BCMError
from bcm_pyg.training import History

from ._canvas import need_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_history(
    history: History | Mapping[str, History],
    ax: Axes | None = None,
    *,
    x: str = 'seconds',
) -> Axes:
    """Draws the Gap of validation queries during training.

    Points are hollow where some of the queries failed.

    Args:
        history (History or Mapping[str, History]): What
            :func:`~bcm_pyg.fit` returned, or several by name.
        ax (matplotlib.axes.Axes, optional): Where to draw. (default: a new one)
        x (str, optional): :obj:`"seconds"` or :obj:`"step"`. (default:
            :obj:`"seconds"`)
    """
    if x not in ('seconds', 'step'):
        raise BCMError(f"x must be 'seconds' or 'step' (got {x!r})")
    runs = {'': history} if isinstance(history, History) else dict(history)
    lines, failed = {}, []
    for name, run in runs.items():
        if not isinstance(run, History) or not run.step:
            raise BCMError('a picture of training needs a History of fit')
        lines[name] = list(zip(getattr(run, x), run.gap, strict=True))
        rates = zip(lines[name], run.success_rate, strict=True)
        failed += [point for point, rate in rates if rate < 1]
    ax = plot_scaling(lines, ax, hollow=failed, xlabel=x, ylabel='Gap %')
    ax.set_xscale('linear')
    ax.yaxis.set_major_formatter('{x:g}')
    ax.yaxis.set_minor_formatter('{x:g}')
    return ax


def plot_scaling(
    lines: Mapping[str, Sequence[tuple[float, float]]],
    ax: Axes | None = None,
    *,
    hollow: Sequence[tuple[float, float]] = (),
    xlabel: str = 'N',
    ylabel: str = '',
    styles: Mapping[str, Mapping[str, Any]] | None = None,
) -> Axes:
    """Draws how quantities grow, on logarithmic axes.

    Args:
        lines (Mapping[str, Sequence]): Points :obj:`(x, y)` of each line.
        ax (matplotlib.axes.Axes, optional): Where to draw. (default: a new one)
        hollow (Sequence, optional): Points to draw hollow, such as those of
            methods that fail on some queries. (default: none)
        xlabel (str, optional): What grows. (default: :obj:`"N"`)
        ylabel (str, optional): What is measured. (default: none)
        styles (Mapping[str, Mapping], optional): How matplotlib draws a line.
            (default: its own colours)
    """
    need_matplotlib()
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=(5, 3.6), layout='constrained')
    for name, points in lines.items():
        style = {'marker': 'o', 'markersize': 4, **(styles or {}).get(name, {})}
        if points:
            # A line without a name is not in the legend.
            label = name or '_'
            ax.loglog(*zip(*points, strict=True), label=label, **style)
    for point in hollow:
        ax.plot(*point, 'o', color='w', markersize=2, zorder=5)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.spines[['top', 'right']].set_visible(False)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize=8)
    return ax
