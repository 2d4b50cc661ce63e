"""Pictures: one look, PNG and SVG, the same bytes from the same numbers."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use('Agg')
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

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
COLORS = {
    'dijkstra': '#000000',
    'apsp': '#000000',
    'apsp_packed': '#666666',
    'cch': '#8c564b',
    'cpd': '#bcbd22',
    'cml': '#cc79a7',
    'apf': '#6a3d9a',
    'eigen': '#0072b2',
    'eigen_inverse': '#56b4e9',
    'eigen_rbf': '#7f9fd0',
    'bcm_paper': '#e69f00',
    'bcm_sweeps': '#d55e00',
    'bcm_exact': '#009e73',
}


def save(figure: Figure, folder: Path, name: str) -> None:
    """Writes ``name.png`` and ``name.svg``, without a date inside."""
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f'{name}.png', dpi=110, metadata={'Software': None})
    figure.savefig(folder / f'{name}.svg', dpi=110, metadata={'Date': None})
    plt.close(figure)
    print(f'wrote {folder / name}.png and .svg')
