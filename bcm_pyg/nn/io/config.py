"""The config.json of a map: what it says, and whether it can be believed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bcm_pyg.errors import BCMError
from bcm_pyg.io.folder import CONFIG, WEIGHTS, check_size, reading
from bcm_pyg.io.format import strict_json

from ..encoders.resolver import encoder_class
from ..quantize import DTYPES

FORMAT = 'bcm_pyg.map'
#: The one that is written. Version 1 had no digest and no dtype.
VERSION = 2
READABLE = (1, 2)
#: Far more than a record needs; a parsed file takes many times its size.
MAX_CONFIG_BYTES = 2**20

_FIELDS: dict[str, Callable[[Any], bool]] = {
    'format': lambda v: v == FORMAT,
    'version': lambda v: v in READABLE,
    'encoder': lambda v: _has(v, name=str, config=dict),
    'transition': lambda v: isinstance(v, dict),
    'terminal': lambda v: isinstance(v, str),
    'graph': lambda v: v is None or isinstance(v, str),
    'record': lambda v: isinstance(v, dict),
    'weights': lambda v: _has(v, file=str, sha256=str, bytes=int, dtype=str),
    'sha256': lambda v: isinstance(v, str),
}


def damaged(folder: Path, why: object) -> BCMError:
    """The error for a folder that does not hold what it should."""
    return BCMError(f'{folder} does not hold a readable map: {why!s:.500}')


def config_digest(config: dict[str, Any]) -> str:
    """A digest of all that a parsed config.json says but the digest."""
    rest = {key: value for key, value in config.items() if key != 'sha256'}
    text = json.dumps(rest, sort_keys=True, separators=(',', ':'))
    return hashlib.sha256(text.encode()).hexdigest()


def config_text(config: dict[str, Any]) -> bytes:
    """The content of config.json, digest added.

    Raises:
        TypeError, ValueError, RecursionError: If it is no JSON.
    """
    config = json.loads(json.dumps(config, allow_nan=False))
    config['sha256'] = config_digest(config)
    text = json.dumps(config, indent=1).encode() + b'\n'
    if len(text) > MAX_CONFIG_BYTES:
        raise ValueError(
            f'{CONFIG} would have {len(text):,} bytes, more than the '
            f'{MAX_CONFIG_BYTES:,} there can be: shorten the record'
        )
    return text


def read_config(folder: Path) -> dict[str, Any]:
    """Reads config.json, refuses what is not one, and fills in the defaults of
    older versions.
    """
    try:
        with reading(folder / CONFIG) as (file, size):
            check_size(CONFIG, size, MAX_CONFIG_BYTES)
            config = strict_json(file.read(size))
    except FileNotFoundError:
        raise BCMError(f'there is no map in {folder}: no {CONFIG}') from None
    except BCMError as error:
        raise damaged(folder, error) from None
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(folder, f'{CONFIG}: {error}') from None
    if not isinstance(config, dict) or config.get('format') != FORMAT:
        raise damaged(folder, f'{CONFIG} is not of format {FORMAT!r}')
    version = config.get('version')
    if type(version) is not int or version not in READABLE:
        raise BCMError(
            f'the map in {folder} has format version {version!r:.80}; this '
            f'release reads versions {READABLE}'
        )
    try:
        if version == 1:
            _upgrade(config)
        _check(config)
    except (BCMError, RecursionError) as error:
        raise damaged(folder, error) from None
    return config


def _upgrade(config: dict[str, Any]) -> None:
    if 'sha256' in config:
        raise BCMError(f'{CONFIG} of version 1 has no digest, but this one has')
    if isinstance(config.get('weights'), dict):
        if 'dtype' in config['weights']:
            raise BCMError(
                f'{CONFIG} of version 1 has no dtype, but this one has'
            )
        config['weights'].setdefault('dtype', 'float32')
    config['sha256'] = config_digest(config)


def _check(config: dict[str, Any]) -> None:
    for key, is_valid in _FIELDS.items():
        if key not in config or not is_valid(config[key]):
            raise BCMError(f'{CONFIG} has no valid {key!r}')
    for key in config:
        if key not in _FIELDS:
            raise BCMError(f'{CONFIG} has an unknown entry {key!r:.80}')
    # The particular complaints first: they say more than a wrong digest.
    encoder_class(config['encoder']['name'])
    name = config['weights']['file']
    if not WEIGHTS.fullmatch(name):
        raise BCMError(f'{name!r:.80} is not the name of weights in the folder')
    if config['weights']['dtype'] not in DTYPES:
        raise BCMError(
            f'dtype must be one of {DTYPES} (got '
            f'{config["weights"]["dtype"]!r:.80})'
        )
    if config_digest(config) != config['sha256']:
        raise BCMError(f'{CONFIG} was changed or damaged')


def _has(value: Any, **types: type) -> bool:
    """Whether this is an object of just these entries."""
    return (
        isinstance(value, dict)
        and value.keys() == types.keys()
        and all(isinstance(value[key], kind) for key, kind in types.items())
    )
