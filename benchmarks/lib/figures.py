"""Pictures: one look, PNG and SVG, the same bytes from the same numbers."""

from __future__ import annotations

from pathlib import Path

import matplotlib

from benchmarks.lib.methods import METHODS

matplotlib.use('Agg')
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.axis import Axis  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.ticker import (  # noqa: E402
    FuncFormatter,
    LogLocator,
    NullLocator,
)

plt.rcParams.update(
    {
        'figure.constrained_layout.use': True,
        'font.size': 9,
        'axes.spines.top': False,
        'axes.spines.right': False,
        'legend.frameon': False,
        'svg.fonttype': 'none',  # text stays text, and files small
        'svg.hashsalt': 'bcm_pyg',
    }
)

#: Colour of each method, the same in every picture.
COLORS = {name: method.color for name, method in METHODS.items()}
COLORS['apsp_packed'] = '#666666'


def plain_ticks(axis: Axis, *steps: float) -> None:
    """Ticks of a logarithmic axis at these steps of each power of ten."""
    axis.set_major_locator(LogLocator(subs=steps or (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f'{value:,.10g}'))
    axis.set_minor_locator(NullLocator())


def save(
    figure: Figure, folder: Path, name: str, source: str | None = None
) -> None:
    """Writes ``name.png`` and ``name.svg``, without a date inside.

    The source tells what was drawn, and stands in the SVG.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f'{name}.png', dpi=110, metadata={'Software': None})
    metadata = {'Date': None, 'Source': source}
    figure.savefig(folder / f'{name}.svg', dpi=110, metadata=metadata)
    plt.close(figure)
    print(f'wrote {folder / name}.png and .svg')
