import bz2
import sys

import numpy as np
import pytest

from bcm_pyg import BCMError
from bcm_pyg.graph import (
    largest_component,
    nodes_from_labels,
    read_graph,
    read_npz,
    read_osm,
    route_points,
)

pytest.importorskip('osmium')

POINTS = {
    10: (0, 0),
    11: (1, 1),
    12: (2, 0),
    13: (4, 0),
    14: (2, 3),
    15: (9, 9),
}
WAYS = [
    ([10, 11, 12], {'highway': 'residential', 'maxspeed': '36'}),
    ([12, 13], {'highway': 'primary', 'oneway': 'yes', 'maxspeed': '10 mph'}),
    ([14, 12], {'highway': 'service', 'oneway': '-1'}),
    ([13, 14], {'highway': 'motorway'}),
    ([10, 14], {'highway': 'footway'}),
    ([10, 13], {'highway': 'residential', 'access': 'private'}),
    ([14, 10], {'highway': 'track', 'maxspeed': 'walk'}),
    ([10, 13], {'waterway': 'river'}),
    ([10, 99], {'highway': 'residential'}),
]


def write(path, ways=WAYS):
    rows = ['<?xml version="1.0"?><osm version="0.6">']
    for ref, (x, y) in POINTS.items():
        place = f'lon="{x / 1000}" lat="{y / 1000}"'
        rows.append(f'<node id="{ref}" version="1" {place}/>')
    for number, (refs, tags) in enumerate(ways):
        rows.append(f'<way id="{number + 1}" version="1">')
        rows += [f'<nd ref="{ref}"/>' for ref in refs]
        rows += [f'<tag k="{k}" v="{v}"/>' for k, v in tags.items()]
        rows.append('</way>')
    path.write_text('\n'.join([*rows, '</osm>']))
    return path


def seconds(data):
    """Cost of each edge, by the ids of OpenStreetMap."""
    ids = data.node_id[data.edge_index].T.tolist()
    return dict(zip(map(tuple, ids), data.edge_cost.tolist(), strict=True))


def test_drive(tmp_path):
    data = read_osm(write(tmp_path / 'a.osm'))
    assert data.node_id.tolist() == [10, 12, 13, 14]  # 11 is a bend
    unit = 6_371_008.8 * np.pi / 180_000  # metres of a thousandth degree
    want = {
        (10, 12): 2 * 2**0.5 * unit / 10,
        (12, 10): 2 * 2**0.5 * unit / 10,
        (12, 13): 2 * unit / (16.09344 / 3.6),
        (12, 14): 3 * unit / (15 / 3.6),
        (13, 14): 13**0.5 * unit / (110 / 3.6),
    }
    assert seconds(data) == pytest.approx(want, rel=1e-5)
    line = route_points(data, nodes_from_labels(data, [10, 12]), data.lonlat)
    want = [[0, 0], [0.001, 0.001], [0.002, 0]]
    np.testing.assert_allclose(line, want, rtol=0, atol=1e-9)
    back = route_points(data, nodes_from_labels(data, [12, 10]), data.lonlat)
    np.testing.assert_allclose(back, want[::-1], rtol=0, atol=1e-9)
    assert data.edge_length.max() == pytest.approx(13**0.5 * unit, rel=1e-4)


def test_by_its_ending(tmp_path):
    file = write(tmp_path / 'a.osm')
    assert seconds(read_graph(file)) == seconds(read_osm(file))


def test_walk_and_bike(tmp_path):
    file = write(tmp_path / 'a.osm')
    walk = seconds(read_osm(file, 'walk'))
    assert {(13, 12), (12, 13), (10, 14), (14, 10)} <= walk.keys()
    assert (13, 14) not in walk  # a motorway
    bike = seconds(read_osm(file, mode='bike'))
    assert (12, 13) in bike and (13, 12) not in bike
    assert (10, 14) in bike  # by the track
    ratio = walk[10, 12] / bike[10, 12]
    assert ratio == pytest.approx(3)


def test_streets_that_meet_themselves(tmp_path):
    """A loop with a tail: the way visits node 12 twice."""
    ways = [([10, 12, 13, 14, 12], {'highway': 'service'})]
    ways += [([13, 15], {'highway': 'service', 'junction': 'roundabout'})]
    data = read_osm(write(tmp_path / 'a.osm', ways))
    assert data.node_id.tolist() == [10, 12, 13, 15]
    pairs = {(10, 12), (12, 10), (12, 13), (13, 12), (13, 15)}
    assert seconds(data).keys() == pairs


def test_errors(tmp_path):
    with pytest.raises(BCMError, match='there is no file'):
        read_osm(tmp_path / 'none.osm')
    with pytest.raises(BCMError, match='is not a file'):
        read_osm(tmp_path)
    with pytest.raises(BCMError, match="mode must be one of .'drive'"):
        read_osm(tmp_path, 'fly')
    with pytest.raises(BCMError, match='no streets to bike on'):
        read_osm(write(tmp_path / 'a.osm', WAYS[-2:-1]), 'bike')
    for name, content in {
        'a.osm.pbf': b'\0\0\0\x0dxyz',
        'b.osm': b'<osm',
    }.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(BCMError, match='cannot read streets from'):
            read_osm(tmp_path / name)


def test_sizes_are_bounded(tmp_path, monkeypatch):
    file = write(tmp_path / 'a.osm')
    with pytest.raises(BCMError, match='streets take more than 5,000 bytes'):
        read_osm(file, max_bytes=5000)
    monkeypatch.setattr('bcm_pyg.graph.convert.osm.FEW_NODES', 0)
    node = b'<node id="9" lat="1" lon="1"/>' * 10**5
    packed = bz2.compress(b'<osm version="0.6">' + node + b'</osm>')
    (tmp_path / 'b.osm.bz2').write_bytes(packed)
    with pytest.raises(BCMError, match='bytes, but over [0-9,]* nodes'):
        read_osm(tmp_path / 'b.osm.bz2')


@pytest.mark.parametrize('name', ['http:/a.osm', 'http:a.osm'])
def test_a_path_is_no_address(name: str, tmp_path, monkeypatch):
    # To osmium, these are addresses that another program fetches.
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    write(tmp_path / name)
    assert read_osm(name).num_nodes == read_osm(tmp_path / name).num_nodes


def test_without_osmium(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'osmium', None)
    with pytest.raises(BCMError, match=r'pip install bcm_pyg\[osm\]'):
        read_osm(write(tmp_path / 'a.osm'))


def test_a_country(data_dir):
    """Against a conversion by others: the same travel times."""
    file = data_dir / 'road' / 'original' / 'andorra.osm.pbf'
    if not file.exists():
        pytest.skip(f'there is no {file}')
    data = largest_component(read_osm(file))
    known = read_npz(data_dir / 'road' / 'andorra.npz')
    found, want = seconds(data), seconds(known)
    both = found.keys() & want.keys()
    assert len(both) > 0.99 * len(want)
    same = [abs(found[edge] - want[edge]) < 1e-5 * want[edge] for edge in both]
    assert sum(same) > 0.99 * len(both)  # ramps are slower there
