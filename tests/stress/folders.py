"""Map folders that are damaged, or put together of parts that disagree."""

from __future__ import annotations

import hashlib
import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from helpers import ALL_ENCODERS, tiny_map
from small_fits import small_map, tiny
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, CognitiveMap, Planner, planning_graph
from bcm_pyg.export import to_geojson
from bcm_pyg.io.format import config_digest

from .files import (
    DTYPES,
    NASTY,
    damaged,
    refused,
    small_graph,
    spoil,
    spoil_tensors,
)

#: Names that a graph may have for what it likes, or that mean something.
NAMES = [
    *('a', '_a', 'a b', 'é', '', '1', 'batch', 'face', 'x', 'time', 'to_dict'),
    *('names', 'simplified_nodes', 'num_nodes', 'node_id', 'lonlat', 'coord'),
    *('blocked', 'grid_size', 'matrix_axes', 'dropped_nodes', 'pos_origin'),
    *('edge_length', 'edge_bends', 'bends', 'adj_t', 'edge_weight', 'names '),
]
#: Graphs of cognitive maps, all different: nodes, whether it is simplified,
#: kinds of names, and the encoder.
ATLASES: list[tuple[int, bool, str, str | None]] = [
    (20, False, 'text', None),
    (20, True, 'text', None),
    (20, True, 'pair', 'node_table'),
    (24, True, 'whole', 'interaction'),
    (24, False, 'none', 'node_table'),
]


