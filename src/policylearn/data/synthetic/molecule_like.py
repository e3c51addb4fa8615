"""Molecule-like graphs, grids and paths of any size, for benchmarks.

A molecule-like graph is a random tree of fragments: single atoms, and rings of five or six. Rings are as frequent as in
ZINC (23.2 nodes and 49.8 directed edges on average, so 2.76 rings), atoms have at most four neighbours, and atom and
bond types follow ZINC's frequencies. Nothing loops over nodes, so one graph of a million nodes takes seconds.
"""

from __future__ import annotations

import numpy as np

from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.data.synthetic.assembly import one_graph, pack_edges, pointer, ragged_ranges, random_order

ATOM_TYPES = 21
# how often each of ZINC's atom types occurs; the last types exist in its table but not in its 12,000 molecules
ATOM_WEIGHTS = (70121, 9561, 10869, 1347, 3630, 1765, 727, 411, 687, 214, 117, 293, 196, 34, 9, 15, 2, 1, 1, 1, 1)
RINGS_PER_NODE = 0.076  # with one ring more for the whole graph, ZINC's mean edges per node at every size
SIX_RING_SHARE = 0.7
DOUBLE_BONDS_IN_RINGS, DOUBLE_BONDS_OUTSIDE, TRIPLE_BONDS_OUTSIDE = 0.33, 0.12, 0.008
LINKS_OF_AN_ATOM = 3  # besides the link to its parent


def molecule_like(
    count: int, generator: np.random.Generator, mean_nodes: float = 23, spread: float = 0.19
) -> PackedGraphs:
    """Draw connected, sparse graphs with rings and ZINC-like features.

    Args:
        count: how many graphs.
        generator: source of randomness.
        mean_nodes: mean number of nodes.
        spread: standard deviation of the number of nodes as a share of the mean (ZINC: 0.19); 0 makes all equal.

    Returns:
        Graphs with atom types 0 to 20 in ``x``, bond types 1 to 3 in ``edge_attr`` (the same in both directions) and,
        as a target to learn, the number of five-rings in ``y``.

    Shapes:
        x ``(N,)``, edge_attr ``(E,)``, y ``(count,)``.
    """
    if count < 1 or mean_nodes < 1 or spread < 0:
        raise DataError(
            f"molecule_like needs count >= 1, mean_nodes >= 1 and spread >= 0"
            f" (got count={count}, mean_nodes={mean_nodes}, spread={spread})"
        )
    sizes = np.maximum(1, np.rint(generator.normal(mean_nodes, spread * mean_nodes, count))).astype(np.int64)
    graph, fragment = draw_fragments(sizes, generator)
    fragment_ptr = pointer(np.bincount(graph, minlength=count))
    first_atom = pointer(fragment)[:-1]
    child, parent_atom = link_fragments(graph, fragment, fragment_ptr, generator)

    ring = fragment > 1
    in_ring = ragged_ranges(first_atom[ring], fragment[ring])
    onward = in_ring + 1
    onward[np.cumsum(fragment[ring]) - 1] = first_atom[ring]  # the last atom of a ring closes it
    edges = np.stack([np.concatenate([in_ring, parent_atom]), np.concatenate([onward, first_atom[child]])])
    graph_of_edge = np.concatenate([np.repeat(graph[ring], fragment[ring]), graph[child]])
    bond = draw_bonds(len(in_ring), len(child), generator)

    order = np.argsort(graph_of_edge, kind="stable")
    graph_of_edge = graph_of_edge[order]
    weights = np.array(ATOM_WEIGHTS) / sum(ATOM_WEIGHTS)
    return pack_edges(
        edges[:, order] - pointer(sizes)[graph_of_edge],
        sizes,
        np.bincount(graph_of_edge, minlength=count),
        x=generator.choice(ATOM_TYPES, size=int(sizes.sum()), p=weights).astype(np.uint8),
        edge_attr=bond[order],
        y=np.bincount(graph[fragment == 5], minlength=count).astype(np.float64),
    )


