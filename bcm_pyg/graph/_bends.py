"""Bends of edges as arrays: from lines, between coordinates, in one pool."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

#: A line may end this far from its node, by the span of the graph.
TOLERANCE = 1e-6


class Bends(NamedTuple):
    """Points between the ends of edges.

    Attributes:
        span: :obj:`[E, 2]` where those of each edge begin and end.
        points: :obj:`[P, A]` of all edges, float64.
    """

    span: np.ndarray
    points: np.ndarray


def ranges(begin: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All numbers from each begin up to its end, and of which one each is."""
    count = end - begin
    owner = np.repeat(np.arange(count.size), count)
    first = count.cumsum() - count
    return owner, (begin - first)[owner] + np.arange(owner.size)


def packed(bends: Bends) -> Bends:
    """The same without points that no edge has, in the order of edges."""
    begin, end = bends.span.T
    count = end - begin
    last = count.cumsum()
    span = np.stack([last - count, last], axis=1)
    return Bends(span, bends.points[ranges(begin, end)[1]])


def carry(
    points: np.ndarray,
    tail: np.ndarray,
    head: np.ndarray,
    old: np.ndarray,
    new: np.ndarray,
) -> np.ndarray:
    """Points of edges in other coordinates, which are known at nodes.

    The affine map that fits the nodes best, plus what it misses at the ends of
    the edge. Metres and degrees of a city differ by little else.

    Args:
        points (numpy.ndarray): :obj:`[P, A]` as nodes are in :obj:`old`.
        tail (numpy.ndarray): :obj:`[P]` the tail of the edge of each point.
        head (numpy.ndarray): :obj:`[P]` its head.
        old (numpy.ndarray): :obj:`[N, A]`.
        new (numpy.ndarray): :obj:`[N, B]`.
    """
    known = np.isfinite(old).all(axis=1) & np.isfinite(new).all(axis=1)
    if len(points) == 0 or not known.any():
        return np.full((len(points), new.shape[1]), np.nan)
    middle, origin = old[known].mean(axis=0), new[known].mean(axis=0)
    size = np.sqrt(((old[known] - middle) ** 2).mean()) or 1.0
    scale = np.zeros((old.shape[1], new.shape[1]))
    if scale.shape[0] == scale.shape[1]:  # along axes without any spread
        spread = np.sqrt(((new[known] - origin) ** 2).mean())
        scale = np.eye(len(scale)) * (spread or 1.0)
    x, y = (old - middle) / size, new - origin
    missed = (y - x @ scale)[known]
    scale = scale + np.linalg.lstsq(x[known], missed, rcond=1e-3)[0]
    rest = y - x @ scale
    near = np.linalg.norm(points - old[tail], axis=1)
    far = np.linalg.norm(points - old[head], axis=1)
    share = (near / np.maximum(near + far, 1e-300))[:, None]
    rest = (1 - share) * rest[tail] + share * rest[head]
    out: np.ndarray = origin + (points - middle) / size @ scale + rest
    return out


def are_loose(span: Tensor, points: Tensor) -> bool:
    """Whether there are bends of edges that were dropped."""
    return int((span[:, 1] - span[:, 0]).sum()) < points.size(1)


def moved(
    data: Data,
    span: Tensor,
    points: Tensor,
    edge_index: Tensor,
    pos: Tensor | None,
    origin: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Bends of these edges alone, in other coordinates if they are given."""
    bends = packed(Bends(span.cpu().numpy(), points[0].double().cpu().numpy()))
    inner = bends.points
    if pos is not None:
        systems = [x.double().cpu().numpy() for x in (data.pos, pos)]
        ends = edge_index.cpu().numpy()[:, ranges(*bends.span.T)[0]]
        inner = carry(inner, *ends, *systems)
    if origin is not None:
        inner = inner - origin.cpu().numpy()
    out = torch.from_numpy(bends.span), torch.from_numpy(inner)[None]
    return out[0].to(span.device), out[1].to(span.device)


def from_lines(
    lines: Sequence[np.ndarray | None],
    tail: np.ndarray,
    head: np.ndarray,
    systems: Sequence[np.ndarray],
) -> tuple[Bends, int]:
    """Bends from whole lines, and how many lines do not fit their edge.

    Args:
        lines (list): Points of each edge, in either direction; None if it is
            straight.
        tail (numpy.ndarray): :obj:`[E]`.
        head (numpy.ndarray): :obj:`[E]`.
        systems (list): Coordinates of nodes that the lines may be in. Bends are
            returned in the first.
    """
    edge = np.array([e for e, line in enumerate(lines) if line is not None])
    span = np.zeros((len(lines), 2), dtype=np.int64)
    none = Bends(span, np.empty((0, systems[0].shape[1])))
    if edge.size == 0:
        return none, 0
    chosen = [line for line in lines if line is not None]
    axes = min(x.shape[1] for x in (*chosen, *systems))
    points = np.concatenate([line[:, :axes] for line in chosen])
    end = np.cumsum([len(line) for line in chosen])
    begin = end - np.diff(end, prepend=0)
    ends = points[begin], points[end - 1]
    fits = [
        _misfit(ends, pos[tail[edge], :axes], pos[head[edge], :axes])
        for pos in systems
    ]
    best = int(np.argmin([np.median(misfit.min(axis=0)) for misfit in fits]))
    misfit, pos = fits[best], systems[best]
    step = np.linalg.norm(np.diff(points, axis=0), axis=1)
    along = np.append(0.0, step.cumsum())
    width = np.ptp(pos[np.isfinite(pos).all(axis=1)], axis=0).max()
    slack = TOLERANCE * max(width, 1e-300)
    # A line of other units, or of another edge, ends far away.
    good = misfit.min(axis=0) <= along[end - 1] - along[begin] + slack
    turned = misfit[1] < misfit[0]

    owner, at = ranges(begin, end)
    back = begin[owner] + end[owner] - 1 - at
    points = points[np.where(turned[owner], back, at)]
    first, last = at == begin[owner], at == end[owner] - 1
    at_tail = _far(points, pos[tail[edge[owner]], :axes]) <= slack
    at_head = _far(points, pos[head[edge[owner]], :axes]) <= slack
    keep = good[owner] & ~(first & at_tail) & ~(last & at_head)
    points, owner = points[keep], owner[keep]
    count = np.bincount(edge[owner], minlength=len(lines))
    span[:, 1] = count.cumsum()
    span[:, 0] = span[:, 1] - count
    points = carry(
        points,
        *(tail[edge[owner]], head[edge[owner]]),
        *(pos[:, :axes], systems[0]),
    )
    return Bends(span, points), int((~good).sum())


def _misfit(
    ends: tuple[np.ndarray, np.ndarray], tail: np.ndarray, head: np.ndarray
) -> np.ndarray:
    """How far lines end from their nodes, [2, L]: as they are, and turned."""
    first, last = ends
    there = _far(first, tail) + _far(last, head)
    return np.stack([there, _far(first, head) + _far(last, tail)])


def _far(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    out: np.ndarray = np.linalg.norm(one - other, axis=1)
    return np.where(np.isnan(out), np.inf, out)
