"""Files of weights made to harm: sizes, headers, and numbers out of range."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from map_folders import (
    change_weights,
    in_config,
    refuse,
    set_weights,
    weights_of,
)
from torch_geometric.data import Data

from bcm_pyg import BCM, BCMError
from bcm_pyg.nn.quantize import DTYPES


def test_weights_of_a_terabyte_that_are_not_there(
    diamond: Data, saved: Path
) -> None:
    with open(weights_of(saved), 'r+b') as file:
        file.truncate(2**40)
    in_config('files', 'map', 'bytes', value=2**40)(saved)
    refuse(saved, diamond, 'are 1,099,511,627,776 bytes, but its tensors take')


def safetensors_of(header: Any, data: bytes = b'', size: int | None = None):
    text = json.dumps(header).encode()
    return struct.pack('<Q', len(text) if size is None else size) + text + data


def entry(shape: list, offsets: list, dtype: str = 'F32') -> dict:
    return {'dtype': dtype, 'shape': shape, 'data_offsets': offsets}


@pytest.mark.parametrize(
    'content',
    [
        b'',
        b'\0' * 7,
        safetensors_of({}, size=2**63),
        safetensors_of({}, size=10**9),
        safetensors_of([]),
        safetensors_of({'a': entry([2**40], [0, 2**42])}),
        safetensors_of({'a': entry([2**62, 2**62], [0, 8])}, bytes(8)),
        safetensors_of({'a': entry([2], [0, 4])}, bytes(4)),
        safetensors_of({'a': entry([2], [-8, 0])}, bytes(8)),
        safetensors_of({'a': entry([2], [8, 0])}, bytes(8)),
        safetensors_of(
            {'a': entry([2], [0, 8]), 'b': entry([2], [4, 12])}, bytes(12)
        ),
        safetensors_of(
            {'a': entry([2], [0, 8]), 'b': entry([2], [0, 8])}, bytes(8)
        ),
        safetensors_of({'a': entry([2], [0, 8])}, bytes(99)),
        safetensors_of({'a': entry([2], [0, 8], 'X32')}, bytes(8)),
        safetensors_of({'a': {}}),
    ],
)
def test_hostile_headers(diamond: Data, saved: Path, content: bytes) -> None:
    set_weights(saved, content)
    refuse(saved, diamond, 'readable map: (map-|there is no tensor)')


def test_a_header_of_many_tensors(diamond: Data, saved: Path) -> None:
    state = safetensors.torch.load(weights_of(saved).read_bytes())
    state |= {f'{i:05}': torch.ones(1) for i in range(3000)}
    set_weights(saved, safetensors.torch.save(state))
    refuse(saved, diamond, "unknown tensor '00000'")


# Numbers --------------------------------------------------------------------


@pytest.mark.parametrize('dtype', DTYPES)
@pytest.mark.parametrize(
    ('encoder', 'name', 'values', 'message'),
    [
        ('k_hot', 'codes', [0, 2], 'codes .* lie below 2 .*got 0 to 2'),
        ('k_hot', 'codes', [-1, 0], 'codes .* lie below 2 .*got -1 to 0'),
        ('k_hot', 'nodes', [2, 1], 'ids of coincident nodes'),
        ('k_hot', 'nodes', [-1, 1], 'ids of coincident nodes'),
        ('interaction', 'nodes', [1, 1], 'ids of coincident nodes'),
        ('k_hot+gnn', 'nodes', [2, 1], 'ids of coincident nodes'),
    ],
)
def test_buffers_out_of_range(
    tmp_path: Path,
    encoder: str,
    name: str,
    values: list[int],
    message: str,
    dtype: str,
) -> None:
    data = Data(
        pos=torch.zeros(3, 2),
        edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]),
        edge_cost=torch.ones(3),
    )
    model = BCM.from_data(data, encoder)
    model.save(tmp_path, dtype)
    (key,) = (k for k in model.state_dict() if k.endswith('coincident.' + name))
    change_weights(tmp_path, lambda s: s.update({key: torch.tensor(values)}))
    refuse(tmp_path, data, message)
    model.state_dict()[key].copy_(torch.tensor(values))
    with pytest.raises(BCMError, match=f'cannot be saved: {message}'):
        model.save(tmp_path)
