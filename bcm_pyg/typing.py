"""Type aliases and the probe for optional packages."""

import importlib.util
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from torch import Tensor

#: Node ids as users hand them in.
Ids: TypeAlias = int | Sequence[int] | np.ndarray | Tensor

#: Whether :obj:`torch_scatter` can be imported.
WITH_TORCH_SCATTER = importlib.util.find_spec('torch_scatter') is not None
