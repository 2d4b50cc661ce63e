from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from bcm_pyg import BCMError
from bcm_pyg.io import Format, open_file, read_file, write_file
from bcm_pyg.io.file import remove_leftovers

KIND = Format('thing', 7)


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / 'new' / 'file'
    tensors = {'a': torch.randn(3), 'b': torch.ones(2, 2).bfloat16()}
    write_file(path, KIND, {'x': [1, None]}, tensors)
    config, out = read_file(path.read_bytes(), KIND, path)
    assert config == {'x': [1, None]}
    assert out.keys() == tensors.keys()
    assert all(torch.equal(out[key], tensors[key]) for key in out)


def test_no_byte_can_be_changed(tmp_path: Path) -> None:
    path = tmp_path / 'file'
    write_file(path, KIND, {'x': 1}, {'a': torch.ones(3)})
    content = path.read_bytes()
    whole = read_file(content, KIND, 'x')
    for place in range(len(content)):
        for new in (content[place] ^ 1, 0x20, 0x7F):
            changed = bytearray(content)
            changed[place] = new
            try:
                config, tensors = read_file(bytes(changed), KIND, 'x')
            except BCMError:
                continue
            # White space, or a name: those are for check_tensors.
            assert config == whole[0]
            assert [*tensors.values()][0].tolist() == [1, 1, 1]
    for length in range(len(content)):
        with pytest.raises(BCMError, match='x is not a readable thing: '):
            read_file(content[:length], KIND, 'x')


def test_write_is_atomic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / 'file'
    write_file(path, KIND, {'step': 1}, {'a': torch.ones(3)})

    def broken(source: object, target: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, 'replace', broken)
    with pytest.raises(KeyboardInterrupt):
        write_file(path, KIND, {'step': 2}, {'a': torch.zeros(3)})
    config, tensors = read_file(path.read_bytes(), KIND, path)
    assert config == {'step': 1} and tensors['a'].tolist() == [1, 1, 1]
    assert [p.name for p in tmp_path.iterdir()] == ['file']


def test_what_killed_writes_left_goes(tmp_path: Path) -> None:
    (tmp_path / '.file.0123abcd.part').write_text('half')
    write_file(tmp_path / 'file', KIND, {'step': 1}, {'a': torch.ones(3)})
    assert [p.name for p in tmp_path.iterdir()] == ['file']


def test_what_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / 'file').write_text('')
    for path in (tmp_path / 'file' / 'x', tmp_path / ('x' * 400), '\ud800'):
        with pytest.raises(BCMError, match='cannot write the thing'):
            write_file(Path(path), KIND, {}, {'a': torch.ones(1)})
    names = {'x' * 1000 + str(n): torch.ones(1) for n in range(1100)}
    with pytest.raises(BCMError, match='header has .* more than'):
        write_file(tmp_path / 'long', KIND, {}, names)
    assert os.listdir(tmp_path) == ['file']


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    path = tmp_path / 'file'
    path.write_bytes(b'abc')
    (tmp_path / 'link').symlink_to(path)
    os.mkfifo(tmp_path / 'pipe')
    for name in ('file', 'link'):
        file, size = open_file(tmp_path / name)
        with file:
            assert (file.read(), size) == (b'abc', 3)
    for name, message in [
        ('link', 'link is a link'),
        ('pipe', 'pipe is not a file'),
        ('.', 'is not a file'),
    ]:
        with pytest.raises(BCMError, match=message):
            open_file(tmp_path / name, links=False)


def test_leftovers_go(tmp_path: Path) -> None:
    kept = ['a+b.c', '.x.0123abcd.part', '.a+b.c.mine.part', '.aab.c.0_.part']
    parts = ['.a+b.c.0123abcd.part', '.a+b.c.ab_d0123.part', 'old.c']
    for name in kept + parts:
        (tmp_path / name).write_text('')
    remove_leftovers(tmp_path, r'a\+b\.c|old\.c', ['a+b.c'])
    assert sorted(os.listdir(tmp_path)) == sorted(kept)
    remove_leftovers(tmp_path / 'none', 'file', [])
