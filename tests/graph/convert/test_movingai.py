import gzip
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import assert_same_data
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bcm_pyg import BCMError
from bcm_pyg.baselines import Dijkstra
from bcm_pyg.graph import (
    from_occupancy,
    read_movingai,
    read_npz,
    read_scenarios,
)
from bcm_pyg.graph.convert import movingai

MAP = b"""type octile
height 3
width 4
map
..@.
.G.S
TOW.
"""
SCEN = b"""version 1
0\tmaps/a b.map\t4\t3\t0\t0\t3\t0\t4.41421356
0\tmaps/a b.map\t4\t3\t3\t2\t1\t1\t3
"""
VOXELS = b'voxel 3 2 4\n1 0 0\n1 0 1\n1 0 2\n1 1 0\n'


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize('content', [MAP, gzip.compress(MAP, mtime=0)])
def test_map(tmp_path, content):
    data = read_movingai(write(tmp_path / 'a.map', content))
    assert data.coord.tolist() == [
        *([0, 0], [1, 0], [3, 0]),
        *([0, 1], [1, 1], [2, 1], [3, 1]),
        [3, 2],
    ]
    assert torch.equal(data.pos, data.coord.float())
    assert data.grid_size.tolist() == [[4, 3]]
    mask = np.array([list(row) for row in ['..@.', '....', '@@@.']]) == '@'
    plain = from_occupancy(mask)
    assert torch.equal(data.edge_index, plain.edge_index)
    assert torch.equal(data.edge_cost, plain.edge_cost)
    assert torch.equal(data.coord, plain.coord.flip(1))


def test_line_ends_do_not_matter(tmp_path):
    plain = read_movingai(write(tmp_path / 'a.map', MAP))
    for content in (
        MAP.replace(b'\n', b'\r\n'),
        MAP.rstrip(),
        MAP + b'\n\n',
        MAP.replace(b'height 3\nwidth 4', b'width 4\nheight 3'),
        MAP.replace(b'\n', b' \t\n'),
        b'\xef\xbb\xbf' + MAP,
    ):
        data = read_movingai(write(tmp_path / 'b.map', content))
        assert torch.equal(data.edge_index, plain.edge_index)


@settings(max_examples=30, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 7), st.integers(1, 7)),
    seed=st.integers(0, 2**16),
)
def test_round_trip(tmp_path_factory, shape, seed):
    rng = np.random.default_rng(seed)
    cells = rng.choice(
        list('.GS@OTW'), size=shape, p=[0.3, 0.2, 0.2] + [0.075] * 4
    )
    blocked = np.isin(cells, list('@OTW'))
    text = f'type octile\nheight {shape[0]}\nwidth {shape[1]}\nmap\n'
    text += '\n'.join(''.join(row) for row in cells) + '\n'
    path = tmp_path_factory.mktemp('maps') / 'a.map'
    path.write_text(text)
    try:
        want = from_occupancy(blocked)
    except BCMError:
        assume(False)
    assert torch.equal(read_movingai(path).edge_index, want.edge_index)


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        (b'height 3', b'height 999999999', '999999999, but the map has 3 rows'),
        (b'height 3', b'height 9999999999', 'height must be a size'),
        (b'height 3', b'height -3', "height must be a size .got '-3'"),
        (b'height 3', b'height', 'height must be a size .got None'),
        (b'height 3', b'height 2', 'height is 2, but the map has 3 rows'),
        (b'width 4', b'width 999999999', '999999999, but row 0 has 4 cells'),
        (b'width 4', b'width 0', 'width is 0, but row 0 has 4 cells'),
        (b'\n.G.S', b'\n.G.', 'but row 1 has 3 cells'),
        (b'\nTOW.\n', b'\n', 'but the map has 2 rows'),
        (b'TOW.', b'TO\xff.', "row 2, column 2 holds '\xff'"),
        (b'type octile', b'type hex', 'not a MovingAI map'),
        (b'map\n', b'', 'not a MovingAI map'),
        (MAP, b'', 'not a MovingAI map'),
        (b'..@.\n.G.S\nTOW.', b'@@@@\n@@@@\n@@@@', 'no two neighbouring'),
    ],
)
def test_bad_maps(tmp_path, old, new, message):
    assert old in MAP
    path = write(tmp_path / 'a.map', MAP.replace(old, new))
    with pytest.raises(BCMError, match=rf'a\.map: .*{message}'):
        read_movingai(path)


