"""Both streams' sums along edges in one pass over the edges, compiled by numba.

A row is summed up in small arrays of the function's own: the compiler knows that nothing else points to these, and only
then makes vector instructions of the loops over channels.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, error_model="numpy")
def stream_sums(  # type: ignore[no-untyped-def]
    first, last, h, p, row_ptr, ptr, other, kind, values, scale, mark_scale, out, mark_out
):
    """``out = scale * [h, p] + sum of relu([h, p] + values)`` and ``mark_out = mark_scale * p + sum of p``.

    Runs over the incoming messages of nodes first..last, whose rows ``out`` and ``mark_out`` hold. Without values
    the sum is that of ``[h, p]`` itself.
    """
    begin = row_ptr[first]
    channels, marks = h.shape[1], p.shape[1]
    zero = h.dtype.type(0)
    plain = values.shape[1] == 0
    mine, marked, alone = np.empty(channels, h.dtype), np.empty(marks, h.dtype), np.empty(marks, h.dtype)
    for v in range(first, last):
        start, rows = row_ptr[v], row_ptr[v + 1] - row_ptr[v]
        for r in range(rows):
            for c in range(channels):
                mine[c] = scale * h[start + r, c]
            for c in range(marks):
                marked[c] = scale * p[start + r, c]
                alone[c] = mark_scale * p[start + r, c]
            for m in range(ptr[v], ptr[v + 1]):
                theirs = row_ptr[other[m]] + r
                if plain:
                    for c in range(channels):
                        mine[c] += h[theirs, c]
                    for c in range(marks):
                        marked[c] += p[theirs, c]
                        alone[c] += p[theirs, c]
                else:
                    k = kind[m]
                    for c in range(channels):
                        value = h[theirs, c] + values[k, c]
                        mine[c] += zero if value <= zero else value
                    for c in range(marks):
                        q = p[theirs, c]
                        value = q + values[k, channels + c]
                        marked[c] += zero if value <= zero else value
                        alone[c] += q
            to = start + r - begin
            for c in range(channels):
                out[to, c] = mine[c]
            for c in range(marks):
                out[to, channels + c] = marked[c]
                mark_out[to, c] = alone[c]


@njit(nogil=True, cache=True, error_model="numpy")
def stream_sums_gradient(  # type: ignore[no-untyped-def]
    first, last, gradient, mark_gradient, through, h, p, row_ptr, ptr, other, kind, values, scale, mark_scale,
    to_h, to_p, to_values, to_scales,
):  # fmt: skip
    """The gradient of `stream_sums`, with ``through`` added to that of h where it has rows.

    Runs over the outgoing messages of nodes first..last, so that a node's own gradient is written by one thread.
    ``to_values`` is added to; ``to_scales`` gets, channel by channel, products whose sums are the scales' gradients.
    """
    channels, marks = h.shape[1], p.shape[1]
    zero = h.dtype.type(0)
    plain = values.shape[1] == 0
    added = len(through) > 0
    own, own_marks = np.empty(channels, h.dtype), np.empty(marks, h.dtype)
    mine, marked = np.empty(channels, h.dtype), np.empty(marks, h.dtype)
    passed, passed_marks = np.empty(channels, h.dtype), np.empty(marks, h.dtype)
    scaled, mark_scaled = np.zeros(channels, h.dtype), np.zeros(marks, h.dtype)
    alone_scaled = np.zeros(marks, h.dtype)
    for u in range(first, last):
        start, rows = row_ptr[u], row_ptr[u + 1] - row_ptr[u]
        for r in range(rows):
            for c in range(channels):
                own[c] = h[start + r, c]
                g = gradient[start + r, c]
                mine[c] = scale * g
                scaled[c] += g * own[c]
            if added:
                for c in range(channels):
                    mine[c] += through[start + r, c]
            for c in range(marks):
                own_marks[c] = p[start + r, c]
                g, a = gradient[start + r, channels + c], mark_gradient[start + r, c]
                marked[c] = scale * g + mark_scale * a
                mark_scaled[c] += g * own_marks[c]
                alone_scaled[c] += a * own_marks[c]
            for m in range(ptr[u], ptr[u + 1]):
                theirs = row_ptr[other[m]] + r
                if plain:
                    for c in range(channels):
                        mine[c] += gradient[theirs, c]
                    for c in range(marks):
                        marked[c] += gradient[theirs, channels + c] + mark_gradient[theirs, c]
                else:
                    k = kind[m]
                    for c in range(channels):
                        passed[c] = gradient[theirs, c] if own[c] + values[k, c] > zero else zero
                        mine[c] += passed[c]
                    for c in range(marks):
                        g = gradient[theirs, channels + c] if own_marks[c] + values[k, channels + c] > zero else zero
                        passed_marks[c] = g
                        marked[c] += g + mark_gradient[theirs, c]
                    for c in range(channels):
                        to_values[k, c] += passed[c]
                    for c in range(marks):
                        to_values[k, channels + c] += passed_marks[c]
            for c in range(channels):
                to_h[start + r, c] = mine[c]
            for c in range(marks):
                to_p[start + r, c] = marked[c]
    for c in range(channels):
        to_scales[0, c] += scaled[c]
    for c in range(marks):
        to_scales[0, c] += mark_scaled[c]
        to_scales[1, c] += alone_scaled[c]
