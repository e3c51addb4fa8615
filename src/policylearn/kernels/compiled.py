"""Sums along edges for the CPU, compiled by numba: one pass over the edges, no copy of an edge's message is kept.

Each thread works on nodes of its own, so no addition is atomic and a result does not depend on chance.
"""

from __future__ import annotations

from numba import njit


@njit(nogil=True, cache=True, error_model="numpy")
def plain_sum(  # type: ignore[no-untyped-def]
    first, last, x, row_ptr, ptr, other, scale, out
):
    """``out[v] = scale * x[v] + sum of x[u]`` over v's neighbours ``other[ptr[v]:ptr[v + 1]]``, nodes first..last."""
    width = x.shape[1]
    for v in range(first, last):
        start, rows = row_ptr[v], row_ptr[v + 1] - row_ptr[v]
        for r in range(start, start + rows):
            for c in range(width):
                out[r, c] = scale * x[r, c]
        for m in range(ptr[v], ptr[v + 1]):
            theirs = row_ptr[other[m]]
            for r in range(rows):
                for c in range(width):
                    out[start + r, c] += x[theirs + r, c]


@njit(nogil=True, cache=True, error_model="numpy")
def edge_sum(  # type: ignore[no-untyped-def]
    first, last, x, row_ptr, ptr, other, kind, values, scale, out
):
    """``out[v] = scale * x[v] + sum of relu(x[u] + values[kind])`` over the incoming messages of nodes first..last."""
    width = x.shape[1]
    zero = x.dtype.type(0)
    for v in range(first, last):
        start, rows = row_ptr[v], row_ptr[v + 1] - row_ptr[v]
        for r in range(start, start + rows):
            for c in range(width):
                out[r, c] = scale * x[r, c]
        for m in range(ptr[v], ptr[v + 1]):
            theirs = row_ptr[other[m]]
            k = kind[m]
            for r in range(rows):
                for c in range(width):
                    value = x[theirs + r, c] + values[k, c]
                    out[start + r, c] += zero if value <= zero else value


@njit(nogil=True, cache=True, error_model="numpy")
def edge_sum_gradient(  # type: ignore[no-untyped-def]
    first, last, gradient, x, row_ptr, ptr, other, kind, values, scale, to_x, to_values
):
    """The gradient of `edge_sum` with respect to x, and added to ``to_values`` that with respect to the edges' values.

    Runs over the outgoing messages of nodes first..last, so that a node's own gradient is written by one thread.
    """
    width = x.shape[1]
    zero = x.dtype.type(0)
    for u in range(first, last):
        start, rows = row_ptr[u], row_ptr[u + 1] - row_ptr[u]
        for r in range(start, start + rows):
            for c in range(width):
                to_x[r, c] = scale * gradient[r, c]
        for m in range(ptr[u], ptr[u + 1]):
            theirs = row_ptr[other[m]]
            k = kind[m]
            for r in range(rows):
                for c in range(width):
                    passed = gradient[theirs + r, c] if x[start + r, c] + values[k, c] > zero else zero
                    to_x[start + r, c] += passed
                    to_values[k, c] += passed