def test_rows_are_counted_before_they_are_read(tmp_path):
    rows = b'type octile\nheight 9\nwidth 2\nmap\n' + b'..\n' * 9
    path = write(tmp_path / 'a.map', rows)
    with pytest.raises(BCMError, match='9 x 2: it has more cells'):
        read_movingai(path, max_edges=17)


@pytest.mark.parametrize(
    ('name', 'content', 'message'),
    [
        ('a.map', MAP.replace(b'\nmap', b'\na b' * 2000 + b'\nmap'), 'not a M'),
        ('a.3dmap', b'voxel' + b' 3' * 9000, 'three sizes'),
        ('a.3dmap', VOXELS + b'0 ' * 9000, 'a line of more than 4,096 bytes'),
    ],
)
def test_long_lines(tmp_path, name, content, message):
    with pytest.raises(BCMError, match=message):
        read_movingai(write(tmp_path / name, content))


def test_long_lines_of_scenarios(tmp_path):
    data = read_movingai(write(tmp_path / 'a b.map', MAP))
    path = write(tmp_path / 'a.scen', SCEN + b'0 ' * 9000)
    with pytest.raises(BCMError, match='a line of more than 4,096 bytes'):
        read_scenarios(path, data)
    long_name = SCEN.replace(b'a b.map', b'x' * 3000 + b'/a b.map')
    path.write_bytes(long_name)
    assert read_scenarios(path, data).starts.numel() == 2


def test_truncated_maps(tmp_path):
    for size in range(len(MAP.rstrip())):
        path = write(tmp_path / 'a.map', MAP[:size])
        with pytest.raises(BCMError, match=r'a\.map'):
            read_movingai(path)


def test_other_files(tmp_path):
    with pytest.raises(BCMError, match='there is no file'):
        read_movingai(tmp_path / 'none.map')
    with pytest.raises(BCMError, match='not a file'):
        read_movingai(tmp_path)
    with pytest.raises(BCMError, match='not a MovingAI map'):
        read_movingai(write(tmp_path / 'a.map', bytes(range(256)) * 9))
    with pytest.raises(BCMError, match='cannot read'):
        read_movingai(
            write(tmp_path / 'a.map', gzip.compress(MAP, mtime=0)[:-9])
        )


def test_long_names_and_pipes(tmp_path):
    """Neither takes long: 16,000 endings, and a pipe that nobody writes to."""
    assert movingai._map_name('.gz' * 16000 + 'x') == '.gz' * 16000 + 'x'
    assert movingai._map_name('A/b.MAP.gz' + '.gz' * 16000) == 'b'
    os.mkfifo(tmp_path / 'a.map')
    for path in (tmp_path / 'a.map', None, 1):
        with pytest.raises(BCMError, match='not a file|must name a file'):
            read_movingai(path)  # type: ignore[arg-type]
    with pytest.raises(BCMError, match='not a file'):
        read_npz(tmp_path / 'a.map')


def test_more_rows_than_edges(tmp_path):
    content = b'type octile\nheight 50\nwidth 1\nmap\n' + b'.\n' * 50
    with pytest.raises(BCMError, match='more cells than max_edges = 49'):
        read_movingai(write(tmp_path / 'a.map', content), max_edges=49)


# Voxels ----------------------------------------------------------------------


@pytest.mark.parametrize('content', [VOXELS, gzip.compress(VOXELS, mtime=0)])
def test_voxels(tmp_path, content):
    data = read_movingai(write(tmp_path / 'a.3dmap', content))
    occupied = np.zeros((3, 2, 4), dtype=bool)
    occupied[1, 0, :3] = occupied[1, 1, 0] = True
    want = from_occupancy(occupied)
    assert torch.equal(data.edge_index, want.edge_index)
    assert torch.equal(data.coord, want.coord)
    assert data.grid_size.tolist() == [[3, 2, 4]]


