from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import torch
from torch import Tensor
from torch_geometric.data import Data

from bcm_pyg.baselines import Dijkstra
from bcm_pyg.errors import BCMError
from bcm_pyg.explorer import write_explorer
from bcm_pyg.graph import (
    SimplifiedGraph,
    as_graph,
    fingerprint,
    largest_component,
    planning_graph,
    simplify_graph,
)
from bcm_pyg.nn import BCM
from bcm_pyg.nn.encoders.resolver import encoder_class
from bcm_pyg.planning import (
    Backtracking,
    BestFirst,
    Corridor,
    Planner,
    Readout,
    choose_corridor,
)
from bcm_pyg.planning.readouts import resolve_readout
from bcm_pyg.training import FitConfig, History, fit
from bcm_pyg.training.snapshots import Recorder, Snapshot
from bcm_pyg.utils import check_int

from . import folder
from .changes import with_costs, without_edges
from .folder import Parts
from .named_planner import NamedPlanner
from .settings import fit_config

#: A graph of which more nodes stay is not simplified: it would not pay.
MOST_KEPT = 0.9
#: For lower bounds of routes and distances, and to guide their searches.
LANDMARKS = 16
#: Between two nodes there is nothing to decide.
FEWEST = 3


class CognitiveMap(NamedPlanner):
    r"""A graph, the map that was learned of it, and a planner, in one object.

    Nodes have the names of the source: nodes of a networkx graph, OSM ids,
    cells of an occupancy array. If the source has no names, as a PyG graph
    without :obj:`node_id`, they are numbered by their position in it. A name
    is never taken as a position. Methods take one name or several: a list, an
    array, a tensor or a pandas Series.

    :meth:`learn` trains one, :meth:`load` reads one. The constructor takes
    parts that exist:

    Args:
        data (torch_geometric.data.Data): The graph.
        model (BCM, optional): The map of the graph, or of the simplified one.
            Without it, all answers are exact, by search. (default: :obj:`None`)
        simplified (SimplifiedGraph, optional): The graph simplified. (default:
            :obj:`None`)
        readout (Readout or str, optional): How routes are read. (default:
            :class:`~bcm_pyg.planning.Corridor`)
        history (History, optional): Of the training. (default: an empty one)
        snapshots (Sequence[Snapshot], optional): Maps from the training.
            (default: none)

    Attributes:
        data: The graph that routes are on, canonical, with :obj:`node_id`;
            :obj:`data.dropped_nodes` counts those outside of the largest
            component.
        simplified: The simplified graph, or None.
        model: The map, or None where there was nothing to learn.
        planner: Answers queries.
        history: What happened during training.
        snapshots: Maps from the training, the last as it is now.

    Example:
        >>> import networkx as nx
        >>> from bcm_pyg import CognitiveMap
        >>> graph = nx.Graph()
        >>> graph.add_node('Ayr', pos=(0.0, 0.0))
        >>> graph.add_node('Bath', pos=(3.0, 4.0))
        >>> graph.add_edge('Ayr', 'Bath', cost=5.0)
        >>> atlas = CognitiveMap.learn(graph)  # a tree: nothing to learn
        >>> atlas.route('Bath', 'Ayr')
        Route('Bath' -> 'Ayr', cost=5, hops=1)
    """

    def __init__(
        self,
        data: Data,
        model: BCM | None = None,
        *,
        simplified: SimplifiedGraph | None = None,
        readout: Readout | str | None = None,
        history: History | None = None,
        snapshots: Sequence[Snapshot] = (),
    ) -> None:
        data = planning_graph(data)
        planner: Planner | Dijkstra = Dijkstra(data)
        if model is not None:
            graph = data if simplified is None else simplified
            planner = Planner(model, graph, readout, landmarks=LANDMARKS)
        super().__init__(data, planner)
        self.simplified = simplified
        self.model = model
        self.history = History() if history is None else history
        self.snapshots = list(snapshots)

    @classmethod
    def learn(
        cls,
        graph: Any,
        budget: float | None = None,
        *,
        cost: Any = None,
        encoder: str | torch.nn.Module | None = None,
        config: FitConfig | None = None,
        readout: Readout | str | None = None,
        simplify: bool = True,
        snapshots: int = 0,
        seed: int | None = None,
        checkpoint: str | PathLike[str] | None = None,
        progress: bool | None = None,
        **settings: Any,
    ) -> Self:
        """Learns the map of a graph.

        The largest component in which every node can reach every other is
        taken, dead ends and chains are simplified away, and a map of the rest
        is trained. On a tree or a ring, or if two nodes are left, there is
        nothing to learn: exact search answers.

        Args:
            graph (Any): A PyG :obj:`Data`; a networkx graph, also one of
                OSMnx; a file (:obj:`.graphml`, :obj:`.npz`, :obj:`.map`,
                :obj:`.osm.pbf`); or an occupancy array, True or 1 where
                blocked.
            budget (float, optional): Seconds of training. (default: 300,
                unless :obj:`steps` are given)
            cost (Any, optional): Which edge attribute holds the costs, such as
                :obj:`"travel_time"`; :obj:`"length"` is straight-line length if
                there is none of that name. Of PyG :obj:`Data` also the costs
                themselves, of networkx also a function of tail, head and
                attributes. Of files, :obj:`.graphml` alone has a choice; arrays
                have none. (default: the one that can be meant; of OSMnx
                :obj:`"length"`)
            encoder (str or torch.nn.Module, optional): As in
                :meth:`BCM.from_data`. (default: as there)
            config (FitConfig, optional): How to train, in place of
                :obj:`budget` and :obj:`seed`, which are refused beside it.
                (default: :obj:`None`)
            readout (Readout or str, optional): How routes are read. (default:
                the corridor that :func:`~bcm_pyg.planning.choose_corridor`
                finds after training, in some seconds more, or minutes if a map
                of many thousand nodes is poor)
            simplify (bool, optional): Whether to simplify the graph, where it
                pays. (default: :obj:`True`)
            snapshots (int, optional): How many maps to keep from the training,
                at most. (default: :obj:`0`)
            seed (int, optional): Of the first weights and of training.
                (default: :obj:`0`)
            checkpoint (str or os.PathLike, optional): See
                :func:`~bcm_pyg.fit`. (default: :obj:`None`)
            progress (bool, optional): Whether to show a bar. (default: in a
                terminal)
            **settings (optional): Fields of :class:`~bcm_pyg.FitConfig`, such
                as :obj:`steps`; they replace those of :obj:`config`.
        """
        readout = None if readout is None else resolve_readout(readout)
        config = fit_config(
            config, settings, readout, default=300, budget=budget, seed=seed
        )
        check_int('snapshots', snapshots, 0)
        for name in encoder.split('+') if isinstance(encoder, str) else []:
            encoder_class(name)
        data = largest_component(as_graph(graph, cost))
        core, simplified = data, None
        if simplify:
            try:
                simplified = simplify_graph(data)
            except BCMError:  # no edge would be left
                return cls(data, readout=readout)
            if simplified.node.numel() > MOST_KEPT * int(data.num_nodes):
                simplified = None
            else:
                core = simplified.data.to(data.edge_index.device)
        if int(core.num_nodes) < FEWEST:
            return cls(data, readout=readout)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            model = BCM.from_data(core, encoder)
        recorder = Recorder(model, config, int(snapshots))
        history = _fit(model, core, recorder, progress, checkpoint)
        out = cls(
            data,
            model,
            simplified=simplified,
            readout=readout,
            history=history,
            snapshots=recorder.snapshots,
        )
        if readout is None:
            out._choose_corridor(config.seed)
        return out

    def _choose_corridor(self, seed: int) -> None:
        """Reads the map, if there is one, by the corridor that fits it."""
        if isinstance(self.planner, Planner) and not self.history.interrupted:
            # Who does not want to wait for it has a map all the same.
            with suppress(KeyboardInterrupt):
                corridor = choose_corridor(self.planner, seed=seed)
                self.planner.readout = corridor

    def explore(
        self,
        path: str | PathLike[str],
        *,
        start: Any = None,
        goal: Any = None,
        **kwargs: Any,
    ) -> None:
        """Writes a page on which the map can be explored in a browser.

        Args:
            path (str or os.PathLike): The file, such as
                :obj:`"explorer.html"`.
            start (Any, optional): The start to begin with. (default: a node far
                from the goal)
            goal (Any, optional): The goal to begin with. (default: a node far
                from the start)
            **kwargs (optional): Such as :obj:`title` and :obj:`unit`, see
                :func:`bcm_pyg.explorer.write_explorer`.
        """
        model = self.model
        if model is None:
            raise BCMError(
                'there is no map to explore, as there was nothing to learn: '
                'exact search answers'
            )
        names = self._names
        write_explorer(
            path,
            model,
            self.data if self.simplified is None else self.simplified,
            start=None if start is None else names.node(start),
            goal=None if goal is None else names.node(goal),
            snapshots=[
                (f'{one.step:,} steps', one.model(model))
                for one in self.snapshots[:-1]
            ],
            **kwargs,
        )

    def save(self, path: str | PathLike[str], dtype: str = 'float32') -> None:
        """Writes all of it into one folder, atomically.

        The graph, its names and other attributes (tensors, numbers, strings)
        are in it, so that the source is no longer needed. Names must be
        strings, numbers or tuples of them.

        Args:
            path (str or os.PathLike): The folder, made if missing. A map that
                is there is replaced.
            dtype (str, optional): What the network is stored in, as in
                :meth:`BCM.save`. (default: :obj:`"float32"`)
        """
        model, planner = self.model, self.planner
        readout = getattr(planner, 'readout', None)
        # A map that was put together by hand belongs to no graph yet.
        own = (None, fingerprint(planner.data))
        if model and model.info.fingerprint not in own:
            raise BCMError(
                'a copy with closed edges cannot be saved: save the map that '
                'it is of, or train the copy with update({}) first'
            )
        known = self.history, self.snapshots
        parts = Parts(self.data, self.simplified, self.model, readout, *known)
        folder.save(parts, path, dtype)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Reads what :meth:`save` wrote. No code in it is ever run.

        Raises:
            BCMError: If the folder does not hold a whole cognitive map.
        """
        parts = folder.load(path)._asdict()
        return cls(parts.pop('data'), parts.pop('model'), **parts)

    def update(
        self,
        costs: Mapping[tuple[Any, Any], float] | Sequence[float] | Tensor,
        budget: float | None = None,
        *,
        config: FitConfig | None = None,
        readout: Readout | str | None = None,
        progress: bool | None = None,
        **settings: Any,
    ) -> History:
        """Continues training after costs have changed.

        If it fails, nothing is changed. A corridor is chosen anew: a map that
        does not yet know the new costs well needs a wider one.

        Args:
            costs (Mapping or Sequence): New costs by names of tail and head,
                :obj:`{(u, v): cost}`, or a vector of those of all edges, in the
                order of :obj:`data.edge_index`. If the graph was undirected (of
                networkx, or GraphML), a name means both directions, unless the
                dictionary names the other one, too. Self-loops are skipped.
            budget (float, optional): Seconds of training. (default: 60, unless
                :obj:`steps` are given)
            config (FitConfig, optional): How to train, in place of
                :obj:`budget`. (default: :obj:`None`)
            readout (Readout or str, optional): How routes are read from now on.
                (default: as before, but a :class:`~bcm_pyg.planning.Corridor`
                of the kind that :meth:`learn` finds is chosen anew)
            progress (bool, optional): Whether to show a bar. (default: in a
                terminal)
            **settings (optional): As in :meth:`learn`.
        """
        before = getattr(self.planner, 'readout', None)
        chooses = readout is None and is_chosen(before)
        after = before if readout is None else resolve_readout(readout)
        config = fit_config(config, settings, after, default=60, budget=budget)
        data = planning_graph(with_costs(costs, self.data, self._names))
        model, history = copy.deepcopy(self.model), self.history
        simplified, core = self.simplified, data
        if simplified is not None:
            simplified = simplify_graph(data, simplified.node)
            core = simplified.data
        if model is not None:
            # A view has fewer edges than what the map was trained on.
            training = dict(model.info.training)
            training.pop('num_edges', None)
            model.info = replace(model.info, training=training)
            history = _fit(model, core, Recorder(model, config, 0), progress)
        fresh = type(self)(
            data,
            model,
            simplified=simplified,
            readout=after,
            history=history,
        )
        if isinstance(self.planner, Planner) and after is not None:
            epsilon = self.planner.epsilon
            fresh = fresh.with_readout(after, epsilon=epsilon)
        if chooses:
            fresh._choose_corridor(config.seed)
        vars(self).update(vars(fresh))
        return history

    def with_readout(
        self, readout: Readout | str, *, epsilon: float | None = None
    ) -> Self:
        r"""A copy whose routes are read in another way; graph and map are
        shared. Where there is no map, exact search goes on to answer.

        Args:
            readout (Readout or str): How routes are read, or its name.
            epsilon (float, optional): If given, every route is proven to cost
                at most :math:`1 + \epsilon` times the best one (see
                :class:`~bcm_pyg.Planner`). A saved map does not keep it.
                (default: :obj:`None`)
        """
        out, planner = copy.copy(self), self.planner
        if isinstance(planner, Planner):
            out.planner = planner.with_readout(readout, epsilon=epsilon)
        return out

    def close(self, edges: Iterable[tuple[Any, Any]]) -> Self:
        """A copy that never uses some edges; this map is not changed.

        Nothing is trained. Goals that can still be reached are reached, and
        lower bounds are those of the graph without the edges, or lower. The
        copy stays as it is when this map is updated: close again then.

        Args:
            edges (Iterable): Pairs of names, tail and head. If the graph was
                undirected (of networkx, or GraphML), a pair closes both
                directions, otherwise give both. Self-loops are skipped.
        """
        out = copy.copy(self)
        data = without_edges(edges, self.data, self._names)
        out.data = planning_graph(data)
        if not isinstance(self.planner, Planner):
            out.planner = Dijkstra(out.data)
        elif self.simplified is None:
            out.planner = self.planner.on_subgraph(out.data)
        else:
            try:
                nodes = self.simplified.node
                out.simplified = simplify_graph(out.data, nodes)
                out.planner = self.planner.on_subgraph(out.simplified)
            except BCMError:  # no edge is left between nodes that stay
                return type(self)(out.data)
        return out

    def __repr__(self) -> str:
        stays = ''
        if self.simplified is not None:
            stays = f', of which {self.simplified.node.numel()} stay'
        size = 0 if self.model is None else self.model.num_parameters()
        return (
            f'{type(self).__name__}({len(self._names)} nodes{stays}, '
            f'{self._adjacency.num_edges} edges, {size:,} parameters)'
        )


def is_chosen(readout: Readout | None) -> bool:
    """Whether it is of the kind that :func:`choose_corridor` finds."""
    return isinstance(readout, Corridor) and isinstance(
        readout.guide, BestFirst | Backtracking
    )


def _fit(
    model: BCM,
    data: Data,
    recorder: Recorder,
    progress: bool | None,
    checkpoint: str | PathLike[str] | None = None,
) -> History:
    return fit(
        model,
        data,
        recorder.config,
        progress=progress,
        callback=recorder if recorder.num else None,
        checkpoint=checkpoint,
    )
