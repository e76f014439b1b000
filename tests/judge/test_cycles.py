"""Cycles: the components of a graph, and a shortest cycle as evidence."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streambed.judge.cycles import Edges, components, shortest_cycle

NODES = st.integers(0, 8)
PAIRS = st.lists(st.tuples(NODES, NODES).filter(lambda pair: pair[0] != pair[1]), max_size=25)


def edges_of(pairs: list[tuple[int, int]]) -> Edges:
    arrays = np.array(pairs, np.int64).reshape(-1, 2)
    return Edges(arrays[:, 0], arrays[:, 1])


@given(PAIRS)
def test_components_are_those_that_networkx_finds(pairs: list[tuple[int, int]]) -> None:
    expected = nx.strongly_connected_components(nx.DiGraph(pairs))

    assert set(components(edges_of(pairs))) == {frozenset(one) for one in expected if len(one) > 1}


@given(PAIRS)
def test_a_shortest_cycle_is_a_cycle(pairs: list[tuple[int, int]]) -> None:
    edges = edges_of(pairs)
    for component in components(edges):
        path = shortest_cycle(edges, component)
        assert len(path) > 1
        for step in zip(path, [*path[1:], path[0]], strict=True):
            assert step in pairs


def test_the_shorter_of_two_cycles_is_shown() -> None:
    edges = edges_of([(0, 1), (1, 2), (2, 0), (2, 1)])

    assert sorted(shortest_cycle(edges, frozenset({0, 1, 2}))) == [1, 2]