def draw_fragments(sizes: Array, generator: np.random.Generator) -> tuple[Array, Array]:
    """Cut each graph into fragments, in random order.

    Returns:
        For each fragment its graph, rising, and its number of atoms: 1, 5 or 6.
    """
    rings = np.minimum(1 + RINGS_PER_NODE * sizes + generator.random(len(sizes)), sizes // 6).astype(np.int64)
    ring_graph = np.repeat(np.arange(len(sizes)), rings)
    ring_sizes = np.where(generator.random(len(ring_graph)) < SIX_RING_SHARE, 6, 5)
    atoms = sizes - np.bincount(ring_graph, weights=ring_sizes, minlength=len(sizes)).astype(np.int64)
    graph = np.concatenate([ring_graph, np.repeat(np.arange(len(sizes)), atoms)])
    fragment = np.concatenate([ring_sizes, np.ones(int(atoms.sum()), dtype=np.int64)])
    by_graph = np.argsort(graph, kind="stable")
    graph, fragment = graph[by_graph], fragment[by_graph]
    return graph, fragment[random_order(graph, generator)]


def link_fragments(
    graph: Array, fragment: Array, fragment_ptr: Array, generator: np.random.Generator
) -> tuple[Array, Array]:
    """Make a random tree of each graph's fragments.

    Every fragment offers places for children: three at a single atom, one at each ring atom but the first, which holds
    the ring to its parent. Of all places as many are taken at random as there are children. That fixes the number of
    children of each fragment, and by the cycle lemma exactly one rotation of the list of fragments makes these numbers
    the breadth-first code of a tree.

    Returns:
        For each link, the child fragment and the atom (counted over all graphs) of its parent.
    """
    count, members = len(fragment_ptr) - 1, np.diff(fragment_ptr)
    first_atom = pointer(fragment)[:-1]
    places = np.where(fragment > 1, fragment - 1, LINKS_OF_AN_ATOM)
    owner = np.repeat(np.arange(len(fragment)), places)
    nth_place = np.arange(len(owner)) - np.repeat(pointer(places)[:-1], places)
    atom = first_atom[owner] + np.where(fragment[owner] > 1, 1 + nth_place, 0)

    shuffled = random_order(graph[owner], generator)
    place_ptr = pointer(np.bincount(graph[owner], minlength=count))
    taken = np.sort(shuffled[ragged_ranges(place_ptr[:-1], members - 1)])
    children = np.bincount(owner[taken], minlength=len(fragment))

    root = rotation_start(children - 1, fragment_ptr)
    inside = np.arange(len(fragment)) - fragment_ptr[graph]
    position = (inside - root[graph]) % members[graph] + fragment_ptr[graph]
    at_position = np.empty_like(position)
    at_position[position] = np.arange(len(fragment))
    # breadth first: the j-th taken place of a graph, in the order of positions, holds the fragment at position j + 1
    parent_atom = atom[taken[np.argsort(position[owner[taken]], kind="stable")]]
    not_root = np.ones(len(fragment), dtype=bool)
    not_root[fragment_ptr[:-1]] = False
    return at_position[not_root], parent_atom


def rotation_start(steps: Array, ptr: Array) -> Array:
    """Where each list must start so that its running sum stays >= 0 until its last entry (the cycle lemma).

    Args:
        steps: lists one after the other, entries >= -1, each list with the sum -1.
        ptr: where each list starts.

    Shapes:
        steps ``(N,)``, ptr ``(G + 1,)``, result ``(G,)``, counted from the start of each list.
    """
    lengths = np.diff(ptr)
    running = np.cumsum(steps)
    lowest = np.repeat(np.minimum.reduceat(running, ptr[:-1]), lengths)
    low = np.flatnonzero(running == lowest)
    first_low = low[np.searchsorted(low, ptr[:-1])]
    return (first_low + 1 - ptr[:-1]) % lengths


def draw_bonds(in_rings: int, outside: int, generator: np.random.Generator) -> Array:
    """Bond types 1 to 3 of the ring bonds, then of the others."""
    u = generator.random(in_rings + outside)
    double = np.where(np.arange(len(u)) < in_rings, DOUBLE_BONDS_IN_RINGS, DOUBLE_BONDS_OUTSIDE)
    triple = np.where(np.arange(len(u)) < in_rings, 0.0, TRIPLE_BONDS_OUTSIDE)
    return (1 + (u < double + triple) + (u < triple)).astype(np.uint8)


def grid(rows: int, cols: int) -> PackedGraphs:
    """A rows by cols grid, nodes numbered row by row."""
    if rows < 1 or cols < 1:
        raise DataError(f"grid needs rows >= 1 and cols >= 1 (got {rows} and {cols})")
    nodes = np.arange(rows * cols).reshape(rows, cols)
    along = np.stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()])
    down = np.stack([nodes[:-1].ravel(), nodes[1:].ravel()])
    return one_graph(np.concatenate([along, down], axis=1), rows * cols)


def path(n: int) -> PackedGraphs:
    """A path of n nodes."""
    return grid(1, n)
