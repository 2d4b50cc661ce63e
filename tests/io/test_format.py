from __future__ import annotations

import json
from typing import Any

import pytest

from bcm_pyg import BCMError
from bcm_pyg.io import Format, check_fields, config_text, parse_config, refusing
from bcm_pyg.io.format import MAX_CONFIG_BYTES, strict_json

KIND = Format('thing', 7)


def test_round_trip() -> None:
    config = {'a': [1, 2.5, None, True], 'b': {'c': 'ä', 'd': (3, 4)}}
    text = config_text(KIND, config)
    assert json.loads(text)['format'] == 'bcm_pyg.thing'
    assert json.loads(text)['version'] == 7
    out = parse_config(KIND, text.encode())
    assert out == {'a': [1, 2.5, None, True], 'b': {'c': 'ä', 'd': [3, 4]}}
    # However it is laid out:
    again = json.dumps(json.loads(text), indent=4, sort_keys=True)
    assert parse_config(KIND, again.encode()) == out


@pytest.mark.parametrize(
    'value', [float('nan'), float('inf'), {1}, b'x', 'x' * MAX_CONFIG_BYTES]
)
def test_what_is_no_config(value: Any) -> None:
    with pytest.raises(BCMError, match='not valid JSON|bytes, more than'):
        config_text(KIND, {'a': value})


def test_other_formats_versions_and_digests() -> None:
    text = config_text(KIND, {'a': 1}).encode()
    with pytest.raises(BCMError, match="not of format 'bcm_pyg.other'"):
        parse_config(Format('other', 7), text)
    with pytest.raises(BCMError, match='version 7; .* reads version 8'):
        parse_config(Format('thing', 8), text)
    with pytest.raises(BCMError, match='changed or damaged'):
        parse_config(KIND, text.replace(b'"a": 1', b'"a": 2'))


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (b'', 'not valid JSON'),
        (b'\xff\xfe', 'not valid JSON'),
        (b'[' * 10**5, 'not valid JSON'),
        (b'9' * 10**5, 'not valid JSON'),
        (b'{"a": NaN}', 'NaN is not a JSON number'),
        (b'{"a": 1e400}', '1e400 is not a JSON number'),
        (b'{"a": -Infinity}', '-Infinity is not a JSON number'),
        (b'{"a": {"b": 1, "b": 1}}', "two entries 'b'"),
    ],
)
def test_strict_json(text: bytes, message: str) -> None:
    with pytest.raises(BCMError, match=message):
        strict_json(text)


def test_check_fields() -> None:
    fields = {'a': int}
    check_fields({'a': 1}, fields)
    for config in ({}, {'a': 'x'}):
        with pytest.raises(BCMError, match="no valid 'a'"):
            check_fields(config, fields)
    with pytest.raises(BCMError, match="unknown entry 'b'"):
        check_fields({'a': 1, 'b': 1}, fields)


def test_refusing() -> None:
    for error, message in [
        (BCMError('why'), 'cannot: why'),
        (OSError('why'), 'cannot: why'),
        (MemoryError(), 'cannot: MemoryError'),
        (RuntimeError('why\nstack'), 'cannot: why'),
        (ValueError('x' * 10**5), 'cannot: ' + 'x' * 500),
    ]:
        with pytest.raises(BCMError) as caught, refusing('cannot'):
            raise error
        assert str(caught.value) == message
    with pytest.raises(KeyboardInterrupt), refusing('cannot'):
        raise KeyboardInterrupt
