"""Maps on disk: a folder with config.json and one safetensors file.

The weights are written first, under a name that holds their digest; then
config.json, which names them, replaces its predecessor in one step. So a folder
always holds the old map or the new one. Loading runs no code.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import fingerprint, planning_graph

from .bcm import BCM
from .encoders.resolver import encoder_class, encoder_name
from .transition import Transition

FORMAT = 'bcm_pyg.map'
VERSION = 1
CONFIG = 'config.json'


def save_map(model: BCM, path: str | PathLike[str]) -> None:
    """Writes a map into a folder, which is made if missing."""
    name = encoder_name(model.encoder)
    if not isinstance(model.transition, Transition):
        raise BCMError(
            'only maps with the built-in Transition can be saved (got '
            f'{type(model.transition).__name__})'
        )
    # Clones, since tied parameters must not share memory in the file.
    state = {
        key: value.detach().cpu().contiguous().clone()
        for key, value in model.state_dict().items()
    }
    weights = safetensors.torch.save(state)
    digest = hashlib.sha256(weights).hexdigest()
    file_name = f'map-{digest[:16]}.safetensors'
    config = {
        'format': FORMAT,
        'version': VERSION,
        'encoder': {'name': name, 'config': model.encoder.config()},  # type: ignore[operator]
        'transition': model.transition.config(),
        'terminal': model.terminal,
        'graph': model.graph,
        'record': model.record,
        'weights': {
            'file': file_name,
            'sha256': digest,
            'bytes': len(weights),
        },
    }
    try:
        text = json.dumps(config, indent=2, allow_nan=False)
        # What could not be loaded must not replace a map that can.
        _check_state(_build(json.loads(text), 'meta'), state)
    except (TypeError, ValueError, RecursionError) as error:
        raise BCMError(f'the map cannot be saved: {error}') from None
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(folder / file_name, weights)
        replace_file(folder / CONFIG, text.encode() + b'\n')
        for old in folder.glob('map-*.safetensors'):
            if old.name != file_name:
                old.unlink(missing_ok=True)
    except OSError as error:
        raise BCMError(f'cannot write a map to {folder}: {error}') from error


def load_map(
    path: str | PathLike[str], data: Data, *, force: bool = False
) -> BCM:
    """Reads a map for a graph."""
    folder = Path(path)
    config = _read_config(folder)
    data = planning_graph(data)
    graph = config['graph']
    if not force and graph is not None and graph != fingerprint(data):
        raise BCMError(
            f'the map in {folder} belongs to another graph (edges, costs or '
            'coordinates differ); pass force=True to use it all the same'
        )
    state = _read_weights(config['weights'], folder)
    # First without allocating: a config that asks for terabytes is found out
    # by its shapes.
    try:
        _check_state(_build(config, 'meta'), state)
        model = _build(config, 'cpu')
    except BCMError as error:
        raise _damaged(folder, error) from error.__cause__
    model.load_state_dict(state)
    model.graph = graph
    model.record = config['record']
    return model.to(data.pos.device)


def replace_file(path: Path, content: bytes) -> None:
    """Writes a file so that it is there in full or not at all."""
    handle, temporary = tempfile.mkstemp(
        dir=path.parent, prefix=f'.{path.name}.', suffix='.part'
    )
    try:
        with os.fdopen(handle, 'wb') as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _damaged(folder: Path, why: object) -> BCMError:
    return BCMError(f'{folder} does not hold a readable map: {why}')


def _read_config(folder: Path) -> dict[str, Any]:
    try:
        config = json.loads((folder / CONFIG).read_bytes())
    except FileNotFoundError:
        raise BCMError(f'there is no map in {folder}: no {CONFIG}') from None
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(folder, f'{CONFIG}: {error}') from None
    if not isinstance(config, dict) or config.get('format') != FORMAT:
        raise _damaged(folder, f'{CONFIG} is not of format {FORMAT!r}')
    if config.get('version') != VERSION:
        raise BCMError(
            f'the map in {folder} has format version '
            f'{config.get("version")!r}; this release reads version {VERSION}'
        )
    expected: dict[str, Callable[[Any], bool]] = {
        'encoder': lambda v: (
            isinstance(v, dict)
            and isinstance(v.get('name'), str)
            and isinstance(v.get('config'), dict)
        ),
        'transition': lambda v: isinstance(v, dict),
        'terminal': lambda v: isinstance(v, str),
        'graph': lambda v: v is None or isinstance(v, str),
        'record': lambda v: isinstance(v, dict),
        'weights': lambda v: (
            isinstance(v, dict)
            and isinstance(v.get('file'), str)
            and isinstance(v.get('sha256'), str)
            and isinstance(v.get('bytes'), int)
        ),
    }
    for key, is_valid in expected.items():
        if key not in config or not is_valid(config[key]):
            raise _damaged(folder, f'{CONFIG} has no valid {key!r}')
    return config


def _build(config: dict[str, Any], device: str) -> BCM:
    kind = encoder_class(config['encoder']['name'])
    try:
        # Fresh parameters are drawn and then replaced; the caller's random
        # numbers must not notice.
        with torch.random.fork_rng(devices=[]), torch.device(device):
            encoder = kind.from_config(config['encoder']['config'])
            transition = Transition(**config['transition'])
            return BCM(encoder, transition, config['terminal'], 1.0)
    except BCMError:
        raise
    except Exception as error:
        why = str(error).partition('\n')[0]  # torch may add a C++ stack
        raise BCMError(f'the encoder cannot be rebuilt: {why}') from error


def _read_weights(
    entry: dict[str, Any], folder: Path
) -> dict[str, torch.Tensor]:
    name = entry['file']
    if Path(name).name != name or not name.endswith('.safetensors'):
        raise _damaged(
            folder, f'the weights file {name!r} is not in the folder'
        )
    path = folder / name
    try:
        if path.is_symlink():
            raise _damaged(folder, f'{name} is a link')
        if path.stat().st_size != entry['bytes']:
            raise _damaged(
                folder,
                f'{name} has {path.stat().st_size} bytes, not {entry["bytes"]}',
            )
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != entry['sha256']:
            raise _damaged(folder, f'{name} was changed or damaged')
        return safetensors.torch.load(content)
    except BCMError:
        raise
    except (OSError, ValueError) as error:  # ValueError: no name for a file
        raise _damaged(folder, error) from None
    except safetensors.SafetensorError as error:
        raise _damaged(folder, f'{name}: {error}') from None


def _check_state(model: BCM, state: dict[str, torch.Tensor]) -> None:
    wanted = model.state_dict()
    if wanted.keys() != state.keys():
        odd = sorted(wanted.keys() ^ state.keys())
        raise BCMError(f'missing or unknown tensors {odd}')
    for key, like in wanted.items():
        value = state[key]
        if value.shape != like.shape or value.dtype != like.dtype:
            raise BCMError(
                f'{key} is {value.dtype} of shape {tuple(value.shape)}, not '
                f'{like.dtype} of shape {tuple(like.shape)}'
            )
        if value.is_floating_point() and not bool(torch.isfinite(value).all()):
            raise BCMError(f'{key} has values that are not finite')
    scale = float(state['cost_scale'])
    if not scale > 0:
        raise BCMError(f'cost_scale is {scale}')
