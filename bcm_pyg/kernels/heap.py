"""Open nodes: a binary heap, each node in it once."""

from typing import Any

from .scores import compiled

# Entries of Scratch.count: the stamp of the search, how many nodes are open,
# found, expanded and listed, and how far the turn has come, of how many nodes.
STAMP, OPEN, FOUND, EXPANDED, LISTED, DONE, TURN = 0, 1, 2, 3, 4, 5, 6


@compiled
def _before(note: Any, lane: int, one: int, two: int) -> bool:
    """The lowest value first, of equal ones the node that was found last."""
    first, second = note[lane, one].value, note[lane, two].value
    if first != second:
        return first < second
    return note[lane, one].order > note[lane, two].order


@compiled
def _sink(heap: Any, note: Any, lane: int, size: int, node: int) -> None:
    """Puts a node where the heap has a gap, its slot, or below."""
    at = note[lane, node].slot
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _before(
            note, lane, heap[lane, child + 1], heap[lane, child]
        ):
            child += 1
        if not _before(note, lane, heap[lane, child], node):
            break
        heap[lane, at] = heap[lane, child]
        note[lane, heap[lane, at]].slot = at
        at = child
    heap[lane, at] = node
    note[lane, node].slot = at


@compiled
def _rise(heap: Any, note: Any, lane: int, node: int) -> None:
    """Puts a node where the heap has a gap, its slot, or above."""
    at = note[lane, node].slot
    while at > 0:
        above = (at - 1) >> 1
        if not _before(note, lane, node, heap[lane, above]):
            break
        heap[lane, at] = heap[lane, above]
        note[lane, heap[lane, at]].slot = at
        at = above
    heap[lane, at] = node
    note[lane, node].slot = at


@compiled
def pop(count: Any, heap: Any, note: Any, lane: int) -> int:
    """Takes the first node from the heap and closes it."""
    node = heap[lane, 0]
    count[lane, OPEN] -= 1
    size = count[lane, OPEN]
    if size > 0:
        last = heap[lane, size]
        note[lane, last].slot = 0
        _sink(heap, note, lane, size, last)
    note[lane, node].slot = -1
    note[lane, node].closed = True
    return node


@compiled
def open_node(
    count: Any,
    heap: Any,
    note: Any,
    lane: int,
    node: int,
    cost: float,
    value: float,
) -> None:
    """Opens a node, or changes its value."""
    if note[lane, node].stamp != count[lane, STAMP]:
        note[lane, node].stamp = count[lane, STAMP]
        note[lane, node].order = count[lane, FOUND]
        note[lane, node].slot = -1
        count[lane, FOUND] += 1
    sinks = note[lane, node].slot >= 0 and value > note[lane, node].value
    note[lane, node].cost = cost
    note[lane, node].value = value
    note[lane, node].closed = False
    if note[lane, node].slot < 0:
        note[lane, node].slot = count[lane, OPEN]
        count[lane, OPEN] += 1
    if sinks:  # it is found at less cost, but with a worse score
        _sink(heap, note, lane, count[lane, OPEN], node)
    else:
        _rise(heap, note, lane, node)


@compiled
def begin(count: Any, lane: int, stamp: int) -> None:
    """Begins a search in which no node is open."""
    count[lane, : TURN + 1] = 0
    count[lane, STAMP] = stamp


@compiled
def begin_at(
    count: Any, heap: Any, note: Any, lane: int, start: int, stamp: int
) -> None:
    """Begins a search at a start."""
    begin(count, lane, stamp)
    open_node(count, heap, note, lane, start, 0.0, 0.0)
