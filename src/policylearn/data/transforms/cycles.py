"""Cycles of graphs: counted per node, or listed."""

from __future__ import annotations

import numpy as np
from numba import njit

from policylearn.data.arrays import pointer
from policylearn.data.packed import Array, PackedGraphs


def count_cycles(graphs: PackedGraphs, longest: int, *, chordless: bool = False) -> Array:
    """How many cycles of each length pass through each node.

    Cycles are subgraphs; with ``chordless`` only those that no edge cuts short. The edges are taken without direction
    and once each, self loops not at all.

    Shapes:
        ``(N, longest + 1)`` int64; column k counts cycles of k nodes.
    """
    counts = np.zeros((len(graphs.x), longest + 1), dtype=np.int64)
    nothing = np.empty(0, dtype=np.int64)
    _walk_cycles(*_neighbours(graphs), longest, chordless, counts, nothing, nothing)
    return counts


def list_cycles(graphs: PackedGraphs, longest: int, *, chordless: bool = False) -> tuple[Array, Array, Array]:
    """The cycles themselves, those of one graph after those of another; each starts at its lowest node and goes round.

    Shapes:
        nodes ``(total,)``, ids local to their graph; ptr ``(cycles + 1,)``, where each cycle's nodes start; graph_ptr
        ``(G + 1,)``, where each graph's cycles start.
    """
    counts = count_cycles(graphs, longest, chordless=chordless).sum(axis=0)
    cycles = counts // np.maximum(np.arange(longest + 1), 1)
    nodes, ptr = np.empty(counts.sum(), dtype=np.int64), np.zeros(cycles.sum() + 1, dtype=np.int64)
    unused = np.zeros((len(graphs.x), longest + 1), dtype=np.int64)
    _walk_cycles(*_neighbours(graphs), longest, chordless, unused, nodes, ptr)
    graph_of_node = np.repeat(np.arange(len(graphs)), graphs.num_nodes)
    graph_of_cycle = graph_of_node[nodes[ptr[:-1]]]
    graph_ptr = pointer(np.bincount(graph_of_cycle, minlength=len(graphs)))
    return nodes - graphs.node_ptr.astype(np.int64)[graph_of_node[nodes]], ptr, graph_ptr


def _neighbours(graphs: PackedGraphs) -> tuple[Array, Array]:
    """The neighbours of every node of all graphs: starts ``(N + 1,)`` and ids ``(2E,)``, without loops and doubles."""
    from scipy.sparse import coo_array  # a fifth of a second, for those who need it

    source, target = graphs.global_edges()
    kept = source != target
    ends = np.concatenate([source[kept], target[kept]]), np.concatenate([target[kept], source[kept]])
    nodes = len(graphs.x)
    matrix = coo_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(nodes, nodes)).tocsr()
    matrix.sum_duplicates()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _walk_cycles(
    starts: Array, neighbours: Array, longest: int, chordless: bool, counts: Array, nodes: Array, ptr: Array
) -> None:
    """Depth first from the lowest node of each cycle, never further out than the way back allows.

    Adds to ``counts``; writes the cycles to ``nodes`` and ``ptr`` where these have room.
    """
    total = len(starts) - 1
    distance = np.full(total, -1, dtype=np.int64)
    queue = np.empty(total, dtype=np.int64)
    on_path = np.zeros(total, dtype=np.bool_)
    path = np.empty(longest, dtype=np.int64)
    following = np.empty(longest, dtype=np.int64)
    found = 0
    for root in range(total):
        # How far each node is from the root, by way of higher nodes only.
        queue[0], distance[root] = root, 0
        head, tail = 0, 1
        while head < tail:
            node = queue[head]
            head += 1
            if distance[node] < longest // 2:
                for edge in range(starts[node], starts[node + 1]):
                    other = neighbours[edge]
                    if other > root and distance[other] < 0:
                        distance[other] = distance[node] + 1
                        queue[tail] = other
                        tail += 1

        path[0], following[0], on_path[root] = root, starts[root], True
        depth = 0
        while depth >= 0:
            node = path[depth]
            if following[depth] == starts[node + 1]:
                on_path[node] = False
                depth -= 1
                continue
            other = neighbours[following[depth]]
            following[depth] += 1
            if other == root:
                if depth >= 2 and path[1] < node:  # of the two directions, one
                    for step in range(depth + 1):
                        counts[path[step], depth + 1] += 1
                    if len(ptr) > 0:
                        ptr[found + 1] = ptr[found] + depth + 1
                        nodes[ptr[found] : ptr[found + 1]] = path[: depth + 1]
                    found += 1
                continue
            if other < root or on_path[other] or distance[other] < 0 or depth + 1 + distance[other] > longest:
                continue
            if depth + 1 == longest:
                continue
            if chordless and depth >= 1:
                cut = depth >= 2 and distance[node] == 1  # the way back from here is one edge
                for edge in range(starts[other], starts[other + 1]):
                    near = neighbours[edge]
                    cut = cut or (on_path[near] and near != node and near != root)
                if cut:
                    continue
            depth += 1
            path[depth], following[depth], on_path[other] = other, starts[other], True
        for place in range(tail):
            distance[queue[place]] = -1
