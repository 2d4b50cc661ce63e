"""Pictures: one look, PNG and SVG, the same bytes from the same numbers."""

from __future__ import annotations

from pathlib import Path

import matplotlib

from benchmarks.lib.methods import METHODS

matplotlib.use('Agg')
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

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


def save(figure: Figure, folder: Path, name: str) -> None:
    """Writes ``name.png`` and ``name.svg``, without a date inside."""
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f'{name}.png', dpi=110, metadata={'Software': None})
    figure.savefig(folder / f'{name}.svg', dpi=110, metadata={'Date': None})
    plt.close(figure)
    print(f'wrote {folder / name}.png and .svg')
