"""Graphs in files as PyG datasets of one graph, with their queries."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from torch_geometric.data import Data, InMemoryDataset

from bcm_pyg.graph import (
    Scenarios,
    from_osmnx,
    read_movingai,
    read_npz,
    read_queries,
    read_scenarios,
)

File: TypeAlias = str | PathLike[str]
Transform: TypeAlias = Callable[[Data], Data]


class OneGraph(InMemoryDataset):  # type: ignore[misc]
    """A dataset that holds one graph, and nothing on the disk.

    Args:
        data (torch_geometric.data.Data): The graph.
        transform (callable, optional): Applied to the graph at every access.
            (default: :obj:`None`)
        queries (Scenarios, optional): Queries on the graph as it is before
            :obj:`transform`, with their optimal costs. (default: :obj:`None`)
    """

    def __init__(
        self,
        data: Data,
        transform: Transform | None = None,
        queries: Scenarios | None = None,
    ) -> None:
        super().__init__(None, transform)
        self.queries = queries
        self.data, self.slices = self.collate([data])


class MovingAIMap(OneGraph):
    """A map of the MovingAI benchmarks, and its scenarios.

    Args:
        path (str or os.PathLike): The :obj:`.map` or :obj:`.3dmap` file (see
            :func:`~bcm_pyg.graph.read_movingai`).
        scenarios (str or os.PathLike, optional): The :obj:`.scen` or
            :obj:`.3dscen` file, which become :obj:`queries`. (default:
            :obj:`None`)
        transform (callable, optional): Applied to the graph at every access.
            (default: :obj:`None`)
    """

    def __init__(
        self,
        path: File,
        scenarios: File | None = None,
        transform: Transform | None = None,
    ) -> None:
        data = read_movingai(path)
        known = None if scenarios is None else read_scenarios(scenarios, data)
        super().__init__(data, transform, known)


class ToyGameMap(MovingAIMap):
    """A small made-up game map: one grid of 64 x 64 cells.

    It has rooms with doors, pillars, a courtyard with trees and a pond, and
    comes with 200 :obj:`queries`, shortest first. Steps are those of
    :func:`~bcm_pyg.graph.read_movingai`.

    Args:
        transform (callable, optional): Applied to the graph at every access.
            (default: :obj:`None`)
    """

    def __init__(self, transform: Transform | None = None) -> None:
        path = Path(__file__).with_name('toy_game.map')
        super().__init__(path, f'{path}.scen', transform)


class NpzGraph(OneGraph):
    """A graph in a file of numpy arrays, and its queries.

    Args:
        path (str or os.PathLike): The graph (see
            :func:`~bcm_pyg.graph.read_npz`).
        queries (str or os.PathLike, optional): The queries (see
            :func:`~bcm_pyg.graph.read_queries`). (default: :obj:`None`)
        transform (callable, optional): Applied to the graph at every access.
            (default: :obj:`None`)
    """

    def __init__(
        self,
        path: File,
        queries: File | None = None,
        transform: Transform | None = None,
    ) -> None:
        data = read_npz(path)
        known = None if queries is None else read_queries(queries, data)
        super().__init__(data, transform, known)


class OSMnxStreets(OneGraph):
    """Streets in a :obj:`.graphml` file that OSMnx saved, in metres.

    Args:
        path (str or os.PathLike): The file (see
            :func:`~bcm_pyg.graph.from_osmnx`).
        cost (str, optional): The edge attribute with the costs. (default:
            :obj:`"length"`)
        transform (callable, optional): Applied to the graph at every access.
            (default: :obj:`None`)
    """

    def __init__(
        self,
        path: File,
        cost: str = 'length',
        transform: Transform | None = None,
    ) -> None:
        super().__init__(from_osmnx(path, cost, project=True), transform)
