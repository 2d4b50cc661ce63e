import torch
from torch import Tensor

from bcm_pyg.errors import BCMError
from bcm_pyg.utils import Adjacency

#: Among so many candidates at most a near source is looked for.
MOST_CANDIDATES = 256


class PairSampler:
    """Draws goals, and sources from which they can be reached.

    Goals are nodes that an edge enters, sources nodes that an edge leaves. On a
    connected graph both are uniform. Otherwise the goals of a block, or of a
    patch, come from one weak component, and a source of a block is drawn as
    often as it reaches goals.

    Args:
        adjacency (Adjacency): The graph.
        seed (int): Seed of the generator.
    """

    def __init__(self, adjacency: Adjacency, seed: int) -> None:
        self.adjacency = adjacency
        self.reachability = reachability = adjacency.reachability
        self.generator = torch.Generator(adjacency.device).manual_seed(seed)
        self._goals: Tensor = adjacency.dst.unique()
        self._sources: Tensor = adjacency.src.unique()
        parts = reachability.weak[self._sources].unique().numel()
        weak = reachability.weak[self._goals]
        order = weak.argsort(stable=True)
        self._goals_by_part: Tensor = self._goals[order]
        # Of each weak component, how many these are, and where they begin.
        self._part_sizes = weak.bincount(minlength=adjacency.num_nodes)
        self._part_begins = self._part_sizes.cumsum(0) - self._part_sizes
        #: Whether every source reaches every goal.
        self.connected = reachability.symmetric and parts == 1

    @property
    def num_goals(self) -> int:
        """Number of nodes that can be a goal."""
        return self._goals.numel()

    def goals(self, num: int) -> Tensor:
        """Distinct goals, as many as there are if fewer than :obj:`num`."""
        return self._some(self._goals, num)

    def goals_of(self, sources: Tensor, num: int) -> Tensor:
        """Goals in the weak component of each source, :obj:`[S, num]`.

        They may repeat.
        """
        part = self.reachability.weak[sources]
        first, size = self._part_begins[part], self._part_sizes[part]
        return self._goals_by_part[self.within(first, size, num)]

    def within(self, first: Tensor, size: Tensor, num: int) -> Tensor:
        """Random positions in ranges :obj:`[R]`, :obj:`[R, num]`."""
        uniform = torch.rand(
            (first.numel(), num),
            generator=self.generator,
            dtype=torch.float64,
            device=first.device,
        )
        pick: Tensor = first[:, None] + (uniform * size[:, None]).long()
        return pick

    def reach(self, goals: Tensor) -> Tensor | None:
        """Which nodes reach the goals, bool :obj:`[N, G]`; None for all."""
        return None if self.connected else self.reachability.to_goals(goals)

    def bootstrap_nodes(self, num: int) -> Tensor:
        """Distinct sources, as many as there are if fewer than :obj:`num`."""
        return self._some(self._sources, num)

    def block(self, pool: Tensor, num: int) -> Tensor:
        """Positions in a pool of goals that share a weak component."""
        order = self.permutation(pool.numel())
        if not self.connected:
            part = self.reachability.weak[pool[order]]
            order = order[part == part[0]]
        return order[:num]

    def sources(self, reach: Tensor | None, num: int) -> Tensor:
        """Source nodes for goals, given which nodes reach them.

        Args:
            reach (torch.Tensor, optional): bool :obj:`[N, G]`; not needed on a
                connected graph.
            num (int): How many; they may repeat.
        """
        if reach is None:
            pick = self._integers(self._sources.numel(), num)
        else:
            weight = reach[self._sources].sum(dim=1).float()
            if float(weight.sum()) == 0:
                raise BCMError('no source reaches any of the goals')
            pick = torch.multinomial(
                weight, num, replacement=True, generator=self.generator
            )
        return self._sources[pick]

    def near_sources(
        self, value: Tensor, column: Tensor, reach: Tensor | None, num: int
    ) -> Tensor:
        """Source nodes each of which is near to one of the goals.

        Each is the nearest of some random ones, whose number is log-uniform, so
        that distances of all scales come up.

        Args:
            value (torch.Tensor): What is known of the distance to the goals of
                a pool, :obj:`[N, P]`.
            column (torch.Tensor): Which of them are meant, :obj:`[G]`.
            reach (torch.Tensor, optional): bool :obj:`[N, G]` as for
                :meth:`sources`.
            num (int): How many; they may repeat.
        """
        goal = self._integers(column.numel(), num, 1)
        uniform = torch.rand(
            num, 1, generator=self.generator, device=value.device
        )
        count = (MOST_CANDIDATES**uniform).floor()
        candidate = self.sources(reach, num * MOST_CANDIDATES).view(num, -1)
        distance = value[candidate, column[goal]]
        rank = torch.arange(MOST_CANDIDATES, device=value.device)
        # At the goal itself, where the distance is 0, there is nothing to
        # learn; what is not known is NaN.
        unfit = (rank >= count) | ~(distance > 0)
        best = distance.masked_fill(unfit, float('inf')).argmin(1, keepdim=True)
        return candidate.gather(1, best).squeeze(1)

    def _some(self, nodes: Tensor, num: int) -> Tensor:
        """Distinct ones, by a permutation only where few are left out."""
        total = nodes.numel()
        if 16 * num >= total:
            return nodes[self.permutation(total)[:num]]
        pick = nodes.new_empty(0)
        while pick.numel() < num:
            pick = torch.cat([pick, self._integers(total, 2 * num)]).unique()
        return nodes[pick[self.permutation(pick.numel())[:num]]]

    def _integers(self, end: int, *size: int) -> Tensor:
        return torch.randint(
            end, size, generator=self.generator, device=self._goals.device
        )

    def permutation(self, num: int) -> Tensor:
        """A random order of so many things."""
        return torch.randperm(
            num, generator=self.generator, device=self._goals.device
        )

    def patches(self, size: int) -> tuple[Tensor, Tensor]:
        """All sources, patch by patch, and the number of the patch of each.

        Every node belongs to the nearest in hops, whatever their direction, of
        random centres.

        Args:
            size (int): Sources of a patch, on average.
        """
        graph, weak = self.adjacency, self.reachability.weak
        num = max(1, self._sources.numel() // size)
        centre = self._sources[self.permutation(self._sources.numel())[:num]]
        # A component without a centre is a patch.
        patch = num + weak
        patch[centre] = torch.arange(num, device=weak.device)
        ends = torch.stack([graph.src, graph.dst])
        tail, head = torch.cat([ends, ends.flip(0)], 1)
        while bool((rim := (patch[tail] < num) & (patch[head] >= num)).any()):
            at = head[rim]
            patch.scatter_reduce_(0, at, patch[tail[rim]], 'amin')
        if not self.connected:  # what comes last may be left out of a round
            patch = self.permutation(num + int(weak.max()) + 1)[patch]
        patch, order = patch[self._sources].sort(stable=True)
        return self._sources[order], patch


class Patches:
    """Deals out sources patch by patch, each at most once in a round."""

    def __init__(self, sampler: PairSampler, size: int) -> None:
        self.sampler = sampler
        self.size = size
        self.order, self.patch = sampler.patches(size)
        self.taken = 0

    def take(self, num: int) -> tuple[Tensor, Tensor]:
        """Distinct sources and the number of the patch of each.

        There are fewer than :obj:`num` only where the graph has fewer. What is
        left at the end of a round is too few, and left out.
        """
        if self.taken + num > self.order.numel() and self.taken > 0:
            self.order, self.patch = self.sampler.patches(self.size)
            self.taken = 0
        part = slice(self.taken, self.taken + num)
        self.taken = min(part.stop, self.order.numel())
        return self.order[part], self.patch[part]
