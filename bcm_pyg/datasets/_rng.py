import numpy as np

from bcm_pyg.errors import BCMError


def generator(seed: int) -> np.random.Generator:
    """A fresh generator of this seed."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise BCMError(
            f'seed must be an int and not negative (got {seed!r})'
        ) from None