def of_map(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """Damages the folder of a map and loads it."""
    data, name = small_graph(), str(rng.choice(ALL_ENCODERS))
    dtype = str(rng.choice(['float32', 'int8']))
    whole = folder / f'{name}-{dtype}'
    if not whole.exists():
        torch.manual_seed(0)
        small_map(data, name).save(whole, dtype=dtype)
    path = damaged_folder(whole, rng)
    return refused(partial(_load, path, data), path)


def _load(path: Path, data: Data) -> None:
    """A map that is loaded has finite embeddings, or no planner takes it."""
    model = BCM.load(path, data)
    with torch.no_grad():
        is_sound = bool(model.project_nodes(data).isfinite().all())
    if not is_sound:  # a GNN may overflow
        Planner(model, data)(0, 3)
        raise AssertionError('a planner takes embeddings that are not finite')


def of_atlas(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """Damages the folder of a cognitive map and asks it."""
    path = damaged_folder(whole_atlas(rng, folder), rng)
    return refused(partial(_ask, path, rng), path)


def of_parts(rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """Puts together parts of two cognitive maps and asks the result."""
    one, two = (whole_atlas(rng, folder) for _ in range(2))
    path = mixed_folder(one, two, rng)
    return refused(partial(_ask, path, rng), (one.name, two.name, path))


def of_attributes(
    rng: np.random.Generator, folder: Path
) -> tuple[int, list[str]]:
    """Saves a graph with an attribute of any kind: it can be loaded again."""
    name, value = NAMES[rng.integers(len(NAMES))], _anything(rng)
    run = partial(_save_and_load, name, value, rng, folder)
    return refused(run, (name, value))


def _save_and_load(
    name: str, value: Any, rng: np.random.Generator, folder: Path
) -> None:
    data = planning_graph(_ring(20))
    data[name] = value
    has_map = rng.random() < 0.2  # loading it takes longer
    atlas = CognitiveMap(data, tiny_map(data) if has_map else None)
    atlas.save(folder / 'any')  # or it is refused, which is fine
    try:
        other = CognitiveMap.load(folder / 'any')
    except BCMError as error:
        raise AssertionError(f'saved, but not loaded: {error}') from None
    assert other.names == atlas.names, 'other names'
    if has_map:
        other.explore(folder / 'page.html')


def _anything(rng: np.random.Generator) -> Any:
    """A tensor, an array or a value, of some shape and type."""
    shapes = [(), (0,), (3,), (20,), (20, 1), (20, 2), (1, 2), (2, 20)]
    shape, kind = shapes[rng.integers(len(shapes))], rng.integers(3)
    if kind == 0:
        return [*NASTY, float('nan'), 10**400][rng.integers(len(NASTY) + 2)]
    numbers = rng.integers(-2, 20, shape)
    if kind == 1:
        types = [*DTYPES, torch.uint16, torch.complex64, torch.float8_e4m3fn]
        return torch.from_numpy(numbers).to(types[rng.integers(len(types))])
    dtypes = ['>f4', 'u4', 'f2', 'longdouble', 'U3', 'S3', 'O', 'c8', 'M8[s]']
    return numbers.astype(str(rng.choice(dtypes)))


def whole_atlas(rng: np.random.Generator, folder: Path) -> Path:
    """The folder of one of the cognitive maps."""
    number = int(rng.integers(len(ATLASES)))
    size, simplify, names, encoder = ATLASES[number]
    whole = folder / f'atlas-{number}'
    if not whole.exists():
        data = _ring(size)
        kinds: dict[str, Any] = {
            'text': [f'n{node}' for node in range(size)],
            'pair': [(node, 0.5) for node in range(size)],
            'whole': torch.arange(size) * 7,
        }
        if names in kinds:
            data.node_id = kinds[names]
        CognitiveMap.learn(
            data,
            config=tiny(steps=2, validation_queries=0),
            encoder=encoder,
            simplify=simplify,
            snapshots=1,
        ).save(whole)
    return whole


def _ring(size: int) -> Data:
    """A ring with two chords, streets with bends."""
    ring = torch.arange(size)
    ends = torch.stack([ring, ring.roll(1)])
    ends = torch.cat([ends, torch.tensor([[0, 5], [10, 15]])], 1)
    ends = torch.cat([ends, ends.flip(0)], 1)
    num = ends.size(1)
    generator = torch.Generator().manual_seed(size)
    return Data(
        pos=torch.rand(size, 2, generator=generator),
        edge_index=ends,
        edge_cost=1 + torch.rand(num, generator=generator),
        lonlat=torch.rand(size, 2, generator=generator),
    )


def _ask(path: Path, rng: np.random.Generator) -> None:
    """All that can be asked of a map, if it is loaded."""
    atlas = CognitiveMap.load(path)
    names = atlas.names
    assert len(set(names)) == int(atlas.data.num_nodes)
    one, two = (names[at] for at in rng.integers(len(names), size=2))
    route = atlas.route(one, two)
    assert not route.success or set(route.nodes) <= set(names)
    kind = rng.integers(6)
    if kind == 0:
        plan = atlas.routes(names, two)
        json.dumps(to_geojson(plan, atlas.data), allow_nan=False)
    elif kind == 1:
        assert not bool(atlas.distance_matrix(names, [one, two]).isnan().any())
        atlas.isochrone(one, 2.0)
        atlas.nearest(one, names)
    elif kind == 2:
        atlas.alternatives(one, two)
    elif kind == 3:
        if route.hops:
            closed = atlas.close([(route.nodes[0], route.nodes[1])])
            closed.route(one, two)
    elif kind == 4 and atlas.model is not None:
        atlas.explore(path.with_name('page.html'))
    else:
        again = path.with_name('again')
        atlas.save(again)
        assert CognitiveMap.load(again).names == names


def damaged_folder(whole: Path, rng: np.random.Generator) -> Path:
    """A copy, of which the bytes of a file or what it says is damaged."""
    path = _copy(whole)
    file = path / str(rng.choice(sorted(p.name for p in path.iterdir())))
    if rng.random() < 0.4:
        file.write_bytes(damaged(file.read_bytes(), rng))
        return path
    config = json.loads((path / 'config.json').read_text())
    if file.suffix == '.json':  # with digests that are right
        spoil(config, rng)
    else:
        tensors = safetensors.torch.load(file.read_bytes())
        spoil_tensors(tensors, rng)
        _put(path, config, file.name.partition('-')[0], tensors)
    _write(path, config)
    return path


def mixed_folder(one: Path, two: Path, rng: np.random.Generator) -> Path:
    """One map, with files, tensors or entries of the config of another."""
    path = _copy(one)
    config = json.loads((path / 'config.json').read_text())
    other = json.loads((two / 'config.json').read_text())
    kind = rng.integers(3)
    if kind == 0:  # entries; those of the network may fit to the other's
        for key in ('graph', 'map', 'readout', 'history', 'snapshots'):
            if rng.random() < 0.4:
                config[key] = other[key]
    for name in ('graph', 'map', 'snapshots'):
        if rng.random() < 0.5:
            continue
        here, there = _tensors(path, config, name), _tensors(two, other, name)
        if kind == 1:
            here = there
        else:
            for key in sorted(here.keys() | there.keys()):
                if rng.random() < 0.3:
                    here.pop(key, None)
                    here |= {key: there[key]} if key in there else {}
        _put(path, config, name, here)
        if kind == 1 and name in config and rng.random() < 0.5:
            config[name] = other[name]
    if config['map'] and other['map'] and rng.random() < 0.5:
        # As if the network were that of this graph.
        print_of = rng.choice([config, other])['map']['fingerprint']
        config['map']['fingerprint'] = print_of
    _write(path, config)
    return path


def _copy(whole: Path) -> Path:
    path = whole.with_name('damaged')
    shutil.rmtree(path, ignore_errors=True)
    return Path(shutil.copytree(whole, path))


def _tensors(path: Path, config: Any, name: str) -> dict[str, torch.Tensor]:
    digest = config['files'][name]['sha256']
    file = path / f'{name}-{digest[:16]}.safetensors'
    return safetensors.torch.load(file.read_bytes())


def _put(
    path: Path, config: Any, name: str, tensors: dict[str, torch.Tensor]
) -> None:
    """Writes a file of a folder, and its digest."""
    content = safetensors.torch.save(tensors)
    digest = hashlib.sha256(content).hexdigest()
    config['files'][name] = {'sha256': digest, 'bytes': len(content)}
    (path / f'{name}-{digest[:16]}.safetensors').write_bytes(content)


def _write(path: Path, config: Any) -> None:
    config.pop('sha256', None)
    config['sha256'] = config_digest(config)
    (path / 'config.json').write_text(json.dumps(config))
