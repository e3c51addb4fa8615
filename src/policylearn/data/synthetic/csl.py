"""Circular skip link graphs, a cycle of n nodes with a link from every node to the one k steps on, and their unions.

A union joins several disconnected, pairwise different members of a collection: the (n, l)-CSL construction. The members
of a class are the same for every graph of it, so telling the classes apart means naming every component.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import comb, gcd

import numpy as np

from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.data.subset import take_graphs
from policylearn.data.synthetic.assembly import join, num_components, one_graph, shuffle_nodes

MOST_CLASSES = 1_000_000


def csl_edges(n: int, k: int) -> Array:
    """Undirected edges of CSL(n, k), ``(2, 2n)``: the cycle first, then the skip links, which form one cycle too."""
    if not 2 <= k < n - 1 or gcd(n, k) != 1:
        usable = [skip for skip in range(2, n - 1) if gcd(n, skip) == 1]
        remedy = f"use one of {usable}" if usable else "no k is possible here, use another n such as 5, 7 or a prime"
        raise DataError(f"CSL({n}, {k}): k must be coprime with n and 2 <= k < n - 1 (got n={n}, k={k}); {remedy}")
    nodes = np.arange(n)
    return np.stack([np.tile(nodes, 2), np.concatenate([(nodes + 1) % n, (nodes + k) % n])])


def csl_graph(n: int, k: int) -> PackedGraphs:
    """CSL(n, k) as one packed graph, 4-regular and connected."""
    return one_graph(csl_edges(n, k), n)


def csl_classes(n: int) -> tuple[int, ...]:
    """The smallest k of each isomorphism class of CSL(n, k), rising.

    CSL(n, k) joins nodes that differ by 1 or by k, in either direction. Multiplying every node by a unit u of the
    integers mod n gives an isomorphic graph with the differences u and uk; these are 1 and k' again only if k' is
    k, -k or the inverse of one of the two. So a class is {k, -k, 1/k, -1/k}. There are 3, 4 and 7 classes for n = 13,
    17 and 29.
    """
    units = [k for k in range(2, n - 1) if gcd(n, k) == 1]
    return tuple(sorted({min(k, n - k, pow(k, -1, n), n - pow(k, -1, n)) for k in units}))


def csl_members(n: int) -> PackedGraphs:
    """One graph of each isomorphism class of CSL(n, k), in the order of `csl_classes`; ``y`` is the class."""
    classes = csl_classes(n)
    if not classes:
        raise DataError(f"there is no CSL(n, k) with n={n}: no k in 2..n-2 is coprime with n; use a prime n >= 5")
    return join([csl_graph(n, k) for k in classes], y=np.arange(len(classes)))


def csl_unions(
    n: int, components: int, count: int, generator: np.random.Generator, shuffle: bool = True
) -> PackedGraphs:
    """Draw (n, l)-CSL graphs of uniformly random classes: 4 for (17, 3), 35 for (29, 3); ``shuffle`` their nodes."""
    parts = csl_members(n)
    members = union_classes(parts, components)
    labels = generator.integers(len(members), size=count)
    return assemble(parts, members, labels, generator if shuffle else None)


def union_classes(parts: PackedGraphs, size: int) -> Array:
    """The members of each class of unions, subsets in lexicographic order, ``(classes, size)``."""
    if not 1 <= size <= len(parts):
        raise DataError(f"a union takes 1 to {len(parts)} members, the size of the collection (got {size})")
    classes = comb(len(parts), size)
    if classes > MOST_CLASSES:
        raise DataError(f"{size} of {len(parts)} graphs make {classes} classes, more than {MOST_CLASSES}; take fewer")
    pieces = num_components(parts)
    if (pieces != 1).any():
        wrong = int(np.flatnonzero(pieces != 1)[0])
        raise DataError(f"graph {wrong} of the collection has {pieces[wrong]} components; unions need connected graphs")
    return np.array(list(combinations(range(len(parts)), size)), dtype=np.int64)


def assemble(parts: PackedGraphs, members: Array, labels: Array, shuffle: np.random.Generator | None) -> PackedGraphs:
    """The unions of the given classes, nodes in the order of the members unless a generator is given to ``shuffle``.

    ``extras`` hold, for every node, its ``component`` (0 to size - 1) and which ``member`` of ``parts`` that is.

    Shapes:
        members ``(classes, size)``, labels ``(G,)``.
    """
    size, chosen = members.shape[1], members[labels].reshape(-1)  # (G * size,)
    blocks = take_graphs(parts, chosen)
    first = blocks.node_ptr[:-1] - np.repeat(blocks.node_ptr[:-1:size], size)  # of each block within its union
    block = np.repeat(np.arange(len(chosen)), blocks.num_nodes)  # (N,)
    unions = replace(
        blocks,
        edge_index=blocks.edge_index + np.repeat(first, blocks.num_edges),
        node_ptr=blocks.node_ptr[::size],
        edge_ptr=blocks.edge_ptr[::size],
        y=labels,
        extras={"component": block % size, "member": chosen[block]},
    )
    return unions if shuffle is None else shuffle_nodes(unions, shuffle)
