"""Whatever a map folder says, in good form: loaded and sound, or refused."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers import tiny_map
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from map_folders import change_weights, read_config, write_config
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, Planner, planning_graph

ENCODERS = ['interaction', 'k_hot', 'grid', 'landmark']
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.text(max_size=4),
    st.integers(-2, 300),
    st.sampled_from([10**9, 2**31, 2**63, -(2**40), 10**30, 1e300, -0.5, 0.5]),
)
json_values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text(max_size=4), inner, max_size=3),
    ),
    max_leaves=5,
)
DTYPES = [
    torch.float32,
    torch.float16,
    torch.float64,
    torch.bfloat16,
    torch.int64,
    torch.int8,
    torch.uint8,
    torch.bool,
]


@pytest.fixture(scope='module')
def maps(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Data]:
    """A folder of maps, one for each encoder and dtype."""
    data = planning_graph(
        Data(
            pos=torch.tensor([[0.0, 0.1], [1.0, 0.5], [1.0, 0.5], [0.3, 2.0]]),
            edge_index=torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]),
            edge_cost=torch.tensor([1.0, 2.0, 0.5, 1.5]),
        )
    )
    folder = tmp_path_factory.mktemp('fuzz')
    for encoder in ENCODERS:
        for dtype in ('float32', 'int8'):
            tiny_map(data, encoder).save(folder / encoder / dtype, dtype=dtype)
    return folder, data


def places(value: Any, at: tuple = ()) -> list[tuple]:
    """Keys to every part of nested lists and dictionaries."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    out = []
    for key, part in items:
        out += [(*at, key), *places(part, (*at, key))]
    return out


def assert_sound_map(folder: Path, data: Data) -> None:
    """Refused; or a map that plans, with finite scores."""
    try:
        model = BCM.load(folder, data)
    except BCMError as error:
        assert type(error) is BCMError
        assert 0 < len(str(error)) < 2000
        return
    nodes = torch.arange(data.num_nodes)
    try:
        planner = Planner(model, data)
    except BCMError:
        return  # a map of another kind of coordinates
    plan = planner(nodes, nodes.flip(0))
    assert bool(plan.success.all())
    assert bool(planner.distance_matrix(nodes, nodes).isfinite().all())


kinds = st.tuples(
    st.sampled_from(ENCODERS), st.sampled_from(['float32', 'int8'])
)
fuzz = settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def copied(maps: Path, kind: tuple[str, str], tmp_path: Path) -> Path:
    """One of the maps, to be spoiled."""
    folder = tmp_path / 'map'
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(maps / kind[0] / kind[1], folder)
    return folder


@fuzz
@given(kinds, st.data())
def test_any_config(
    maps: tuple[Path, Data],
    tmp_path: Path,
    kind: tuple[str, str],
    draw: st.DataObject,
) -> None:
    folder, data = copied(maps[0], kind, tmp_path), maps[1]
    config = read_config(folder)
    for _ in range(draw.draw(st.integers(1, 3))):
        where = draw.draw(st.sampled_from(places(config)))
        part = config
        for key in where[:-1]:
            part = part[key]
        action = draw.draw(st.sampled_from(['set', 'remove', 'add']))
        if action == 'remove':
            del part[where[-1]]
        elif action == 'add' and isinstance(part, dict):
            part[draw.draw(st.text(max_size=4))] = draw.draw(json_values)
        else:
            part[where[-1]] = draw.draw(json_values)
        if not places(config):
            break
    write_config(folder, config)
    assert_sound_map(folder, data)


@fuzz
@given(kinds, st.data())
def test_any_weights(
    maps: tuple[Path, Data],
    tmp_path: Path,
    kind: tuple[str, str],
    draw: st.DataObject,
) -> None:
    folder, data = copied(maps[0], kind, tmp_path), maps[1]

    def change(state: dict[str, torch.Tensor]) -> None:
        name = draw.draw(st.sampled_from(sorted(state)))
        value = state[name]
        action = draw.draw(st.integers(0, 4))
        if action == 0:
            del state[name]
        elif action == 1:
            state[name + draw.draw(st.text(max_size=2))] = value.clone()
        elif action == 2:
            state[name] = value.to(draw.draw(st.sampled_from(DTYPES)))
        elif action == 3 and value.numel() > 0:
            value.view(-1)[0] = draw.draw(
                st.sampled_from([0, 1, -1, 7, 127, -128])
            )
        elif value.dim() > 0:
            size = draw.draw(st.integers(0, 3))
            state[name] = value.narrow(0, 0, min(size, value.size(0))).clone()

    change_weights(folder, change)
    assert_sound_map(folder, data)
