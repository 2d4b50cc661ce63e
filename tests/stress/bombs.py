"""Small files that ask for much memory: refused, or read within 1 GB."""

from __future__ import annotations

import gzip
import os
import shutil
import warnings
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sample_files import FILES, MAP

from bcm_pyg import BCMError, CognitiveMap
from bcm_pyg.cognitive_map.folder import FORMAT
from bcm_pyg.graph import read_movingai, read_osm, read_scenarios
from bcm_pyg.graph.saved_graph import NAMES
from bcm_pyg.io import pack, write_folder
from bcm_pyg.training import History

#: MB that reading may take above what was taken before.
MOST = 1024

HEAD = (
    b'<graphml><key id="x" for="node" attr.name="x" attr.type="double"/>'
    b'<key id="y" for="node" attr.name="y" attr.type="double"/>'
    b'<key id="l" for="edge" attr.name="length" attr.type="double"/>'
    b'<graph edgedefault="undirected">'
)
NODE = b'<node id="%d"><data key="x">%d</data><data key="y">9</data></node>'
DEFAULT = b'<key id="%d" for="edge" attr.name="%d"><default>1</default></key>'
STREET = (
    b'<key id="g" for="edge" attr.name="geometry"/>'
    b'<edge source="1" target="2"><data key="g">LINESTRING ('
)
EMOJI = b'1' * 1000 + b'\xf0\x9f\x98\x80'
KEY = b'<key id="' + b'a' * (10**7 - 4) + b'\xf0\x9f\x98\x80"/>'
PLACES = b'<node id="1" lat="1" lon="1"/><node id="2" lat="1" lon="2"/>'
OSM = b'<osm version="0.6">' + PLACES
WAY = (
    b'<way id="1">'
    + b'<nd ref="1"/><nd ref="2"/>' * 900
    + b'<tag k="highway" v="primary"/></way>'
)
EDGE = b'<edge source="1" target="2"><data key="l">1</data></edge>'


def explode(name: str, folder: Path, size: float = 1.0) -> float:
    """MB that a process takes to read a bomb of some size."""
    file, make, *parts = BOMBS[name]
    path = folder / file
    make(path, *(part(size) if callable(part) else part for part in parts))
    pid = os.fork()
    if pid == 0:
        try:
            before = peak_memory(anew=True)
            _read(path)
            (folder / 'peak').write_text(str(peak_memory() - before))
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    return float('inf') if status else float((folder / 'peak').read_text())


