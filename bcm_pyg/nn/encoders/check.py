import json

import torch
from torch import Tensor
from torch.nn import Module
from torch_geometric.data import Data

from bcm_pyg.errors import BCMError
from bcm_pyg.graph import planning_graph
from bcm_pyg.nn.scoring import evaluating
from bcm_pyg.utils import first_true

from .base import NodeEncoder, select_nodes


def check_encoder(encoder: Module, data: Data) -> None:
    """Checks a custom encoder on a graph.

    Embeddings must have the right width and dtype and be finite and repeatable;
    gradients arrive at every parameter; :meth:`project` agrees with
    :meth:`forward`; :attr:`per_node` holds if it is set; and the configuration
    rebuilds an encoder of the same shapes.

    Args:
        encoder (torch.nn.Module): The encoder.
        data (torch_geometric.data.Data): The graph.

    Raises:
        BCMError: With the first problem found.
    """
    name = type(encoder).__name__
    if isinstance(encoder, type):
        raise BCMError(
            f'{encoder.__name__} is a class: pass an encoder made of it'
        )
    if not isinstance(encoder, Module):
        raise BCMError(f'{name} must be a torch.nn.Module')
    width = getattr(encoder, 'out_channels', None)
    if not isinstance(width, int) or width < 1:
        raise BCMError(
            f'{name} must have an int attribute out_channels (got {width!r})'
        )
    with evaluating(encoder):
        _check(encoder, planning_graph(data), name)


def check_embeddings(encoder: Module, data: Data) -> Tensor:
    """The embeddings of a canonical graph, if they are of the right form."""
    name = type(encoder).__name__
    try:
        out = encoder(data)
    except BCMError:
        raise
    except Exception as error:
        raise BCMError(f'{name} fails on this graph: {error}') from error
    if not isinstance(out, Tensor):
        kind = type(out).__name__
        raise BCMError(f'{name} must return a tensor (got {kind})')
    expected = (int(data.num_nodes), encoder.out_channels)
    if out.shape != expected or out.dtype != torch.float32:
        raise BCMError(
            f'{name} must return float32 embeddings of shape {expected} (got '
            f'{out.dtype} of shape {tuple(out.shape)})'
        )
    return out


def _check(encoder: Module, data: Data, name: str) -> None:
    dense = check_embeddings(encoder, data).to_dense()
    bad = ~torch.isfinite(dense).all(dim=1)
    if (node := first_true(bad)) is not None:
        raise BCMError(
            f'{name} gives node {node} an embedding that is not finite'
        )
    if not torch.equal(dense, encoder(data).to_dense()):
        raise BCMError(f'{name} gives another result on the second call')
    _check_gradients(encoder, dense, name)
    if not isinstance(encoder, NodeEncoder):
        return
    weight = torch.linspace(-1, 1, 3 * dense.size(1)).to(dense).view(3, -1)
    if not _agree(encoder.project(data, weight), dense @ weight.T):
        raise BCMError(f'{name}: project() does not agree with forward()')
    if encoder.per_node:
        _check_per_node(encoder, data, dense, name)
    if type(encoder).config is not NodeEncoder.config:  # meant to be saved
        _check_config(encoder, name)


def _agree(out: Tensor, expected: Tensor) -> bool:
    is_alike = (out.shape, out.dtype) == (expected.shape, expected.dtype)
    return is_alike and torch.allclose(out, expected, rtol=1e-4, atol=1e-5)


def _check_gradients(encoder: Module, dense: Tensor, name: str) -> None:
    named = {k: p for k, p in encoder.named_parameters() if p.requires_grad}
    if not named:
        return
    if not dense.requires_grad:
        raise BCMError(f'{name} has parameters but its output has no gradient')
    weight = torch.linspace(1, 2, dense.numel(), device=dense.device)
    loss = (dense.reshape(-1) * weight).sum()
    grads = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
    for key, grad in zip(named, grads, strict=True):
        if grad is None:
            raise BCMError(f'{name}: no gradient arrives at parameter {key!r}')


def _check_per_node(
    encoder: NodeEncoder, data: Data, dense: Tensor, name: str
) -> None:
    nodes = torch.arange(int(data.num_nodes) - 1, -1, -2, device=dense.device)
    try:
        some = encoder(select_nodes(data, nodes)).to_dense()
    except Exception as error:
        raise BCMError(
            f'{name} claims per_node, but fails without edges ({error})'
        ) from error
    if not _agree(some, dense[nodes]):
        raise BCMError(
            f'{name} claims per_node, but gives other embeddings for a subset '
            'of the nodes'
        )


def _check_config(encoder: NodeEncoder, name: str) -> None:
    try:
        config = encoder.config()
    except BCMError:
        return  # this one cannot be saved, and says so
    try:
        twin = type(encoder).from_config(json.loads(json.dumps(config)))
    except Exception as error:
        why = f'config() does not rebuild it ({error})'
        raise BCMError(f'{name}: {why}') from error
    shapes = {k: v.shape for k, v in encoder.state_dict().items()}
    if shapes != {k: v.shape for k, v in twin.state_dict().items()}:
        raise BCMError(
            f'{name}: config() rebuilds an encoder of other shapes; it must '
            'return every constructor argument'
        )
