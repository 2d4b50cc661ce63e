from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from bcm_pyg import BCMError
from bcm_pyg.io import Format, check_tensors, open_folder, pack, write_folder

KIND = Format('thing', 7)
FIELDS = {'x': int}
TENSORS = {'graph': {'a': torch.randn(3)}, 'map': {'b': torch.ones(2).half()}}


def write(folder: Path, x: int = 1, scale: float = 1.0) -> None:
    contents = {
        name: pack({key: scale * value for key, value in tensors.items()})
        for name, tensors in TENSORS.items()
    }
    write_folder(folder, KIND, {'x': x}, contents)


def test_a_folder_of_two_files(tmp_path: Path) -> None:
    write(tmp_path / 'new' / 'folder')
    folder = tmp_path / 'new' / 'folder'
    assert len(os.listdir(folder)) == 3
    with open_folder(folder, KIND, FIELDS, TENSORS) as (config, files):
        assert config == {'x': 1}
        for name, tensors in TENSORS.items():
            check_tensors(files[name].specs, tensors)
            out = files[name].read()
            assert all(torch.equal(out[key], tensors[key]) for key in tensors)
    write(folder, x=2, scale=2.0)
    assert len(os.listdir(folder)) == 3  # the old ones are gone
    with open_folder(folder, KIND, FIELDS, TENSORS) as (config, files):
        write(folder)  # what is open can be read, whoever writes
        assert config == {'x': 2}
        out = files['graph'].read()['a']
        assert torch.equal(out, 2 * TENSORS['graph']['a'])


def test_other_folders(tmp_path: Path) -> None:
    write(tmp_path)
    for kind, fields, names, message in [
        (Format('map', 7), FIELDS, TENSORS, 'readable map: .*not of format'),
        (Format('thing', 8), FIELDS, TENSORS, 'reads version 8'),
        (KIND, {'x': str}, TENSORS, "no valid 'x'"),
        (KIND, {}, TENSORS, "unknown entry 'x'"),
        (KIND, FIELDS, ['map'], "unknown entry 'graph'"),
        (KIND, FIELDS, ['map', 'graph', 'names'], "no valid 'names'"),
    ]:
        with (
            pytest.raises(BCMError, match=message),
            open_folder(tmp_path, kind, fields, names),
        ):
            pass


def test_errors_of_the_caller_are_left_alone(tmp_path: Path) -> None:
    write(tmp_path)
    with (
        pytest.raises(ZeroDivisionError),
        open_folder(tmp_path, KIND, FIELDS, TENSORS),
    ):
        raise ZeroDivisionError


def test_what_cannot_be_read_is_not_written(tmp_path: Path) -> None:
    write(tmp_path)
    before = sorted(os.listdir(tmp_path))
    content = pack({'a': torch.zeros(2, dtype=torch.complex64)})
    with pytest.raises(BCMError, match="no spec of 'a'"):
        write_folder(tmp_path, KIND, {'x': 1}, {'graph': content})
    assert sorted(os.listdir(tmp_path)) == before
