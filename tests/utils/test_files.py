import gzip
import os

import pytest

from bcm_pyg import BCMError
from bcm_pyg.utils import as_path, read_file, replace_file


@pytest.mark.parametrize('content', [b'', b'a', b'ab' * 10_000, b'\x1f'])
def test_plain_and_packed(tmp_path, content):
    path = tmp_path / 'file'
    path.write_bytes(content)
    assert read_file(path, 20_000) == content
    path.write_bytes(gzip.compress(content, mtime=0))
    assert read_file(str(path), 20_000) == content


@pytest.mark.parametrize('pack', [bytes, gzip.compress])
def test_too_large(tmp_path, pack):
    path = tmp_path / 'file'
    path.write_bytes(pack(bytes(3 * 2**20)))
    assert len(read_file(path, 3 * 2**20)) == 3 * 2**20
    with pytest.raises(BCMError, match='more than 3,145,727 bytes'):
        read_file(path, 3 * 2**20 - 1)


def test_little_is_unpacked_of_what_is_too_large(tmp_path, monkeypatch):
    path = tmp_path / 'file'
    path.write_bytes(gzip.compress(bytes(2**25), mtime=0))
    sizes = []
    read = gzip.GzipFile.read

    def watched(self, size=-1):
        part = read(self, size)
        sizes.append(len(part))
        return part

    monkeypatch.setattr(gzip.GzipFile, 'read', watched)
    with pytest.raises(BCMError, match='more than 1,000 bytes'):
        read_file(path, 1000)
    assert 0 < sum(sizes) <= 2**20


def test_unreadable(tmp_path):
    with pytest.raises(BCMError, match='there is no file'):
        read_file(tmp_path / 'none', 10)
    with pytest.raises(BCMError, match='not a file'):
        read_file(tmp_path, 10)
    for name in ('x' * 400, '\ud800'):
        with pytest.raises(BCMError, match='cannot read'):
            read_file(name, 10)
    with pytest.raises(BCMError, match='must name a file'):
        read_file('a\0b', 10)
    path = tmp_path / 'file'
    for content in (b'\x1f\x8b', gzip.compress(b'text', mtime=0)[:-4]):
        path.write_bytes(content)
        with pytest.raises(BCMError, match='cannot read'):
            read_file(path, 10)


def test_a_file_is_replaced_in_full_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / 'file'
    replace_file(path, b'old')

    def stop(*args: object) -> None:
        raise OSError('disk full')

    with monkeypatch.context() as patch:
        patch.setattr(os, 'fsync', stop)
        with pytest.raises(OSError, match='disk full'):
            replace_file(path, b'new')
    assert path.read_bytes() == b'old'
    assert os.listdir(tmp_path) == ['file']
    replace_file(path, b'new')
    assert path.read_bytes() == b'new'


@pytest.mark.skipif(os.name != 'posix', reason='there is no umask')
@pytest.mark.parametrize('umask', [0o077, 0o022, 0o002])
def test_the_umask_is_respected(tmp_path, umask):
    path = tmp_path / 'file'
    before = os.umask(umask)
    try:
        replace_file(path, b'new')
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask


@pytest.mark.parametrize('value', [None, 3, b'x', '', 'a\0b', ['x']])
def test_what_is_no_path(value):
    with pytest.raises(BCMError, match='it must name a file or folder'):
        as_path('it', value)


def test_what_is_a_path(tmp_path):
    assert as_path('it', str(tmp_path)) == as_path('it', tmp_path) == tmp_path
