"""Small networkx graphs to read."""

import networkx as nx


def ring(kind: type = nx.DiGraph) -> nx.Graph:
    """a -> b -> c -> a, with costs 1, 2, 3."""
    graph = kind()
    for place, node in enumerate('abc'):
        graph.add_node(node, x=float(place), y=place**2, name=node)
    for cost, (tail, head) in enumerate(['ab', 'bc', 'ca'], start=1):
        graph.add_edge(tail, head, weight=cost, tags=['x'] * cost)
    return graph


def with_nodes(*names: str) -> nx.Graph:
    """The ring, its positions under other names."""
    graph = ring()
    for _, values in graph.nodes(data=True):
        place = values.pop('x'), values.pop('y')
        places = [place] if len(names) == 1 else place
        values.update(zip(names, places, strict=True))
    return graph
