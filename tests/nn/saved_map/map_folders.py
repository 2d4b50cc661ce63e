"""Folders of maps, changed by hand, and encoders of a user's own."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError, planning_graph
from bcm_pyg.io.format import config_digest
from bcm_pyg.nn import NodeEncoder


class Tied(NodeEncoder):
    """A user's encoder; two of its names are one tensor."""

    per_node = True

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.out_channels = width
        self.lin = torch.nn.Linear(2, width, bias=False)
        self.alias = self.lin.weight

    def forward(self, data: Data) -> Tensor:
        return data.pos @ self.alias.T

    def config(self) -> dict[str, Any]:
        return {'width': self.out_channels}


class Looking(Tied):
    """Looks at numbers while it is built; has buffers of several kinds."""

    def __init__(self, width: int = 4) -> None:
        super().__init__(width)
        self.register_buffer('norm', torch.tensor(self.alias.norm().item()))
        self.register_buffer('seen', torch.tensor([3, 5]))
        self.register_buffer('code', torch.tensor([7, -8], dtype=torch.int8))


class Lazy(Tied):
    """Takes its shape from the first graph it sees."""

    def __init__(self, width: int = 4) -> None:
        super().__init__(width)
        self.lin = torch.nn.LazyLinear(width, bias=False)

    def forward(self, data: Data) -> Tensor:
        return self.lin(data.pos)


def assert_same(model: BCM, other: BCM, data: Data) -> None:
    """Equal weights and scores, to the last bit."""
    data = planning_graph(data)
    state, state2 = model.state_dict(), other.state_dict()
    assert state.keys() == state2.keys()
    for key, value in state.items():
        assert value.dtype == state2[key].dtype
        assert torch.equal(value, state2[key]), key
    i, j, g = torch.randint(int(data.num_nodes), (3, 40))
    block = data, i, j, g, torch.arange(40)
    assert torch.equal(model(*block), other(*block))
    assert torch.equal(
        model.score(model.encode(data), i, j, g),
        other.score(other.encode(data), i, j, g),
    )
    assert str(model) == str(other)


def read_config(folder: Path) -> dict[str, Any]:
    return json.loads((folder / 'config.json').read_text())


def write_config(folder: Path, config: Any) -> None:
    """Writes it with a digest that is right, if it has one."""
    if isinstance(config, dict) and 'sha256' in config:
        del config['sha256']
        config['sha256'] = config_digest(config)
    (folder / 'config.json').write_text(json.dumps(config))


def weights_of(folder: Path) -> Path:
    digest = read_config(folder)['files']['map']['sha256']
    return folder / f'map-{digest[:16]}.safetensors'


def change_weights(
    folder: Path, change: Callable[[dict[str, Tensor]], object]
) -> None:
    """Rewrites the weights, with the digest and size that go with them."""
    state = safetensors.torch.load(weights_of(folder).read_bytes())
    change(state)
    set_weights(folder, safetensors.torch.save(state))


def set_weights(folder: Path, content: bytes) -> None:
    weights_of(folder).unlink()
    config = read_config(folder)
    digest = hashlib.sha256(content).hexdigest()
    config['files']['map'] = {'sha256': digest, 'bytes': len(content)}
    write_config(folder, config)
    weights_of(folder).write_bytes(content)


# Damage ---------------------------------------------------------------------

Damage = Callable[[Path], object]


def in_config(*keys: str, value: Any) -> Damage:
    def damage(folder: Path) -> None:
        config = read_config(folder)
        place = config
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value
        write_config(folder, config)

    return damage


def without(key: str) -> Damage:
    def damage(folder: Path) -> None:
        config = read_config(folder)
        del config[key]
        write_config(folder, config)

    return damage


def in_weights(key: str, change: Callable[[Tensor], Tensor]) -> Damage:
    def damage(folder: Path) -> None:
        change_weights(folder, lambda s: s.update({key: change(s[key])}))

    return damage


def in_bytes(change: Callable[[bytes], bytes]) -> Damage:
    """Of the weights; digest and size stay as they were."""

    def damage(folder: Path) -> None:
        path = weights_of(folder)
        path.write_bytes(change(path.read_bytes()))

    return damage


def in_text(change: Callable[[str], str]) -> Damage:
    """Of the config; its digest stays as it was."""

    def damage(folder: Path) -> None:
        path = folder / 'config.json'
        path.write_text(change(path.read_text()))

    return damage


def refuse(folder: Path, data: Data, message: str) -> None:
    """Refused in little memory, whatever the folder claims."""
    tracemalloc.start()
    try:
        with pytest.raises(BCMError, match=message) as caught:
            BCM.load(folder, data, force=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert type(caught.value) is BCMError
    assert len(str(caught.value)) < 2000
    assert 'memory' not in str(caught.value)
    assert peak < 20e6
