from __future__ import annotations

import hashlib
import io
import json
from os import PathLike

import safetensors.torch

from bcm_pyg.errors import BCMError
from bcm_pyg.io.folder import CONFIG, sync, tidy, writing
from bcm_pyg.io.tensors import read_header
from bcm_pyg.utils import as_path, check_choice, replace_file

from ..bcm import BCM
from ..encoders.resolver import encoder_name
from ..quantize import DTYPES, check_stored, compress, expand
from ..saved_map import (
    check_state,
    parameter_names,
    plain_state,
    skeleton,
    wanted_state,
)
from ..transition import Transition
from .config import FORMAT, VERSION, config_text


def save_map(
    model: BCM, path: str | PathLike[str], dtype: str = 'float32'
) -> None:
    """Writes a map into a folder, which is made if missing.

    One save at a time: another process that saves into the same folder waits.
    """
    check_choice('dtype', dtype, DTYPES)
    folder = as_path('path', path)
    name = encoder_name(model.encoder)
    # A subclass would come back as what it was made from.
    if type(model.transition) is not Transition:
        raise BCMError(
            'only maps with the built-in Transition can be saved (got '
            f'{type(model.transition).__name__})'
        )
    state = plain_state(model)
    parameters = parameter_names(model)
    stored = compress(state, parameters, dtype)
    weights = safetensors.torch.save(stored)
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
            'dtype': dtype,
        },
    }
    try:
        text = config_text(config)
        # What could not be loaded must not replace a map that can.
        header = read_header(io.BytesIO(weights), len(weights))
        like = skeleton(json.loads(text), len(header.entries))
        check_state(like, state)
        wanted = wanted_state(like)
        check_stored(header.entries, wanted, parameters, dtype)
        check_state(like, expand(stored, wanted, parameters, dtype))
    except (TypeError, ValueError, RecursionError) as error:
        raise BCMError(f'the map cannot be saved: {error}') from None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with writing(folder) as is_locked:
            replace_file(folder / file_name, weights)
            replace_file(folder / CONFIG, text)
            sync(folder)
            if is_locked:
                tidy(folder, file_name)
    except OSError as error:
        raise BCMError(f'cannot write a map to {folder}: {error}') from error