def test_open_voxels(tmp_path):
    data = read_movingai(write(tmp_path / 'a.3dmap', b'voxel 2 2 2\n'))
    assert data.num_edges == 8 * 7


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        (b'voxel 99999 99999 99999\n1 1 1', 'more cells than max_edges'),
        (b'voxel 999999999999 1 1\n', 'voxel must be a size'),
        (b'voxel 3 2\n', 'three sizes'),
        (b'voxel 3 2 0\n', 'no cells'),
        (b'voxel 3 2 x\n', "must be a size .got 'x'"),
        (b'voxel 3 2 4\n1 1\n', 'a.3dmap: .*column'),
        (b'voxel 3 2 4\n1 1 1\n1 1\n', 'a.3dmap: .*column'),
        (b'voxel 3 2 4\n1 one 1\n', 'could not convert'),
        (b'voxel 3 2 4\n1 1 1\n1 2 1\n', r'voxel 1, \[1.0, 2.0, 1.0\], lies'),
        (b'voxel 3 2 4\n1 -1 1\n', 'voxel 0, .* lies outside'),
        (b'voxel 3 2 4\n1 0.5 1\n', 'voxel 0, .* lies outside'),
        (b'voxel 3 2 4\n1 nan 1\n', 'voxel 0, .* lies outside'),
    ],
)
def test_bad_voxels(tmp_path, content, message):
    with pytest.raises(BCMError, match=message):
        read_movingai(write(tmp_path / 'a.3dmap', content))


def test_max_edges(tmp_path):
    path = write(tmp_path / 'a.3dmap', b'voxel 9 9 9\n')
    with pytest.raises(BCMError, match='directed edges or more, above'):
        read_movingai(path, max_edges=800)
    with pytest.raises(BCMError, match='max_edges must be an int'):
        read_movingai(path, max_edges=0)


# Scenarios -------------------------------------------------------------------


@pytest.mark.parametrize(
    'content',
    [
        SCEN,
        gzip.compress(SCEN, mtime=0),
        SCEN.replace(b'version 1\n', b'version 1.0\r\n'),
        SCEN.replace(b'a b', b'a').replace(b'\t', b' '),
        SCEN.rstrip(),
    ],
)
def test_scenarios(tmp_path, content):
    name = 'A b.map' if b' 4 3 ' not in content else 'a.map'
    data = read_movingai(write(tmp_path / name, MAP))
    path = write(tmp_path / 'a.map.scen', content)
    starts, goals, optimal = read_scenarios(path, data)
    assert data.coord[starts].tolist() == [[0, 0], [3, 2]]
    assert data.coord[goals].tolist() == [[3, 0], [1, 1]]
    assert starts.dtype == goals.dtype == torch.long
    assert optimal.dtype == torch.double
    plan = Dijkstra(data)(starts, goals)
    assert optimal.tolist() == [4.41421356, 3]
    assert plan.cost.tolist() == pytest.approx(optimal.tolist(), rel=1e-6)


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        (b'version 1', b'version 2', "begins with 'version 2'"),
        (SCEN, b'', 'not a scenario file'),
        (SCEN, b'version 1\n', 'there are no scenarios'),
        (SCEN, b'version 1', 'there are no scenarios'),
        (b'3\t2\t1\t1', b'2\t0\t1\t1', r'start of scenario 1, \[2.0, 0.0\]'),
        (b'3\t2\t1\t1', b'3\t2\t4\t1', r'goal of scenario 1, \[4.0, 1.0\]'),
        (b'3\t2\t1\t1', b'3\t2\t-1\t1', 'goal of scenario 1'),
        (b'3\t2\t1\t1', b'3\t2\tnan\t1', 'goal of scenario 1'),
        (b'4\t3\t3', b'8\t6\t3', r'scenario 1 is for a map of \[8.0, 6.0\]'),
        (b'\t1\t1\t3\n', b'\t1\t1\n', 'column'),
        (b'\t1\t1\t3\n', b'\t1\t1\tlong\n', 'could not convert'),
        (b'\t1\t1\t3\n', b'\t1\t1\t-1\n', 'length of scenario 1 is -1'),
        (b'\t1\t1\t3\n', b'\t1\t1\tinf\n', 'length of scenario 1 is inf'),
    ],
)
def test_bad_scenarios(tmp_path, old, new, message):
    assert old in SCEN
    data = read_movingai(write(tmp_path / 'a.map', MAP))
    path = write(tmp_path / 'a.scen', SCEN.replace(old, new))
    with pytest.raises(BCMError, match=rf'a\.scen: .*{message}'):
        read_scenarios(path, data)


