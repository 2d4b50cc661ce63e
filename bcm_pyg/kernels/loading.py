"""Kernels are imported and compiled when they are first needed."""

import hashlib
import logging
import os
import sys
import threading
import warnings
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

_LOADING = threading.Lock()
_LOADED: list[ModuleType | None] = []
#: Whether compiled code is kept; decided before the kernels are imported.
CACHES = False


def load_kernels() -> Any:
    """The module of kernels, compiled; None where that is not possible."""
    if not _LOADED:
        with _LOADING:
            if not _LOADED:
                _LOADED.append(_load())
    return _LOADED[0]


def cache_folder() -> Path | None:
    """Where compiled code is kept: :obj:`NUMBA_CACHE_DIR`, or the cache folder
    of the user. None if no file can be written there.
    """
    try:
        if given := os.environ.get('NUMBA_CACHE_DIR'):
            folder = Path(given)
        elif given := os.environ.get(
            'LOCALAPPDATA' if sys.platform == 'win32' else 'XDG_CACHE_HOME'
        ):
            folder = Path(given) / 'bcm_pyg'
        elif sys.platform == 'darwin':
            folder = Path.home() / 'Library' / 'Caches' / 'bcm_pyg'
        else:
            folder = Path.home() / '.cache' / 'bcm_pyg'
        probe = folder / f'.probe-{os.getpid()}-{threading.get_ident()}'
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except (OSError, RuntimeError):  # there may be no home
        return None
    return folder


def _load() -> ModuleType | None:
    global CACHES
    try:
        import numba
        from numba.core import config as numba_config

        folder = cache_folder()
        CACHES = folder is not None
        if folder is not None:
            folder = folder / _key(numba.__version__)
        if folder is None or not (folder / 'done').exists():
            logging.getLogger('bcm_pyg').warning(
                'compiling the readouts, %s: up to half a minute ...',
                'once' if folder else 'for this process',
            )
        config: Any = numba_config
        before = config.CACHE_DIR
        try:
            config.CACHE_DIR = str(folder or '')
            from . import compiled
        finally:
            config.CACHE_DIR = before
        compiled.compile_all()
        if folder is not None:
            with suppress(OSError):  # it is announced once more then
                folder.mkdir(parents=True, exist_ok=True)
                (folder / 'done').touch()
    except Exception as error:  # whatever numba, LLVM or a disk may raise
        warnings.warn(
            'the readouts cannot be compiled, so planning is slow '
            f'({type(error).__name__}: {error})',
            stacklevel=2,
        )
        return None
    if folder is None:
        warnings.warn(
            'the compiled readouts cannot be kept, as no file can be written '
            'to the cache folder: every process compiles them anew. Set '
            'NUMBA_CACHE_DIR to a folder where files can be written',
            stacklevel=2,
        )
    return compiled


def _key(version: str) -> str:
    """Digest of sources and versions: numba misses changes in other files."""
    digest = hashlib.sha256(f'{version} {sys.version}'.encode())
    for source in sorted(Path(__file__).parent.glob('*.py')):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
