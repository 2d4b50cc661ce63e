"""Models from configs, first without allocating anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy
from torch.overrides import TorchFunctionMode

from bcm_pyg.errors import BCMError

from .bcm import BCM
from .encoders.resolver import encoder_class
from .transition import Transition

#: Calls of PyTorch that any encoder may take to be built, and for each tensor.
#: With the largest header that there can be it takes some ten seconds to spend
#: them all.
SPARE_CALLS = 10**4
TENSOR_CALLS = 12


Map = TypeVar('Map', bound=BCM)


def build(
    config: Mapping[str, Any], cls: type[Map], device: str = 'cpu'
) -> Map:
    """The map that a config describes, with weights of its own.

    Args:
        config (Mapping[str, Any]): What to build.
        cls (type): :class:`BCM`, or a subclass with the same arguments.
        device (str, optional): Where to put it. (default: :obj:`"cpu"`)
    """
    kind = encoder_class(config['encoder']['name'])
    try:
        # Fresh parameters are drawn and then replaced; the caller's random
        # numbers must not notice.
        with torch.random.fork_rng(devices=[]), torch.device(device):
            encoder = kind.from_config(config['encoder']['config'])
            transition = Transition(**config['transition'])
            return cls(encoder, transition, config['terminal'], 1.0)
    except BCMError:
        raise
    except Exception as error:
        why = str(error).partition('\n')[0]  # torch may add a C++ stack
        raise BCMError(f'the encoder cannot be rebuilt: {why}') from error


def skeleton(config: Mapping[str, Any], num_tensors: int) -> BCM:
    """The same without memory for its weights, to compare shapes with.

    So a config that asks for terabytes is found out, and one that asks for
    millions of small tensors, too. Encoders of users are trusted to be quick,
    and those that must see numbers while they are built are given them.

    Args:
        config (Mapping[str, Any]): What to build.
        num_tensors (int): How many tensors there are for it.
    """
    most_calls = SPARE_CALLS + TENSOR_CALLS * num_tensors
    is_ours = all(
        encoder_class(name).__module__.startswith('bcm_pyg.')
        for name in _encoder_names(config['encoder'])
    )
    try:
        with _AtMost(most_calls) if is_ours else nullcontext():
            return build(config, BCM, 'meta')
    except BCMError as error:
        if is_ours or not isinstance(error.__cause__, RuntimeError):
            raise
    return build(config, BCM)


def _encoder_names(part: Any) -> Iterator[str]:
    """Of an encoder and of the parts that it names in its config."""
    if isinstance(part, dict) and part.keys() == {'name', 'config'}:
        yield part['name']
        part = part['config']
    if isinstance(part, (dict, list)):
        inner = part.values() if isinstance(part, dict) else part
        for value in inner:
            yield from _encoder_names(value)


class _AtMost(TorchFunctionMode):
    """Stops what calls PyTorch too often."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self.calls = calls

    def __torch_function__(
        self,
        func: Callable,
        types: Sequence[type],
        args: tuple = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        self.calls -= 1
        if self.calls < 0:
            raise BCMError('the config asks for more than the weights hold')
        return func(*args, **(kwargs or {}))


def parameter_names(model: BCM) -> set[str]:
    """Names of all parameters, those that share memory too."""
    return {name for name, _ in model.named_parameters(remove_duplicate=False)}


def plain_state(model: BCM) -> dict[str, Tensor]:
    """Copies of all weights, in main memory."""
    state = wanted_state(model)
    # Clones, since tied parameters must not share memory in a file.
    return {
        key: value.detach().cpu().contiguous().clone()
        for key, value in state.items()
    }


def wanted_state(model: BCM) -> dict[str, Tensor]:
    """Tensors of the names, dtypes and shapes that a skeleton asks for."""
    state = model.state_dict()
    _refuse_lazy(state)
    return state


def check_state(model: BCM, state: Mapping[str, Tensor]) -> None:
    """Refuses weights that are not, to the last one, those of the model."""
    wanted = wanted_state(model)
    for key, like in wanted.items():
        value = state.get(key)
        if value is None:
            raise BCMError(f'there is no tensor {key}')
        if value.shape != like.shape or value.dtype != like.dtype:
            raise BCMError(
                f'{key} is {value.dtype} of shape {tuple(value.shape)}, not '
                f'{like.dtype} of shape {tuple(like.shape)}'
            )
        if value.is_floating_point() and not bool(torch.isfinite(value).all()):
            raise BCMError(f'{key} has values that are not finite')
    for key in state:
        if key not in wanted:
            raise BCMError(f'there is an unknown tensor {key!r:.80}')
    scale = state['cost_scale']
    if not (scale > 0 and scale.reciprocal().isfinite()):
        raise BCMError(f'cost_scale is {float(scale)}')
    for name, module in model.named_modules():
        check = getattr(module, 'check_buffers', None)
        if check is not None:
            buffers = dict(module.named_buffers(recurse=False))
            prefix = f'{name}.' if name else ''
            check(
                {
                    key: state[prefix + key]
                    for key in buffers
                    if prefix + key in state  # others are not kept in files
                }
            )


def _refuse_lazy(state: Mapping[str, Tensor]) -> None:
    for key, value in state.items():
        if is_lazy(value):
            raise BCMError(
                f'{key} has no shape until it is used: give its module the '
                'number of channels'
            )
