"""Graphs made of several disconnected, pairwise different members of a collection: the (n, l)-CSL construction.

The members of a class are the same for every graph of it, so telling the classes apart means naming every component.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.data.synthetic.assembly import num_components, pointer, ragged_ranges, random_order
from policylearn.data.synthetic.csl import csl_members

MOST_CLASSES = 1_000_000


def union_family(parts: PackedGraphs, size: int) -> PackedGraphs:
    """Every union of ``size`` different members once, nodes in the order of the members.

    Args:
        parts: the collection of connected graphs; they should be pairwise non-isomorphic, or classes coincide.
        size: members of a union.

    Returns:
        One graph per class: ``y`` numbers the subsets of members in lexicographic order. ``extras`` hold, for every
        node, its ``component`` (0 to size - 1) and which ``member`` of the collection that component is.
    """
    members = union_classes(parts, size)
    return assemble(parts, members, np.arange(len(members)), None)


def sample_unions(
    parts: PackedGraphs, size: int, count: int, generator: np.random.Generator, shuffle_nodes: bool = True
) -> PackedGraphs:
    """Draw graphs of random classes of `union_family`, with their nodes in random order.

    Args:
        parts: the collection of connected graphs.
        size: members of a union.
        count: how many graphs to draw; classes are drawn uniformly and may repeat.
        generator: source of randomness.
        shuffle_nodes: whether to relabel the nodes of each graph at random.
    """
    members = union_classes(parts, size)
    labels = generator.integers(len(members), size=count)
    return assemble(parts, members, labels, generator if shuffle_nodes else None)


def csl_unions(
    n: int, components: int, count: int, generator: np.random.Generator, shuffle_nodes: bool = True
) -> PackedGraphs:
    """Draw random (n, l)-CSL graphs: ``components`` disconnected, non-isomorphic CSL graphs of n nodes each.

    Args:
        n: nodes of each component.
        components: the paper's l. There are 4 classes for (17, 3) and 35 for (29, 3).
        count: how many graphs to draw.
        generator: source of randomness.
        shuffle_nodes: whether to relabel the nodes of each graph at random.
    """
    return sample_unions(csl_members(n), components, count, generator, shuffle_nodes)


def union_classes(parts: PackedGraphs, size: int) -> Array:
    """The members of each class of unions, subsets in lexicographic order, ``(classes, size)``."""
    if not 1 <= size <= len(parts):
        raise DataError(
            f"a union needs 1 to {len(parts)} members of a collection of {len(parts)} graphs, got size={size};"
            " give fewer members or a larger collection"
        )
    classes = comb(len(parts), size)
    if classes > MOST_CLASSES:
        raise DataError(
            f"{len(parts)} graphs taken {size} at a time make {classes} classes, more than {MOST_CLASSES};"
            " give a smaller collection"
        )
    pieces = num_components(parts)
    if (pieces != 1).any():
        wrong = int(np.flatnonzero(pieces != 1)[0])
        raise DataError(f"graph {wrong} of the collection has {pieces[wrong]} components; unions need connected graphs")
    return np.array(list(combinations(range(len(parts)), size)), dtype=np.int64)


def assemble(parts: PackedGraphs, members: Array, labels: Array, shuffle: np.random.Generator | None) -> PackedGraphs:
    """Build the unions of the given classes by gathering rows of the collection, without a loop over graphs.

    Args:
        parts: the collection.
        members: which graphs of the collection make up each class.
        labels: the class of each graph to build.
        shuffle: source of a random node order; None keeps the order of the members.

    Shapes:
        members ``(classes, size)``, labels ``(G,)``.
    """
    count, size = len(labels), members.shape[1]
    chosen = members[labels].reshape(-1)  # (G * size,)
    block_sizes = parts.num_nodes[chosen]
    block_ptr = pointer(block_sizes)
    node_ptr = block_ptr[::size]
    graph = np.repeat(np.arange(count), np.diff(node_ptr))  # (N,)
    block = np.repeat(np.arange(len(chosen)), block_sizes)  # (N,)
    origin = ragged_ranges(parts.node_ptr[chosen].astype(np.int64), block_sizes)  # (N,) row of parts.x
    order = np.arange(len(graph)) if shuffle is None else random_order(graph, shuffle)
    place = np.empty_like(order)
    place[order] = np.arange(len(order)) - node_ptr[graph]  # old position -> new local id
    origin, block = origin[order], block[order]

    first = np.repeat(parts.node_ptr[:-1], parts.num_edges).astype(np.int64)
    by_source = np.argsort(parts.edge_index[0] + first, kind="stable")
    row_ptr = pointer(np.bincount(parts.edge_index[0] + first, minlength=len(parts.x)))
    degree = np.diff(row_ptr)[origin]
    edge = by_source[ragged_ranges(row_ptr[origin], degree)]  # (E,) every new node brings its own edges along
    source = np.repeat(np.arange(len(origin)) - node_ptr[graph], degree)
    target = place[np.repeat(block_ptr[block], degree) + parts.edge_index[1][edge]]
    return PackedGraphs(
        x=parts.x[origin],
        edge_index=np.stack([source, target]),
        edge_attr=parts.edge_attr[edge],
        node_ptr=node_ptr,
        edge_ptr=pointer(parts.num_edges[chosen].reshape(count, size).sum(axis=1)),
        y=labels,
        extras={"component": block % size, "member": chosen[block]},
    )
