"""Molecule-like graphs, grids and paths of any size, for benchmarks.

A molecule-like graph is a random tree of fragments: single atoms, and rings of five or six. Rings are as frequent as in
ZINC (23.2 nodes and 49.8 directed edges on average, so 2.76 rings), atoms have at most four neighbours, and atom and
bond types follow ZINC's frequencies.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from policylearn.data.arrays import pointer
from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.data.synthetic.assembly import one_graph

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

    Graphs have atom types 0 to 20 in ``x``, bond types 1 to 3 in ``edge_attr`` (the same in both directions) and, as a
    target to learn, the number of five-rings in ``y``. ``spread`` is the standard deviation of the number of nodes as a
    share of the mean; 0 makes all equal.

    Shapes:
        x ``(N,)``, edge_attr ``(E,)``, y ``(count,)``.
    """
    if count < 1 or mean_nodes < 1 or spread < 0:
        raise DataError(
            f"molecule_like needs count >= 1, mean_nodes >= 1 and spread >= 0"
            f" (got count={count}, mean_nodes={mean_nodes}, spread={spread})"
        )
    sizes = np.maximum(1, np.rint(generator.normal(mean_nodes, spread * mean_nodes, count))).astype(np.int64)
    rings = np.minimum(1 + RINGS_PER_NODE * sizes + generator.random(count), sizes // 6).astype(np.int64)
    drawn = [draw_graph(int(size), int(number), generator) for size, number in zip(sizes, rings, strict=True)]
    in_ring = np.concatenate([ring_bond for _, ring_bond, _ in drawn])
    weights = np.array(ATOM_WEIGHTS) / sum(ATOM_WEIGHTS)
    return pack_edges(
        np.concatenate([edges for edges, _, _ in drawn], axis=1),
        sizes,
        np.array([edges.shape[1] for edges, _, _ in drawn]),
        x=generator.choice(ATOM_TYPES, size=int(sizes.sum()), p=weights).astype(np.uint8),
        edge_attr=draw_bonds(in_ring, generator),
        y=np.array([float(fives) for _, _, fives in drawn]),
    )


def pack_edges(
    edges: Array,
    num_nodes: Array,
    edges_of_graph: Array,
    *,
    x: Array | None = None,
    edge_attr: Array | None = None,
    y: ArrayLike | None = None,
) -> PackedGraphs:
    """Pack graphs from their undirected edges, each given once with local ids; both directions are stored.

    Without ``x`` nodes get a constant column, without ``y`` graphs the target 0.

    Shapes:
        edges ``(2, U)``, num_nodes and edges_of_graph ``(G,)``, x ``(N, ...)``, edge_attr ``(U, ...)``, y ``(G, ...)``.
    """
    node_ptr = pointer(num_nodes)
    first_node = np.repeat(node_ptr[:-1], edges_of_graph)  # (U,)
    both = np.concatenate([edges, edges[::-1]], axis=1).astype(np.int64, copy=False)  # (2, U) -> (2, 2U)
    row = both + np.tile(first_node, 2)
    order = np.lexsort((row[1], row[0]))
    attributes = np.zeros((edges.shape[1], 0), dtype=np.uint8) if edge_attr is None else edge_attr
    return PackedGraphs(
        x=np.ones((int(node_ptr[-1]), 1), dtype=np.uint8) if x is None else x,
        edge_index=both[:, order],
        edge_attr=np.concatenate([attributes, attributes])[order],
        node_ptr=node_ptr,
        edge_ptr=pointer(2 * np.asarray(edges_of_graph)),
        y=np.zeros(len(num_nodes), dtype=np.int64) if y is None else np.asarray(y),
    )


def draw_graph(size: int, rings: int, generator: np.random.Generator) -> tuple[Array, Array, int]:
    """Fragments in random order, each hung onto a random free place of those before it.

    A single atom has three places for children, a ring one at each atom but the first, which holds it to its parent.

    Returns:
        Bonds ``(2, U)``, whether each is part of a ring ``(U,)``, and the number of five-rings.
    """
    ring_sizes = np.where(generator.random(rings) < SIX_RING_SHARE, 6, 5)
    fragments = generator.permutation(np.concatenate([ring_sizes, np.ones(size - ring_sizes.sum(), dtype=np.int64)]))
    chances = generator.random(len(fragments)).tolist()
    bonds: list[tuple[int, int, bool]] = []
    places: list[int] = []
    first = 0
    for atoms, chance in zip(fragments.tolist(), chances, strict=True):
        if places:
            chosen = int(chance * len(places))
            places[chosen], places[-1] = places[-1], places[chosen]
            bonds.append((places.pop(), first, False))
        if atoms == 1:
            places += [first] * LINKS_OF_AN_ATOM
        else:
            bonds += [(first + step, first + (step + 1) % atoms, True) for step in range(atoms)]
            places += range(first + 1, first + atoms)
        first += atoms
    table = np.array(bonds, dtype=np.int64).reshape(-1, 3).T
    return table[:2], table[2] > 0, int((ring_sizes == 5).sum())


def draw_bonds(in_ring: Array, generator: np.random.Generator) -> Array:
    """Bond types 1 to 3, ``(U,) -> (U,)``."""
    u = generator.random(len(in_ring))
    double = np.where(in_ring, DOUBLE_BONDS_IN_RINGS, DOUBLE_BONDS_OUTSIDE)
    triple = np.where(in_ring, 0.0, TRIPLE_BONDS_OUTSIDE)
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


def adjacency(graphs: PackedGraphs, graph: int = 0) -> Array:
    """Dense 0/1 adjacency of one graph, ``(n, n)``."""
    nodes = int(graphs.num_nodes[graph])
    dense = np.zeros((nodes, nodes), dtype=np.int64)
    dense[tuple(graphs.edge_index[:, graphs.edge_ptr[graph] : graphs.edge_ptr[graph + 1]].astype(np.int64))] = 1
    return dense
