"""One page that holds a graph, its map, and what it takes to explore them."""

import base64
import json
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from os import PathLike

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import SimplifiedGraph, labels_of, planning_graph
from bcm_pyg.nn import BCM
from bcm_pyg.utils import (
    Adjacency,
    as_ids,
    as_path,
    check_choice,
    replace_file,
)

from ._contents import (
    Arrays,
    bend_arrays,
    deflated,
    map_arrays,
    packed,
    pairs_of,
)
from ._layout import Layout, layout_of

#: Larger graphs are refused.
MAX_NODES, MAX_EDGES = 50_000, 500_000
#: Readouts of the page, by the names that planners know.
READOUTS = (
    'greedy',
    'visited_greedy',
    'backtracking',
    'best_first',
    'corridor',
)
#: Modules of the page: what one imports comes before it.
MODULES = (
    'kernel',
    'graph',
    'segments',
    'map',
    'readouts',
    'planner',
    'contents',
    'session',
    'view',
    'drawing',
    'player',
    'field',
    'controls',
    'main',
)


def write_explorer(
    path: str | PathLike[str],
    model: BCM,
    data: Data | SimplifiedGraph,
    *,
    names: Sequence[object] | None = None,
    snapshots: Iterable[tuple[str, BCM]] = (),
    title: str = '',
    unit: str = '',
    readout: str = 'corridor',
    start: int | None = None,
    goal: int | None = None,
    ground: Tensor | np.ndarray | None = None,
) -> None:
    """Writes a page on which a map can be explored in a browser.

    It is one file that needs no server and no network. Start and goal can be
    dragged; the page shows the routes of the map and of exact search, what they
    cost and how many nodes they expand, and the estimated cost from everywhere.

    The map is stored in 8 bits. A page of 1,600 cells
    takes 0.14 MB; without integer codes a node takes about 125 bytes.

    Args:
        path (str or os.PathLike): The file, written in full or not at all.
        model (BCM): The map.
        data (torch_geometric.data.Data or SimplifiedGraph): Its graph, at most
            50,000 nodes and 500,000 edges. Of a simplified one the page shows
            and plans on the full graph, as :class:`~bcm_pyg.Planner` does.
        names (Sequence, optional): What nodes are called. (default: the labels
            of the graph)
        snapshots (Iterable[Tuple[str, BCM]], optional): The map as it was
            during training, with what to call it, oldest first.
        title (str, optional): What the page is called.
        unit (str, optional): The unit of costs, such as :obj:`"min"`.
        readout (str, optional): The readout to begin with. (default:
            :obj:`"corridor"`)
        start (int, optional): The start to begin with. (default: a node far
            from the goal)
        goal (int, optional): The goal to begin with. (default: a node far from
            the start)
        ground (torch.Tensor, optional): Numbers by which to shade nodes, such
            as heights, :obj:`[N]`. (default: the third axis of positions; on a
            grid without one what it costs to leave a cell)

    Raises:
        BCMError: If the graph is too large or cannot be drawn. Then nothing is
            written.
    """
    target = as_path('path', path)
    check_choice('readout', readout, READOUTS)
    if not isinstance(model, BCM):
        raise BCMError(f'model must be a BCM (got {type(model).__name__})')
    full, core, forced = _graphs(data)
    size, num_edges = int(full.num_nodes), full.edge_index.size(1)
    if size > MAX_NODES or num_edges > MAX_EDGES:
        raise BCMError(
            f'an explorer shows at most {MAX_NODES:,} nodes and {MAX_EDGES:,} '
            f'edges (got {size:,} and {num_edges:,}): take a part of the graph'
        )
    layout = layout_of(full, None if ground is None else _ground(ground, size))
    arrays = _graph_arrays(full, forced, layout, _names(full, names))
    ends = _ends(full, start, goal)
    maps = [
        (str(label), map_arrays(_like(model, one), core))
        for label, one in snapshots
    ]
    maps.append(('trained' if maps else '', map_arrays(model, core)))
    listed, text = packed(arrays)
    blobs, maps_listed = [text], []
    for label, parts in maps:
        map_listed, text = packed(parts)
        maps_listed.append({'label': label, 'arrays': map_listed})
        blobs.append(text)
    about = {
        'title': str(title),
        'unit': str(unit),
        'metres': full.get('lonlat') is not None,
        'size': size,
        'step': layout.step,
        'cells': layout.cells,
        'frame': layout.frame,
        'projection': layout.projection,
        'arrays': listed,
        'maps': maps_listed,
        'scale': float(model.cost_scale),
        'calibrated': model.terminal == 'calibrated',
        'readout': readout,
        'start': ends[0],
        'goal': ends[1],
        'kernel': base64.b64encode(_file('kernel.wasm')).decode(),
    }
    try:
        replace_file(target, _page(about, blobs).encode())
    except OSError as error:
        raise BCMError(f'cannot write {path}: {error}') from error


