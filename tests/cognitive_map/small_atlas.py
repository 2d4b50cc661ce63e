"""Streets so small that a map of them is trained in a second."""

from __future__ import annotations

import functools
from typing import Any

import networkx as nx
import numpy as np
from small_fits import tiny

from bcm_pyg import CognitiveMap


def streets(side: int = 5, seed: int = 0) -> nx.DiGraph:
    """A city of two-way streets called 'a0' to 'e4', with some one-way ones,
    a chain and dead ends.
    """
    rng = np.random.default_rng(seed)
    out = nx.DiGraph()
    for row in range(side):
        for column in range(side):
            x, y = row + 0.3 * rng.random(), column + 0.3 * rng.random()
            out.add_node(f'{chr(97 + row)}{column}', x=x, y=y)
    names = list(out)

    def add(tail: str, head: str, both: bool = True) -> None:
        out.add_edge(tail, head, cost=float(rng.uniform(1, 3)))
        if both:
            out.add_edge(head, tail, cost=float(rng.uniform(1, 3)))

    for index, name in enumerate(names):
        if index % side < side - 1:
            add(name, names[index + 1], both=index % 7 != 0)
        if index + side < len(names):
            add(name, names[index + side])
    chain = ['a0', 'chain0', 'chain1', 'chain2', names[-1]]
    for at, name in enumerate([*chain[1:-1], 'end0', 'end1']):
        out.add_node(name, x=float(at), y=-1.0 - at)
    for tail, head in [*zip(chain, chain[1:], strict=False)]:
        add(tail, head)
    add('b2', 'end0')
    add('end0', 'end1')
    return out


@functools.cache
def trained() -> CognitiveMap:
    """A map of the streets; do not change it."""
    return learn(streets(), snapshots=2)


def learn(graph: Any, **kwargs: Any) -> CognitiveMap:
    return CognitiveMap.learn(graph, config=tiny(steps=6), **kwargs)
