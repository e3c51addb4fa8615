"""Decks: every way to lose some nodes, or some of them, the same in any company."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import pytest
import torch

from policylearn.bags import NO_PICK, Graphs
from policylearn.models.systems.reconstruction import Deck, RandomDeck
from tests.graphs import batch_of, data_of, molecules

GRAPHS = Graphs.of(batch_of(*(data_of(nx.path_graph(n)) for n in (1, 2, 3, 5))))


def members(deck: Deck, graph: int) -> list[tuple[int, ...]]:
    """What the members of a graph's deck lack, counted within the graph."""
    rows = deck.gone[deck.graph == graph]
    return [tuple(v - int(GRAPHS.ptr[graph]) if v != NO_PICK else v for v in row) for row in rows.tolist()]


@pytest.mark.parametrize("removed", [1, 2, 3])
def test_a_large_enough_deck_is_whole(removed: int) -> None:
    deck = RandomDeck(removed, 100).train()(GRAPHS)
    for graph, nodes in enumerate((1, 2, 3, 5)):
        every = list(combinations(range(nodes), removed)) if nodes > removed else [(NO_PICK,) * removed]
        assert members(deck, graph) == every


@pytest.mark.parametrize("size", [1, 2, 4, 9])
def test_drawn_members_differ_unless_order_counts(size: int) -> None:
    deck = RandomDeck(2, size).train()(GRAPHS, generator=torch.Generator().manual_seed(size))
    found = members(deck, 3)
    assert len(set(found)) == len(found) == min(size, 10)
    assert all(a < b for a, b in found)
    ordered = [members(RandomDeck(2, 10, by_order=True, seed=seed).eval()(GRAPHS), 3) for seed in range(5)]
    assert all(len(set(one)) == 10 for one in ordered)
    assert any(len({frozenset(way) for way in one}) < 10 for one in ordered)


def test_members_are_drawn_evenly() -> None:
    generator, counts = torch.Generator().manual_seed(0), torch.zeros(5)
    for _ in range(400):
        for way in members(RandomDeck(1, 2).train()(GRAPHS, generator=generator), 3):
            counts[way[0]] += 1
    assert (counts / 800 - 0.2).abs().max() < 0.05


def test_a_graph_has_the_same_deck_in_any_company() -> None:
    first, *others = molecules(6, seed=3)
    policy = RandomDeck(2, 4, seed=1).eval()
    alone = policy(Graphs.of(batch_of(first)))
    last = Graphs.of(batch_of(*others, first))
    deck = policy(last)
    assert torch.equal(deck.gone[deck.graph == len(others)] - last.ptr[-2], alone.gone)
    other = RandomDeck(2, 4, seed=2).eval()(Graphs.of(batch_of(first)))
    assert not torch.equal(other.gone, alone.gone)


def test_a_bag_holds_what_is_left() -> None:
    deck = RandomDeck(1, 100).eval()(GRAPHS)
    bag = deck.bag(GRAPHS)
    assert bag.num_rows == deck.num_rows(GRAPHS) == 1 + 2 * 1 + 3 * 2 + 5 * 4
    assert bag.slots.tolist() == [1, 2, 3, 5]
    gone = deck.gone[bag.copy, 0]
    assert not (gone == bag.node).any()
    # The path of five without its middle has 2 edges, without an end 3, without another 2; all in both directions.
    copies = bag.graph_of_copy[bag.copy[bag.adjacency.target]]
    assert int((copies == 3).sum()) == 2 * (3 + 2 + 2 + 2 + 3)
