"""Tensors on disk, with JSON that says what they are.

A folder holds :obj:`config.json` and safetensors files that it names by their
digests. A single file holds the same JSON in its header. Both are written
atomically, and no code in them is ever run.

Files may come from strangers: what a file says is compared with what is wanted
before anything of that size is read.
"""

from bcm_pyg.utils import open_file

from .file import read_file, write_file
from .folder import open_folder, write_folder
from .format import (
    Format,
    check_fields,
    config_text,
    parse_config,
    refusing,
    strict_json,
)
from .tensors import DTYPES, Spec, TensorFile, check_finite, check_tensors, pack

__all__ = [
    'DTYPES',
    'Format',
    'Spec',
    'TensorFile',
    'check_fields',
    'check_finite',
    'check_tensors',
    'config_text',
    'open_file',
    'open_folder',
    'pack',
    'parse_config',
    'read_file',
    'refusing',
    'strict_json',
    'write_file',
    'write_folder',
]