def _graphs(
    data: Data | SimplifiedGraph,
) -> tuple[Data, Data, np.ndarray | None]:
    """The graph that is drawn, that of the map, and nodes that only the first
    has.
    """
    if isinstance(data, SimplifiedGraph):
        forced = (data.simplified_node < 0).cpu().numpy()
        return data.full, data.data, forced
    data = planning_graph(data)
    return data, data, None


def _graph_arrays(
    data: Data,
    forced: np.ndarray | None,
    layout: Layout,
    names: list[str] | None,
) -> Arrays:
    """What the page holds of the graph."""
    pairs = pairs_of(data)
    out: Arrays = {**pairs.arrays, 'x': layout.x, 'y': layout.y}
    if data.get('edge_bends') is not None and not layout.is_oblique:
        out |= bend_arrays(data, pairs, layout)
    if layout.blocked.any():
        out['blocked'] = layout.blocked
    if layout.ground is not None:
        out['ground'] = layout.ground
    if forced is not None:
        out['forced'] = forced
    if names is not None:
        # Half of a surrogate pair is not text, but may be in a name.
        text = json.dumps(names, ensure_ascii=False)
        out['names'] = np.frombuffer(text.encode('utf-8', 'replace'), np.uint8)
    return out


def _like(model: BCM, snapshot: object) -> BCM:
    if not isinstance(snapshot, BCM) or (
        snapshot.terminal != model.terminal
        or not torch.equal(snapshot.cost_scale, model.cost_scale)
    ):
        raise BCMError(
            'snapshots must be pairs of a label and a BCM, of the terminal '
            'convention and the cost scale of the map'
        )
    return snapshot


def _ground(ground: Tensor | np.ndarray, size: int) -> np.ndarray:
    values = torch.as_tensor(ground).detach().cpu().double().numpy()
    if values.shape != (size,) or not np.isfinite(values).all():
        raise BCMError(
            f'ground must hold a finite number for each of {size} nodes (got '
            f'shape {values.shape})'
        )
    return values


def _names(data: Data, names: Sequence[object] | None) -> list[str] | None:
    """Names of all nodes; None if they are just their numbers."""
    if names is None:
        if data.get('node_id') is None:
            return None
        names = labels_of(data)
    if len(names) != data.num_nodes:
        raise BCMError(
            f'names must have an entry for each of {data.num_nodes} nodes '
            f'(got {len(names)})'
        )
    return [str(name) for name in names]


def _ends(data: Data, start: int | None, goal: int | None) -> tuple[int, int]:
    """A query to begin with: as given, or over most of the graph."""
    size = int(data.num_nodes)
    strong = Adjacency.from_data(data).reachability.strong.cpu().numpy()
    here = np.bincount(strong).argmax()
    for name, node in (('goal', goal), ('start', start)):
        if node is not None:
            here = strong[int(as_ids(node, size, name)[0])]
    pos = data.pos.cpu().double().numpy()
    nodes = np.flatnonzero(strong == here)

    def far_from(point: np.ndarray) -> int:
        return int(nodes[((pos[nodes] - point) ** 2).sum(axis=1).argmax()])

    if start is None:
        middle = pos[nodes].mean(axis=0)
        start = far_from(middle if goal is None else pos[goal])
    return int(start), far_from(pos[start]) if goal is None else int(goal)


# --- the page -----------------------------------------------------------------


def _file(name: str) -> bytes:
    return (files(__package__) / name).read_bytes()


def _page(about: dict[str, object], blobs: list[str]) -> str:
    parts = {
        'style': _file('explorer.css').decode(),
        'about': json.dumps(about).replace('<', '\\u003c'),
        'blobs': '\n'.join(
            f'<script type="text/plain" id="blob{number}">{blob}</script>'
            for number, blob in enumerate(blobs)
        ),
        'code': deflated(script().encode()),
    }
    page = _file('template.html').decode()
    return re.sub(r'\{\{(\w+)\}\}', lambda found: parts[found[1]], page)


def script() -> str:
    """All modules of the page as one: imports and exports are left out."""
    source = '\n'.join(_file(f'{name}.js').decode() for name in MODULES)
    source = re.sub(r'^import [^;]*;\n', '', source, flags=re.M)
    return re.sub(r'^export ', '', source, flags=re.M)
