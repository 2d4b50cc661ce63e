from __future__ import annotations

import json
from typing import Any


def strict_json(text: bytes) -> Any:
    """What a text of JSON says, if it says it once, in finite numbers.

    Raises:
        ValueError, RecursionError: If it is no such text.
    """
    return json.loads(
        text, object_pairs_hook=_object, parse_constant=_refuse_constant
    )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f'there are two entries {key!r:.80}')
            seen.add(key)
    return out


def _refuse_constant(name: str) -> None:
    raise ValueError(f'{name} is not a number of JSON')