def _read(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        try:
            if path.is_dir():
                CognitiveMap.load(path)
            elif path.name.endswith('.osm.gz'):
                read_osm(path)
            elif path.suffix == '.scen':
                cells = path.with_name('x.map')
                cells.write_bytes(MAP)
                read_scenarios(path, read_movingai(cells))
            else:
                {Path(name).suffix: x[1] for name, x in FILES.items()}[
                    path.suffix
                ](path)
        except BCMError:
            pass


def peak_memory(anew: bool = False) -> float:
    """MB that this process has taken at most so far, or from now on."""
    if anew:
        Path('/proc/self/clear_refs').write_text('5')
    for line in Path('/proc/self/status').read_text().splitlines():
        if line.startswith('VmHWM'):
            return int(line.split()[1]) / 1024
    raise OSError('there is no peak')


def atlas(path: Path, tensors: dict[str, torch.Tensor]) -> None:
    """A cognitive map without a network, of this graph."""
    line = torch.tensor([[0, 1], [1, 0]])
    whole = {
        'edge_index': line,
        'edge_cost': torch.ones(2),
        'pos': torch.rand(2, 1),
        **tensors,
    }
    config = {
        'graph': {},
        'map': None,
        'readout': None,
        'history': asdict(History()),
        'snapshots': [],
    }
    files = {'graph': pack(whole), 'map': pack({}), 'snapshots': pack({})}
    write_folder(path, FORMAT, config, files)


def many_nodes(size: float) -> dict[str, torch.Tensor]:
    return {'pos': torch.zeros(int(9.5e6 * size), 1, dtype=torch.int8)}


def many_edges(size: float) -> dict[str, torch.Tensor]:
    number = int(3e6 * size)
    ends = torch.zeros(2, number, dtype=torch.uint8)
    ends[1] = torch.arange(number) % 200
    cost = torch.ones(number, dtype=torch.uint8)
    return {'pos': torch.rand(200, 1), 'edge_index': ends, 'edge_cost': cost}


def many_names(text: bytes) -> Callable[[float], dict[str, torch.Tensor]]:
    def make(size: float) -> dict[str, torch.Tensor]:
        count = int(9.5e6 * size) // (len(text) + 1)
        content = b'[' + (text + b',') * count + text + b']'
        names = torch.frombuffer(bytearray(content), dtype=torch.uint8)
        return {NAMES: names, 'pos': torch.rand(2, 1)}

    return make


def packed(path: Path, *parts: bytes | Iterable[bytes]) -> None:
    with gzip.open(path, 'wb', compresslevel=3) as file:
        for part in parts:
            for some in [part] if isinstance(part, bytes) else part:
                file.write(some)


def times(part: bytes, number: float) -> Callable[[float], Iterable[bytes]]:
    """So many of a part, some at a time."""
    some = max(1, 2**16 // len(part))
    return lambda size: (part * some for _ in range(int(size * number) // some))


def arrays(path: Path, dtype: str, shape: Any) -> None:
    """Zeros as coordinates, or as edges."""
    count = int(np.prod(shape[1])) * np.dtype(dtype).itemsize
    text = (
        f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape[1]}}}"
    )
    header = b'\x93NUMPY\x01\x00' + len(text).to_bytes(2, 'little')
    small = {
        'pos': np.zeros((9, 1)),
        'edge_index': np.array([[0, 1], [1, 0]]),
        'edge_cost': np.ones(2),
    }
    del small[shape[0]]
    np.savez(path, **small)
    with zipfile.ZipFile(path, 'a', zipfile.ZIP_DEFLATED) as archive:
        with archive.open(f'{shape[0]}.npy', 'w') as file:
            file.write(header + text.encode())
            for first in range(0, count, 2**20):
                file.write(bytes(min(2**20, count - first)))


def of_shape(name: str, *shape: float) -> Callable[[float], Any]:
    return lambda size: (
        name,
        tuple(int(x * size) if x > 9 else int(x) for x in shape),
    )


def numbered(part: bytes, number: float) -> Callable[[float], Iterable[bytes]]:
    return lambda size: (part % (n, n) for n in range(int(size * number)))


def rows(row: bytes, number: float) -> Callable[[float], Iterable[bytes]]:
    def make(size: float) -> Iterable[bytes]:
        count = int(number * size)
        yield b'type octile\nheight %d\nwidth %d\nmap\n' % (count, len(row) - 1)
        some = max(1, 2**16 // len(row))
        yield from (row * some for _ in range(count // some))
        yield row * (count % some)

    return make


#: The file, what makes it, and of what.
BOMBS: dict[str, tuple[Any, ...]] = {
    'elements': ('a.graphml', packed, b'<graphml>', times(b'<a/>', 3e7)),
    'nodes': ('a.graphml', packed, HEAD, numbered(NODE, 1.5e6)),
    'edges': ('a.graphml', packed, HEAD, times(EDGE, 2e6)),
    'name': ('a.graphml', packed, HEAD, b'<node id="', times(b'a', 9e8)),
    'text': ('a.graphml', packed, HEAD, NODE[:27], times(b'1', 9e8)),
    'depth': ('a.graphml', packed, HEAD, times(b'<a>', 3e7)),
    'defaults': (
        *('a.graphml', packed, b'<graphml>', numbered(DEFAULT, 1e4)),
        *(b'<graph>', times(b'<edge source="1" target="2"/>', 1e6)),
    ),
    'line': ('a.graphml', packed, HEAD, STREET, times(b'1 2,', 9e7)),
    'emoji': ('a.graphml', packed, HEAD, STREET, times(EMOJI, 3e5)),
    'keys': ('a.graphml', packed, HEAD, times(KEY, 60)),
    'streets': ('a.osm.gz', packed, OSM, times(WAY, 3e3), b'</osm>'),
    'points': ('a.osm.gz', packed, OSM, times(PLACES, 3e6), b'</osm>'),
    'saved nodes': ('atlas', atlas, many_nodes),
    'saved edges': ('atlas', atlas, many_edges),
    'saved names': ('atlas', atlas, many_names(b'""')),
    'saved lists': ('atlas', atlas, many_names(b'[]')),
    'saved objects': ('atlas', atlas, many_names(b'{}')),
    'places': ('a.npz', arrays, '|i1', of_shape('pos', 4e8, 1)),
    'more places': ('a.npz', arrays, '|i1', of_shape('pos', 1.6e7, 1)),
    'ends': ('a.npz', arrays, '|i1', of_shape('edge_index', 2, 8e6)),
    'wide map': ('a.map', packed, rows(b'.' * 2000 + b'\n', 2000)),
    'long map': ('a.map', packed, rows(b'..\n', 2**23)),
    'square map': ('a.map', packed, rows(b'.' * 1024 + b'\n', 1024)),
    'thin map': ('a.map', packed, rows(b'.\n', 2**22)),
    'thin blocked map': ('a.map', packed, rows(b'@\n', 2**23)),
    'map of a long head': ('a.map', packed, b'type octile', times(b'\na', 3e7)),
    'voxels': ('a.3dmap', packed, b'voxel 99 99 99\n', times(b'0 0 0\n', 1e7)),
    'space': ('a.3dmap', packed, b'voxel 70 70 70\n'),
    'sizes': ('a.3dmap', packed, b'voxel', times(b' 11', 2e7)),
    'one voxel': ('a.3dmap', packed, b'voxel 9 9 9\n', times(b'0 ', 3e7)),
    'no voxels': ('a.3dmap', packed, b'voxel 9 9 9\n', times(b'\n', 6e7)),
    'one query': ('x.scen', packed, b'version 1\n', times(b'0 ', 3e7)),
    'dots': ('x.scen', packed, b'version 1\n', times(b'.\t', 3e7)),
    'queries': (
        'x.scen',
        packed,
        b'version 1\n',
        times(b'0 x 5 4 0 0 4 0 4\n', 3.6e6),
    ),
}
