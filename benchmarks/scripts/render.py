"""Writes the tables of README.md, limits.md and the pages from results.

A table stands between ``<!-- table: name -->`` and ``<!-- end -->``; everything
between is replaced. Plots of results are drawn again where these have changed.
``--check`` only says whether the files are up to date.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from benchmarks.lib.results import FOLDER, figure_folder
from benchmarks.plots import learning, real, speed, widths
from benchmarks.tables.baselines import BASELINE_TABLES
from benchmarks.tables.choice import CHOICE_TABLES
from benchmarks.tables.first_use import FIRST_USE_TABLES
from benchmarks.tables.paper import PAPER_TABLES
from benchmarks.tables.planning import PLANNING_TABLES
from benchmarks.tables.real import REAL_TABLES
from benchmarks.tables.roads import ROAD_TABLES
from benchmarks.tables.stress import STRESS_TABLES
from benchmarks.tables.training import TRAINING_TABLES
from benchmarks.tables.widths import WIDTH_TABLES

FILES = [
    FOLDER.parent / 'README.md',
    FOLDER.parent / 'SECURITY.md',
    FOLDER.parent / 'docs' / 'limits.md',
    FOLDER / 'README.md',
    *sorted((FOLDER / 'pages').glob('*.md')),
]
TABLES: dict[str, Callable[[], str]] = {
    **BASELINE_TABLES,
    **CHOICE_TABLES,
    **FIRST_USE_TABLES,
    **TRAINING_TABLES,
    **PAPER_TABLES,
    **PLANNING_TABLES,
    **REAL_TABLES,
    **ROAD_TABLES,
    **WIDTH_TABLES,
    **STRESS_TABLES,
}
PLOTS = {
    'learning': learning,
    'planning_speed': speed,
    'real_graphs': real,
    'widths': widths,
}
MARK = re.compile(r'(<!-- table: (\w+) -->\n).*?(<!-- end -->)', re.DOTALL)


def render(text: str, tables: dict[str, Callable[[], str]]) -> str:
    """The text with every table replaced."""
    return MARK.sub(
        lambda found: found[1] + tables[found[2]]() + '\n' + found[3], text
    )


def source_of(plot: ModuleType) -> str:
    """What a plot is made of, its points and its code, as a digest."""
    text = json.dumps(plot.points()) + inspect.getsource(plot)
    return hashlib.sha256(text.encode()).hexdigest()


def is_drawn(name: str, folder: Path) -> bool:
    """Whether a plot shows the results of today."""
    path = folder / f'{name}.svg'
    return path.exists() and source_of(PLOTS[name]) in path.read_text()


def draw(name: str, folder: Path) -> None:
    """Draws a plot and says of what."""
    from benchmarks.lib.figures import save

    plot = PLOTS[name]
    save(plot.draw(plot.points()), folder, name, source_of(plot))


def main() -> int:
    flags = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    flags.add_argument('--check', action='store_true')
    args = flags.parse_args()
    stale: list[Path] = []
    for path in FILES:
        old = path.read_text()
        new = render(old, TABLES)
        if new != old:
            stale.append(path)
            if not args.check:
                path.write_text(new)
    folder = figure_folder(quick=False)
    for plot in PLOTS:
        if not is_drawn(plot, folder):
            stale.append(folder / f'{plot}.svg')
            if not args.check:
                draw(plot, folder)
    for path in stale:
        name = path.relative_to(FOLDER.parent)
        print(f'{name}: {"stale" if args.check else "written"}')
    return int(args.check and bool(stale))


if __name__ == '__main__':
    sys.exit(main())
