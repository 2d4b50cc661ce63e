"""Figure 2: the pipeline from coordinates to a step, with real shapes.

Every number in the picture is read off a model of the U of N = 1600; nothing is
trained, so that seeds, pairs and budget make no difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.lib.flags import QUICK_SIDE, paper_flags, parse

FLAGS = paper_flags(__doc__)
if __name__ == '__main__':
    FLAGS.parse_args()  # --help does not wait for torch

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Rectangle

from bcm_pyg import BCM
from benchmarks.lib.figures import plt, save
from benchmarks.lib.graphs import Grid
from benchmarks.lib.results import Job, figure_folder, results_for, run_jobs

ENCODER, TRANSITION, TRAINING, READOUT = (
    '#dbe9f6',
    '#fde3cf',
    '#e2f0d9',
    '#efe3f3',
)


def shapes(model: BCM) -> dict[str, Any]:
    """What the boxes say."""
    encoder: Any = model.encoder
    phi = model.transition
    in_encoder = sum(p.numel() for p in encoder.parameters())
    return {
        'axis_sizes': [len(table) for table in encoder.tables],
        'axis_channels': encoder.channels,
        'node_channels': encoder.out_channels,
        'transition': [
            phi.in_channels,
            phi.hidden_channels,
            phi.hidden_channels,
            phi.out_channels,
        ],
        'encoder_parameters': in_encoder,
        'transition_parameters': model.num_parameters() - in_encoder,
        'parameters': model.num_parameters(),
        'megabytes': model.storage_bytes() / 1e6,
    }


def box(
    ax: Axes,
    at: tuple[float, float],
    size: tuple[float, float],
    text: str,
    color: str,
) -> None:
    """A rounded box around text, at its lower left corner."""
    style = 'round,pad=0,rounding_size=0.1'
    ax.add_patch(
        FancyBboxPatch(at, *size, boxstyle=style, facecolor=color, linewidth=1)
    )
    middle = at[0] + size[0] / 2, at[1] + size[1] / 2
    ax.text(*middle, text, ha='center', va='center', fontsize=8)


def arrow(
    ax: Axes, tail: tuple[float, float], tip: tuple[float, float]
) -> None:
    """From one box to the next."""
    ax.annotate('', tip, tail, arrowprops={'arrowstyle': '-|>', 'color': '0.2'})


def grid_picture(ax: Axes, x: float, y: float, cell: float) -> None:
    """A node i with its neighbours j, and a goal g behind a wall."""
    for row in range(5):
        for column in range(5):
            wall = row in (1, 2) and column == 3
            ax.add_patch(
                Rectangle(
                    (x + column * cell, y + row * cell),
                    cell,
                    cell,
                    facecolor='0.35' if wall else 'white',
                    edgecolor='0.7',
                    linewidth=0.6,
                )
            )
    around = [('j', at) for at in ((3, 1), (1, 1), (2, 2), (2, 0))]
    for name, (row, column) in [('i', (2, 1)), ('g', (1, 4)), *around]:
        ax.text(
            x + (column + 0.5) * cell,
            y + (row + 0.5) * cell,
            name,
            ha='center',
            va='center',
            fontsize=8,
            fontweight='bold' if name in ('i', 'g') else 'normal',
        )


def draw(ax: Axes, row: dict[str, Any]) -> None:
    """The boxes, left to right; training and readout below."""
    rows, columns = row['axis_sizes']
    width, wide = row['axis_channels'], row['node_channels']
    layers = ' → '.join(str(size) for size in row['transition'])
    out = row['transition'][-1]

    ax.text(0.8, 4.85, 'graph', ha='center', fontsize=9)
    grid_picture(ax, 0.05, 3.1, 0.3)
    ax.text(0.8, 2.85, 'coordinates, costs $c$', ha='center', fontsize=7.5)
    box(
        ax,
        (2.2, 3.05),
        (2.6, 1.6),
        'node encoder $\\psi$\n\n'
        f'rows {rows} x {width}, columns {columns} x {width}\n'
        f'$o = [\\mathbf{{r}};\\ \\mathbf{{c}};\\ '
        f'\\mathbf{{r}} \\odot \\mathbf{{c}}]$, {wide}\n'
        f'{row["encoder_parameters"]:,} parameters',
        ENCODER,
    )
    box(ax, (5.5, 3.95), (1.3, 0.7), f'$o_j - o_i$\n{wide}', 'white')
    box(ax, (5.5, 3.05), (1.3, 0.7), f'$o_g - o_i$\n{wide}', 'white')
    box(
        ax,
        (7.5, 3.05),
        (2.3, 1.6),
        'transition encoder $\\phi$\n\n'
        f'{layers}\n{row["transition_parameters"]:,} parameters',
        TRANSITION,
    )
    box(
        ax,
        (10.5, 3.05),
        (2.4, 1.6),
        'score of a neighbour\n\n'
        '$D_i(j;g) = \\Vert z_{i\\to j} - z_{i\\to g} \\Vert^2$\n'
        f'in {out} dimensions',
        'white',
    )
    arrow(ax, (1.6, 3.85), (2.2, 3.85))
    for height in (4.3, 3.4):
        arrow(ax, (4.8, height), (5.5, height))
        arrow(ax, (6.8, height), (7.5, height))
    arrow(ax, (9.8, 3.85), (10.5, 3.85))

    box(
        ax,
        (2.2, 0.95),
        (4.6, 1.3),
        'training: from edge costs alone, no labels\n\n'
        '$D_i(j;g)\\ \\leftarrow\\ c_{i\\to j} + '
        '\\mathrm{sg}\\,[\\,\\min_k D_j(k;g)\\,]$',
        TRAINING,
    )
    box(
        ax,
        (7.5, 0.95),
        (5.4, 1.3),
        'readout: one look at the neighbours a step\n\n'
        '$j^* = \\mathrm{argmin}_j\\ D_i(j;g)$ over unvisited $j$, '
        'else over all',
        READOUT,
    )
    arrow(ax, (11.0, 3.05), (6.3, 2.25))
    arrow(ax, (11.7, 3.05), (11.7, 2.25))
    ax.text(
        6.5,
        0.4,
        f'{row["parameters"]:,} parameters, {row["megabytes"]:.3f} MB, for '
        f'{row["nodes"]:,} nodes and every goal',
        ha='center',
        fontsize=9,
    )
    ax.set(xlim=(-0.1, 13.1), ylim=(0.1, 5.1))
    ax.set_aspect('equal')
    ax.set_axis_off()


def main(given: Sequence[str] | None = None) -> None:
    args = parse(FLAGS, given)
    grid = Grid('ushape', QUICK_SIDE if args.quick else 40, 'wide', 42)

    def run() -> dict[str, Any]:
        data = grid.data()
        return {'nodes': data.num_nodes, **shapes(BCM.paper(data))}

    out = results_for('figure2_overview', args.quick)
    job = Job({'layout': grid.layout, 'side': grid.side}, run)
    run_jobs(out, [job])
    row = out.find(**job.key)
    assert row is not None
    figure, ax = plt.subplots(figsize=(11, 4.3))
    draw(ax, row)
    save(figure, figure_folder(args.quick), 'figure2_overview')


if __name__ == '__main__':
    main()
