"""Maps on disk: a folder with config.json and one safetensors file.

The weights are written first, under a name that holds their digest; then
config.json, which names them, replaces its predecessor in one step. So a folder
always holds the old map or the new one. Loading runs no code.
"""

from .load import load_map
from .save import save_map

__all__ = ['load_map', 'save_map']
