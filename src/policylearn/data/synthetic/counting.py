"""The substructure-counting sets of Chen et al. (2020), newly drawn, with exact counts.

The stored sets pin the recipe. Erdős-Rényi: 10 nodes, each pair joined with probability 0.3. Random regular: (nodes,
degree) drawn uniformly from (10, 6), (15, 6), (20, 5) and (30, 5), then as many random edges removed as the graph has
nodes, which leaves 20, 30, 30 and 45 edges. Both: 5,000 graphs, of which 1,500 to train, 1,000 to validate and 2,500 to
test. The targets count subgraphs that need not be induced: K4 holds 4 triangles, 12 tailed triangles, 4 stars and 3
four-cycles.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from policylearn.data.arrays import pointer
from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.data.splits import PARTS
from policylearn.data.synthetic.assembly import adjacency, pack_edges

SUBSTRUCTURES = ("triangle", "tailed_triangle", "star3", "cycle4")
ER_NODES, ER_PROBABILITY = 10, 0.3
RR_SHAPES = ((10, 6), (15, 6), (20, 5), (30, 5))


def substructure_counts(adjacency: Array) -> Array:
    """Count triangles, triangles with a tail, stars with three leaves and four-cycles, induced or not.

    With A the adjacency, d the degrees and t_v = (A³)_vv / 2 the triangles at v: sum t / 3; sum t (d - 2);
    sum C(d, 3); and (tr A⁴ - 2 sum d² + sum d) / 8, closed walks of length four less those that turn back.

    Shapes:
        adjacency ``(n, n)`` or ``(B, n, n)``, 0 or 1 and symmetric, without a diagonal; result ``(4,)`` or ``(B, 4)``,
        int64, in the order of `SUBSTRUCTURES`.
    """
    a = np.asarray(adjacency)
    if a.ndim not in (2, 3) or a.shape[-1] != a.shape[-2]:
        raise DataError(f"'adjacency' must have shape (n, n) or (B, n, n), got {a.shape}")
    simple = np.isin(a, (0, 1)).all() and (a == np.swapaxes(a, -1, -2)).all()
    if not simple or np.diagonal(a, axis1=-2, axis2=-1).any():
        raise DataError("'adjacency' must be symmetric, 0 or 1, and 0 on the diagonal; drop loops and multiple edges")
    # float64 goes through BLAS and is exact here: every entry is an integer far below 2^53
    walks = a.astype(np.float64) @ a.astype(np.float64)
    degree = a.sum(axis=-1, dtype=np.int64)
    triangles_at = np.rint((walks * a).sum(axis=-1)).astype(np.int64) // 2
    closed = np.rint((walks * walks).sum(axis=(-1, -2))).astype(np.int64)
    return np.stack(
        [
            triangles_at.sum(axis=-1) // 3,
            (triangles_at * (degree - 2)).sum(axis=-1),
            (degree * (degree - 1) * (degree - 2) // 6).sum(axis=-1),
            (closed - 2 * (degree**2).sum(axis=-1) + degree.sum(axis=-1)) // 8,
        ],
        axis=-1,
    )


def count_substructures(graphs: PackedGraphs) -> Array:
    """`substructure_counts` of every graph of a collection, ``(G, 4)``."""
    counts = np.zeros((len(graphs), len(SUBSTRUCTURES)), dtype=np.int64)
    for size in np.unique(graphs.num_nodes):
        alike = np.flatnonzero(graphs.num_nodes == size)
        counts[alike] = substructure_counts(adjacency(graphs, alike))
    return counts


def counting_er(count: int, generator: np.random.Generator) -> PackedGraphs:
    """Erdős-Rényi graphs with 10 nodes and edge probability 0.3, and their counts."""
    ends = np.stack(np.triu_indices(ER_NODES, k=1))  # (2, pairs)
    graph, pair = np.nonzero(generator.random((count, ends.shape[1])) < ER_PROBABILITY)
    sizes = np.full(count, ER_NODES)
    return with_counts(pack_edges(ends[:, pair], sizes, np.bincount(graph, minlength=count)), generator)


def counting_rr(count: int, generator: np.random.Generator) -> PackedGraphs:
    """Random regular graphs with as many random edges removed as they have nodes, and their counts."""
    shape = generator.integers(len(RR_SHAPES), size=count)
    nodes, degree = np.array(RR_SHAPES)[shape].T
    left = nodes * degree // 2 - nodes
    edge_ptr = pointer(left)
    edges = np.empty((2, edge_ptr[-1]), dtype=np.int64)
    for number, (size, regularity) in enumerate(RR_SHAPES):
        alike = np.flatnonzero(shape == number)
        drawn = random_regular(size, regularity, len(alike), generator)  # (2, B, U)
        # the edges come in the order in which they were drawn, so those to remove must be picked at random
        order = generator.random(drawn.shape[1:]).argsort(axis=1)[None, :, size:]
        kept = np.take_along_axis(drawn, order, axis=2)  # (2, B, U - size)
        edges[:, edge_ptr[alike, None] + np.arange(kept.shape[2])] = kept
    return with_counts(pack_edges(edges, nodes, left), generator)


def random_regular(nodes: int, degree: int, count: int, generator: np.random.Generator) -> Array:
    """Undirected edges of random regular graphs, all drawn side by side (Steger and Wormald, 1999).

    Edge after edge joins two nodes that are not joined yet, with probability in proportion to the product of the
    degrees that they still lack; a graph that gets stuck is restarted.

    Shapes:
        result ``(2, count, nodes * degree / 2)``.
    """
    if nodes * degree % 2 or not 0 <= degree < nodes:
        raise DataError(
            f"no graph has {nodes} nodes of degree {degree}; nodes * degree must be even and 0 <= degree < nodes"
        )
    ends = np.stack(np.triu_indices(nodes, k=1))  # (2, pairs)
    edges = np.empty((2, count, nodes * degree // 2), dtype=np.int64)
    unfinished = np.arange(count)
    while len(unfinished):
        lacking = np.full((len(unfinished), nodes), degree)
        free = np.ones((len(unfinished), ends.shape[1]), dtype=bool)
        row = np.arange(len(unfinished))
        stuck = np.zeros(len(unfinished), dtype=bool)
        for step in range(edges.shape[2]):
            weight = np.cumsum(lacking[:, ends[0]] * lacking[:, ends[1]] * free, axis=1)
            stuck |= weight[:, -1] == 0
            ticket = generator.random(len(row)) * weight[:, -1]
            pair = (weight > ticket[:, None]).argmax(axis=1)
            edges[:, unfinished, step] = ends[:, pair]
            free[row, pair] = False
            lacking[row, ends[0, pair]] -= 1
            lacking[row, ends[1, pair]] -= 1
        unfinished = unfinished[stuck]
    return edges


def with_counts(graphs: PackedGraphs, generator: np.random.Generator) -> PackedGraphs:
    """The graphs with their counts as targets and a random split of 30, 20 and 50 percent."""
    parts = np.split(generator.permutation(len(graphs)), [len(graphs) * 3 // 10, len(graphs) // 2])
    extras = {"y_names": np.array(SUBSTRUCTURES), **dict(zip(PARTS, parts, strict=True))}
    return replace(graphs, y=count_substructures(graphs).astype(np.float64), extras=extras)
