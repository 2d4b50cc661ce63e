from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor


class Visited(Protocol):
    """One set of nodes per query."""

    @property
    def num_rows(self) -> int:
        """Number of sets."""
        ...

    def rows(self) -> Tensor:
        """What stands for each of the sets, long :obj:`[num_rows]`."""
        ...

    def contains(self, row: Tensor, node: Tensor) -> Tensor:
        """Whether each node is in the set of its row; shapes broadcast."""
        ...

    def add(self, row: Tensor, node: Tensor) -> None:
        """Puts one node into each of some sets; no row may come twice."""
        ...

    def keep(self, row: Tensor) -> Tensor:
        """Keeps these sets, in this order, and forgets the others.

        Returns:
            What stands for each of the sets from now on.
        """
        ...


#: Entries that are looked at together, a line of a processor's cache.
BUCKET = 8
#: Entries that are moved together when the table grows.
MAX_ENTRIES = 2**20


class VisitedSets:
    """One set of nodes per query, all in one hash table.

    A row of the table belongs to a query. Rows are of equal width, a power of
    two that doubles when the fullest row is half full, so that memory is at
    most 32 bytes per row and step of the longest walk, however large the graph.
    A node goes to the first free entry of its bucket of eight or, if that is
    full, of the next, so that one look is nearly always enough.

    Args:
        num_rows (int): Number of sets.
        device (torch.device): Where to keep them.
    """

    def __init__(self, num_rows: int, device: torch.device) -> None:
        self._table = torch.full(
            (num_rows, 2 * BUCKET), -1, dtype=torch.long, device=device
        )
        self._fullest = 0  # an upper bound of the largest set

    @property
    def num_rows(self) -> int:
        """Number of sets."""
        return self._table.size(0)

    @property
    def _num_buckets(self) -> int:
        return self._table.size(1) // BUCKET

    def rows(self) -> Tensor:
        """What stands for each of the sets: its number."""
        return torch.arange(self.num_rows, device=self._table.device)

    def contains(self, row: Tensor, node: Tensor) -> Tensor:
        """Whether each node is in the set of its row; shapes broadcast."""
        shape = torch.broadcast_shapes(row.shape, node.shape)
        row, node = (x.expand(shape).reshape(-1) for x in (row, node))
        return self._in_buckets(self._look, row, node).view(shape)

    def add(self, row: Tensor, node: Tensor) -> None:
        """Puts one node into each of some sets; no row may come twice."""
        if 2 * (self._fullest + 1) > self._table.size(1):
            self._grow()
        self._fullest += 1
        self._in_buckets(self._put, row, node)

    def keep(self, row: Tensor) -> Tensor:
        """Keeps these sets, in this order, and forgets the others.

        Returns:
            Their new numbers.
        """
        self._table = self._table.index_select(0, row)
        return self.rows()

    def _in_buckets(
        self,
        visit: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
        row: Tensor,
        node: Tensor,
    ) -> Tensor:
        """Visits the bucket of each node, and the next as long as it is full.

        Returns:
            Whether each was there.
        """
        last = self._num_buckets - 1
        bucket = _hash(node) & last
        found, is_full = visit(bucket.add(row, alpha=last + 1), node)
        left = is_full.nonzero().squeeze(1)
        while left.numel() > 0:
            row, node, bucket = row[is_full], node[is_full], bucket[is_full]
            bucket = (bucket + 1) & last
            here, is_full = visit(bucket.add(row, alpha=last + 1), node)
            found[left] = here
            left = left[is_full]
        return found

    def _look(self, bucket: Tensor, node: Tensor) -> tuple[Tensor, Tensor]:
        entries = self._table.view(-1, BUCKET).index_select(0, bucket)
        found = (entries == node[:, None]).any(dim=1)
        return found, (entries[:, -1] >= 0) > found

    def _put(self, bucket: Tensor, node: Tensor) -> tuple[Tensor, Tensor]:
        entries = self._table.view(-1, BUCKET).index_select(0, bucket)
        # The entry that is the node already, or the first free one.
        fits = (entries == node[:, None]) | (entries < 0)
        place = fits.byte().argmax(dim=1)
        entry = entries.gather(1, place[:, None]).squeeze(1)
        found = entry == node
        is_full = (entry >= 0) > found
        place = place.add_(bucket, alpha=BUCKET)
        entry = torch.where(is_full, entry, node)
        self._table.view(-1).index_copy_(0, place, entry)
        return found, is_full

    def _grow(self) -> None:
        """Splits every bucket in two by one more bit of the hash."""
        old = self._table
        self._table = torch.full(
            (old.size(0), 2 * old.size(1)),
            -1,
            dtype=torch.long,
            device=old.device,
        )
        rows = max(1, MAX_ENTRIES // old.size(1))
        for part, row in zip(
            old.split(rows), self.rows().split(rows), strict=True
        ):
            self._split(part.view(part.size(0), -1, BUCKET), row[:, None, None])

    def _split(self, entries: Tensor, row: Tensor) -> None:
        num_buckets = entries.size(1)
        bucket = torch.arange(num_buckets, device=row.device)[:, None]
        hashed = _hash(entries)
        used = entries >= 0
        at_home = used & ((hashed & (num_buckets - 1)) == bucket)
        moves = (hashed & num_buckets) > 0
        row = row.expand_as(entries)
        for mine, shift in (
            (at_home & ~moves, 0),
            (at_home & moves, num_buckets),
        ):
            column = mine.cumsum(dim=-1) - 1 + BUCKET * (bucket + shift)
            self._table[row[mine], column[mine]] = entries[mine]
        astray = used & ~at_home
        row, node = row[astray], entries[astray]
        while row.numel() > 0:  # few; one of each row at a time
            again = torch.zeros_like(row, dtype=torch.bool)
            again[1:] = row[1:] == row[:-1]
            self._in_buckets(self._put, row[~again], node[~again])
            row, node = row[again], node[again]


def _hash(node: Tensor) -> Tensor:
    return (node * -7046029254386353131) >> 32  # 2**64 over the golden ratio
