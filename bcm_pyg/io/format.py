"""The JSON beside tensors: what they are, in which version, and a digest."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import UnionType
from typing import Any, NamedTuple

from bcm_pyg.errors import BCMError

#: Far more than any config needs; parsed, it takes many times its size.
MAX_CONFIG_BYTES = 2**20

#: What reads the folders of the package, for hints.
READERS = {
    'bcm_pyg.map': 'BCM',
    'bcm_pyg.cognitive_map': 'CognitiveMap',
}

#: Names of entries, and their types.
Fields = Mapping[str, type | UnionType]


class Format(NamedTuple):
    """A kind of folder or file, and the only version of it that is read."""

    name: str
    version: int


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Turns whatever is wrong into one short error that begins with this."""
    try:
        yield
    except BCMError as error:
        raise BCMError(f'{what}: {error!s:.500}') from error.__cause__
    except Exception as error:
        first_line = str(error).partition('\n')[0]  # then maybe a C++ stack
        why = first_line or type(error).__name__
        raise BCMError(f'{what}: {why:.500}') from error


def config_text(kind: Format, config: Mapping[str, Any]) -> str:
    """A config of JSON types as text, with its format, version and digest."""
    whole = {'format': f'bcm_pyg.{kind.name}', 'version': kind.version}
    try:
        whole = json.loads(json.dumps({**whole, **config}, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise BCMError(
            f'the config is not valid JSON: {error!s:.200}'
        ) from None
    whole['sha256'] = config_digest(whole)
    text = json.dumps(whole, indent=1) + '\n'
    if len(text) > MAX_CONFIG_BYTES:
        raise BCMError(
            f'the config would have {len(text):,} bytes, more than the '
            f'{MAX_CONFIG_BYTES:,} there can be'
        )
    return text


def parse_config(kind: Format, text: bytes) -> dict[str, Any]:
    """The inverse of :func:`config_text`; refuses all that it does not write.

    The digest finds accidents; it does not protect against changes on purpose.
    """
    config = strict_json(text)
    name = f'bcm_pyg.{kind.name}'
    if not isinstance(config, dict):
        raise BCMError(f'it is not of format {name!r}')
    if (found := config.pop('format', None)) != name:
        use = READERS.get(found) if isinstance(found, str) else None
        hint = '' if use is None else f', but holds a {use}: use {use}.load'
        raise BCMError(f'it is not of format {name!r}{hint}')
    version = config.get('version')
    if type(version) is not int or version != kind.version:
        raise BCMError(
            f'it has format version {version!r:.80}; this release reads '
            f'version {kind.version}'
        )
    digest = config.pop('sha256', None)
    if digest != config_digest({'format': name, **config}):
        raise BCMError('it was changed or damaged')
    del config['version']
    return config


def check_fields(config: Mapping[str, Any], fields: Fields) -> None:
    """Refuses a config that has other entries, or values of other types."""
    for key, kind in fields.items():
        if key not in config or not isinstance(config[key], kind):
            raise BCMError(f'it has no valid {key!r}')
    for key in config:
        if key not in fields:
            raise BCMError(f'it has an unknown entry {key!r:.80}')


def config_digest(config: Mapping[str, Any]) -> str:
    """SHA-256 of what a config says, however it is laid out."""
    text = json.dumps(config, sort_keys=True, separators=(',', ':'))
    return hashlib.sha256(text.encode()).hexdigest()


def strict_json(text: bytes) -> Any:
    """Parses JSON in UTF-8; refuses duplicate names and infinite numbers."""
    try:
        return json.loads(
            text.decode(),
            object_pairs_hook=_object,
            parse_float=_number,
            parse_constant=_number,
        )
    except (ValueError, RecursionError) as error:
        raise BCMError(f'it is not valid JSON: {error!s:.200}') from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out:
            raise ValueError(f'there are two entries {key!r:.80}')
        out[key] = value
    return out


def _number(text: str) -> float:
    if not math.isfinite(float(text)):  # 1e400 is not, either
        raise ValueError(f'{text:.80} is not a JSON number')
    return float(text)
