"""What the compiled kernels read and return: named tuples of arrays."""

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray
#: Queries that a thread works on side by side (see ``products.py``).
LANES = 2
#: Pairs of nodes that a thread values side by side.
PAIR_LANES = 4
#: Outputs of a layer that are summed up at a time.
TILE = 32
#: A node of more edges is a hub: a walk that comes back to it scores it once.
HUB = 16


class Graph(NamedTuple):
    """The out-edges of every node, in arrays."""

    rowptr: Any  # [N + 1] int64
    tail: Any  # [E] int64
    head: Any  # [E] int64
    cost: Any  # [E] float64
    max_degree: int


class Map(NamedTuple):
    r"""What scores need of a map.

    With :math:`a` what the last layer :math:`z = W_3 a + b_3` sees of a pair,
    and :math:`u = W_3 a` (the bias cancels), the expanded square is

    .. math::
        D_i(j; g) = \underbrace{\lVert u_{ig} \rVert^2}_{a_{ig}^\top G a_{ig}}
        + \underbrace{\lVert u_{ij} \rVert^2}_{\mathrm{offset}} +
        \underbrace{(-2 W_3^\top u_{ij})}_{\mathrm{slope}} \cdot a_{ig}

    with :math:`G = W_3^\top W_3`. The first term is the same for all
    neighbours, so that their order needs two layers for the pair and a dot
    product for each edge. Without slopes all passes are repeated.

    The widths :math:`H` and :math:`Z` are padded with zeros to multiples of 32,
    and matrices are cut into tiles of 32 outputs. Of :math:`G` a tile has the
    inputs up to its own last one; those before its first count twice.
    """

    hidden: Any  # [N, H] float32, the first layer of each node
    bias1: Any  # [H]
    weight2: Any  # [H / 32, H * 32]
    bias2: Any  # [H]
    weight3: Any  # [Z / 32, H * 32]
    zeros: Any  # [Z], where a bias would be: that of the last layer cancels
    gram: Any  # tiles [32 t, 32] for t = 1, 2, ..., one after the other
    slope: Any  # [E, H], or [0, H]
    offset: Any  # [E], or [0]
    scale: float  # the cost of a score of 1
    calibrated: bool  # whether the last edge scores its cost, else 0


#: How often a corridor is widened at most.
TURNS = 16

#: What stands for an infinite distance from or to a landmark.
NO_WAY = 2**16 - 1


class Bounds(NamedTuple):
    """Lower bounds by landmarks, of which distances are stored in units."""

    rows: Any  # [N, L] or [N, 2 L] uint16; NO_WAY if infinite
    outward: int  # columns of distances from landmarks; others are to them
    symmetric: bool  # whether those stand for both
    unit: float
    margin: float  # of a difference, in units


#: What a lane notes of a node, 48 bytes; a note counts by its stamp.
NOTE = np.dtype(
    [
        ('stamp', np.int32),  # of the search that found the node
        ('member', np.int32),  # of the set that it is in
        ('seen', np.int32),  # of the walk that has seen it
        ('order', np.int32),  # when it was found, or where it is on the route
        ('slot', np.int32),  # where it is in the heap, -1 if not
        ('closed', np.bool_),
        ('edge', np.int64),  # by which it was found
        ('cost', np.float64),  # of the way to it
        ('value', np.float64),  # by which it waits for its turn
    ],
    align=True,
)


class Scratch(NamedTuple):
    """The working memory of one thread: 112 bytes a node, and up to 16 bytes an
    edge that walks have met.
    """

    count: Any  # [LANES, 8] int64, of the search under way, and a clock
    note: Any  # [LANES, N] NOTE
    heap: Any  # [LANES, N] int32, open nodes
    nodes: Any  # [LANES, N + 1] int32, of the route, or those expanded
    order: Any  # [LANES, E] int32, the edges of each hub, best first
    score: Any  # [LANES, E] float32, of the edges of each hub


class Found(NamedTuple):
    """Routes of queries."""

    nodes: Any  # [R] int64, of all routes
    span: Any  # [B, 2] int64, where the route of a query begins and ends
    cost: Any  # [B] float64, infinite if there is none
    expansions: Any  # [B] int64
    walked: Any  # [B] float64, what was walked to find it
    bound: Any  # [B] float64, a lower bound of the optimal cost


class Expanded(NamedTuple):
    """What the searches of queries have expanded."""

    nodes: Any  # [M] int64, each node of a query once
    span: Any  # [B, 2] int64, where those of a query begin and end
    bound: Any  # [B] float64, the lowest value of an open node in the end
    reached: Any  # [B] bool, whether that node was the goal


#: Where nothing is known but scores.
NO_BOUNDS = Bounds(np.empty((0, 0), np.uint16), 0, False, 1.0, 0.0)


def blank_map() -> Map:
    """Stands for a map where none is asked."""
    row, tile = np.zeros(TILE, 'f4'), np.zeros((1, TILE * TILE), 'f4')
    layers = tile, row, tile, row, tile, row
    return Map(*layers, tile.ravel(), tile, row, 1.0, calibrated=False)


def scratch_for(num_nodes: int, num_edges: int) -> Scratch:
    """Scratch memory of one thread; pages are taken as they are used."""
    return Scratch(
        np.zeros((LANES, 8), np.int64),
        np.zeros((LANES, num_nodes), NOTE),
        np.zeros((LANES, num_nodes), np.int32),
        np.zeros((LANES, num_nodes + 1), np.int32),
        np.zeros((LANES, num_edges), np.int32),
        np.zeros((LANES, num_edges), np.float32),
    )