@pytest.mark.parametrize('name', ['a.map', 'A.map.gz', 'a b.map'])
def test_scenarios_of_another_map_are_told(tmp_path, name):
    content = gzip.compress(MAP, mtime=0) if name.endswith('gz') else MAP
    data = read_movingai(write(tmp_path / name, content))
    own = name.lower().partition('.')[0]
    for other in ('b', 'a b', 'a'):
        text = SCEN.replace(b'a b', other.encode())
        path = write(tmp_path / 'x.scen', text)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter('always')
            read_scenarios(path, data)
        text = f'is for the map {other!r}, this one is {own!r}'
        assert [text in str(one.message) for one in seen] == (
            [] if other == own else [True]
        )


@pytest.mark.parametrize('line', [b'map', b'map \r', b'map\t'])
def test_the_line_that_begins_the_map(tmp_path, line):
    content = MAP.replace(b'\nmap\n', b'\nmapper me\n' + line + b'\n')
    assert content != MAP
    plain = read_movingai(write(tmp_path / 'a.map', MAP))
    assert_same_data(read_movingai(write(tmp_path / 'a.map', content)), plain)


def test_scenarios_need_a_map(tmp_path, diamond):
    with pytest.raises(BCMError, match='data is not a map'):
        read_scenarios(write(tmp_path / 'a.scen', SCEN), diamond)


def test_scenarios_in_space(tmp_path):
    data = read_movingai(write(tmp_path / 'a.3dmap', VOXELS))
    content = b'version 1\na.3dmap\n0 0 0 2 1 2 3.82842712 1.2\n'
    path = write(tmp_path / 'a.3dscen.gz', gzip.compress(content, mtime=0))
    starts, goals, optimal = read_scenarios(path, data)
    assert data.coord[starts].tolist() == [[0, 0, 0]]
    assert data.coord[goals].tolist() == [[2, 1, 2]]
    assert optimal.tolist() == [3.82842712]
    assert Dijkstra(data)(starts, goals).cost.tolist() == pytest.approx(
        optimal.tolist(), rel=1e-6
    )


# Published lengths -----------------------------------------------------------


@pytest.mark.parametrize(
    ('name', 'nodes', 'edges', 'queries'),
    [
        ('maze-32-32-4', 790, 4_926, 60),
        ('room-64-64-8', 3_232, 20_324, 60),
        ('random-64-64-20', 3_270, 16_746, 60),
        ('den312d', 2_445, 16_554, 60),
        ('ht_chantry', 7_461, 53_878, 20),
        ('Berlin_1_256', 47_540, 356_328, 4),
        ('Boston_2_256', 48_617, 375_884, 4),
        ('maze-128-128-10', 14_818, 109_158, 10),
        ('lak303d', 14_784, 105_636, 10),
        ('warehouse-10-20-10-2-1', 5_699, 29_076, 20),
        ('arena', 2_054, 15_498, 60),
        ('lak507d', 4_360, 33_434, 30),
        ('AR0011SR', 120_458, 940_274, 2),
    ],
)
def test_published_lengths(data_dir, name, nodes, edges, queries):
    """The map has the published size, and exact search finds the lengths."""
    data = read_movingai(data_dir / 'grid' / f'{name}.map')
    assert (data.num_nodes, data.num_edges) == (nodes, edges)
    (path,) = (data_dir / 'grid').glob(f'{name}*.scen')
    starts, goals, optimal = read_scenarios(path, data)
    some = torch.linspace(0, len(starts) - 1, queries).long()
    cost = Dijkstra(data)(starts[some], goals[some]).cost
    assert (cost - optimal[some]).abs().max() < 1e-4


def test_a_byte_order_mark_does_not_matter(tmp_path):
    data = read_movingai(write(tmp_path / 'a b.map', MAP))
    plain = read_scenarios(write(tmp_path / 'a.scen', SCEN), data)
    marked = write(tmp_path / 'b.scen', b'\xef\xbb\xbf' + SCEN)
    assert torch.equal(read_scenarios(marked, data).starts, plain.starts)
    voxels = write(tmp_path / 'a.3dmap', b'\xef\xbb\xbf' + VOXELS)
    assert read_movingai(voxels).coord.size(1) == 3
