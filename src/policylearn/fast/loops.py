"""Sums of messages along lists of rows, norms with their relu, and changes within cones, compiled by numba.

Each loop writes arrays that are handed in; products of matrices lie between the loops and are torch's. Loops over
channels go through small arrays that a function makes itself: the compiler knows that nothing else points to these and
uses vector instructions.

Batch statistics are taken of the differences to one of the rows, so that a channel that is constant has a spread of
exactly zero and not of rounding. Sums run over blocks of rows in the rows' own precision and are added up in double
precision.

The compiler may reorder additions in `total_of`, `spread_of` and `totals_of` alone, which write nothing. Where a loop
also writes, it is compiled twice, as vector instructions and one by one, and where its arrays lie closely together in
memory the latter runs. With additions reordered in one of the two, results would depend on where arrays happen to lie.
"""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 64


@njit(nogil=True, cache=True, error_model="numpy")
def sum_messages(start, h, p, marks_of, own, ptr, sender, kind, values, scale, out):  # type: ignore[no-untyped-def]
    """``out = scale * [h, p] + sum of relu([h, p] + values)`` for as many rows as ``out`` has, from ``start`` on.

    Row r was row ``own[r]`` and hears the rows ``sender`` from ``ptr[r]`` on; row i has the marks ``p[marks_of[i]]``.
    Without values (no columns) the sum is that of ``[h, p]`` itself.
    """
    channels, marks = h.shape[1], p.shape[1]
    zero = h.dtype.type(0)
    plain = values.shape[1] == 0
    mine, marked = np.empty(channels, h.dtype), np.empty(marks, h.dtype)
    for row in range(start, start + len(out)):
        at = own[row]
        for c in range(channels):
            mine[c] = scale * h[at, c]
        mark = marks_of[at] if marks > 0 else 0
        for c in range(marks):
            marked[c] = scale * p[mark, c]
        for m in range(ptr[row], ptr[row + 1]):
            at = sender[m]
            mark = marks_of[at] if marks > 0 else 0
            if plain:
                for c in range(channels):
                    mine[c] += h[at, c]
                for c in range(marks):
                    marked[c] += p[mark, c]
            else:
                k = kind[m]
                for c in range(channels):
                    value = h[at, c] + values[k, c]
                    mine[c] += zero if value < zero else value
                for c in range(marks):
                    value = p[mark, c] + values[k, channels + c]
                    marked[c] += zero if value < zero else value
        for c in range(channels):
            out[row - start, c] = mine[c]
        for c in range(marks):
            out[row - start, channels + c] = marked[c]


@njit(nogil=True, cache=True, error_model="numpy")
def sum_messages_gradient(  # type: ignore[no-untyped-def]
    gradient, residual, h, p, marks_of, own, ptr, sender, kind, values, scale, to_h, to_p, to_values, to_scale
):
    """Add the gradient of `sum_messages` to arrays of zeros, and ``residual`` to that of h where it has rows.

    ``to_scale`` gets products whose sum is the scale's gradient.
    """
    channels, marks = h.shape[1], p.shape[1]
    zero = h.dtype.type(0)
    plain, added = values.shape[1] == 0, len(residual) > 0
    g, g_marks = np.empty(channels, h.dtype), np.empty(marks, h.dtype)
    scaled, scaled_marks = np.zeros(channels, h.dtype), np.zeros(marks, h.dtype)
    for row in range(len(own)):
        at = own[row]
        for c in range(channels):
            g[c] = gradient[row, c]
            scaled[c] += g[c] * h[at, c]
        for c in range(channels):
            to_h[at, c] += scale * g[c]
        if added:
            for c in range(channels):
                to_h[at, c] += residual[row, c]
        mark = marks_of[at] if marks > 0 else 0
        for c in range(marks):
            g_marks[c] = gradient[row, channels + c]
            scaled_marks[c] += g_marks[c] * p[mark, c]
        for c in range(marks):
            to_p[mark, c] += scale * g_marks[c]
        for m in range(ptr[row], ptr[row + 1]):
            at = sender[m]
            mark = marks_of[at] if marks > 0 else 0
            if plain:
                for c in range(channels):
                    to_h[at, c] += g[c]
                for c in range(marks):
                    to_p[mark, c] += g_marks[c]
            else:
                k = kind[m]
                for c in range(channels):
                    passed = g[c] if h[at, c] + values[k, c] > zero else zero
                    to_h[at, c] += passed
                    to_values[k, c] += passed
                for c in range(marks):
                    passed = g_marks[c] if p[mark, c] + values[k, channels + c] > zero else zero
                    to_p[mark, c] += passed
                    to_values[k, channels + c] += passed
    for c in range(channels):
        to_scale[c] += scaled[c]
    for c in range(marks):
        to_scale[channels + c] += scaled_marks[c]


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def total_of(row):  # type: ignore[no-untyped-def]
    """The sum of a row."""
    total = row.dtype.type(0)
    for c in range(len(row)):
        total += row[c]
    return total


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def spread_of(row, mean):  # type: ignore[no-untyped-def]
    """The sum of a row's squared differences to its mean."""
    total = row.dtype.type(0)
    for c in range(len(row)):
        d = row[c] - mean
        total += d * d
    return total


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def totals_of(row, factors):  # type: ignore[no-untyped-def]
    """The sum of a row, and that of its products with another."""
    total, products = row.dtype.type(0), row.dtype.type(0)
    for c in range(len(row)):
        total += row[c]
        products += row[c] * factors[c]
    return total, products


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})
def norm_relu(x, before, scale, shift, eps, rows, known, residual, at, out):  # type: ignore[no-untyped-def]
    """``out = relu(norm(x + before) * scale + shift)``, plus the rows ``at`` of the residual where it has any.

    Where ``rows`` has any the norm is a layer norm, and it holds the mean and the inverse deviation of each row,
    ``(R, 2)``: they are written, or read if ``known``. Otherwise the norm is nothing: a batch norm has its mean in
    ``before`` and its deviation in ``scale``. ``out`` may be x.
    """
    width = x.shape[1]
    zero, one = x.dtype.type(0), x.dtype.type(1)
    count = x.dtype.type(width)
    by_row, added = len(rows) > 0, len(residual) > 0
    row = np.empty(width, x.dtype)
    for r in range(len(x)):
        if by_row:
            for c in range(width):
                row[c] = x[r, c] + before[c]
            if not known:
                mean = total_of(row) / count
                rows[r, 0] = mean
                rows[r, 1] = one / np.sqrt(spread_of(row, mean) / count + eps)
            mean, inverse = rows[r, 0], rows[r, 1]
            for c in range(width):
                row[c] = (row[c] - mean) * inverse * scale[c] + shift[c]
        else:
            for c in range(width):
                row[c] = (x[r, c] + before[c]) * scale[c] + shift[c]
        for c in range(width):
            out[r, c] = zero if row[c] <= zero else row[c]
        if added:
            i = at[r]
            for c in range(width):
                out[r, c] += residual[i, c]


@njit(nogil=True, cache=True, error_model="numpy")
def layer_gradient(gradient, x, before, scale, shift, rows, to_x, sums):  # type: ignore[no-untyped-def]
    """The gradient of `norm_relu` by row; those of ``before``, ``scale`` and ``shift`` are added to ``sums``."""
    width = x.shape[1]
    zero = x.dtype.type(0)
    count = x.dtype.type(width)
    normed, inner = np.empty(width, x.dtype), np.empty(width, x.dtype)
    own = np.zeros((3, width), x.dtype)
    for start in range(0, len(x), BLOCK):
        own[:] = 0
        for r in range(start, min(start + BLOCK, len(x))):
            mean, inverse = rows[r, 0], rows[r, 1]
            for c in range(width):
                n = (x[r, c] + before[c] - mean) * inverse
                passed = gradient[r, c] if n * scale[c] + shift[c] > zero else zero
                g = passed * scale[c]
                own[1, c] += passed * n
                own[2, c] += passed
                normed[c] = n
                inner[c] = g
            total, products = totals_of(inner, normed)
            total /= count
            products /= count
            for c in range(width):
                g = inverse * (inner[c] - total - normed[c] * products)
                to_x[r, c] = g
                own[0, c] += g
        for i in range(3):
            for c in range(width):
                sums[i, c] += own[i, c]


@njit(nogil=True, cache=True, error_model="numpy")
def batch_statistics(x, bias, scale, eps, weights, total):  # type: ignore[no-untyped-def]
    """The statistics of ``x + bias``, whose rows count as often as their weights say, ``total`` times in all.

    Returns what `norm_relu` adds to x and multiplies with, and in double precision the mean, the biased variance and
    the inverse deviation of each column, ``(3, C)``.
    """
    width = x.shape[1]
    first = 0
    while first < len(x) - 1 and weights[first] == 0:  # others, as of a graph that is not in the bag, may lie far off
        first += 1
    base = x[first].copy()
    sums, some, square = np.zeros((2, width)), np.zeros(width, x.dtype), np.zeros(width, x.dtype)
    for start in range(first, len(x), BLOCK):
        some[:] = 0
        square[:] = 0
        for r in range(start, min(start + BLOCK, len(x))):
            weight = x.dtype.type(weights[r])
            if weight == 0:
                continue
            for c in range(width):
                d = x[r, c] - base[c]
                some[c] += weight * d
                square[c] += weight * d * d
        for c in range(width):
            sums[0, c] += some[c]
            sums[1, c] += square[c]
    before, factor, found = np.empty(width, x.dtype), np.empty(width, x.dtype), np.empty((3, width))
    for c in range(width):
        offset = sums[0, c] / total
        mean, variance = base[c] + offset, sums[1, c] / total - offset * offset
        inverse = 1 / np.sqrt(variance + eps)
        before[c], factor[c] = -mean, inverse * scale[c]
        found[0, c], found[1, c], found[2, c] = mean + bias[c], variance, inverse
    return before, factor, found


@njit(nogil=True, cache=True, error_model="numpy")
def batch_gradient(  # type: ignore[no-untyped-def]
    gradient, x, before, scale, shift, inverse, weights, total, to_x, sums
):
    """The gradient of `norm_relu` with the statistics of a batch; ``sums`` as in `layer_gradient`.

    With ``d = x + before`` it is ``scale * (passed - weight * (mean of passed + d * inverse^2 * mean of passed * d))``;
    the gradient of what is added in front of the norm is zero.
    """
    width = x.shape[1]
    zero = x.dtype.type(0)
    some, product = np.zeros(width, x.dtype), np.zeros(width, x.dtype)
    for start in range(0, len(x), BLOCK):
        some[:] = 0
        product[:] = 0
        for r in range(start, min(start + BLOCK, len(x))):
            for c in range(width):
                d = x[r, c] + before[c]
                passed = gradient[r, c] if d * scale[c] + shift[c] > zero else zero
                some[c] += passed
                product[c] += passed * d
        for c in range(width):
            sums[2, c] += some[c]
            sums[1, c] += product[c]
    offset, slope = np.empty(width, x.dtype), np.empty(width, x.dtype)
    for c in range(width):
        offset[c], slope[c] = sums[2, c] / total, sums[1, c] / total * inverse[c] * inverse[c]
        sums[1, c] *= inverse[c]
    for r in range(len(x)):
        weight = x.dtype.type(weights[r])
        for c in range(width):
            d = x[r, c] + before[c]
            passed = gradient[r, c] if d * scale[c] + shift[c] > zero else zero
            to_x[r, c] = scale[c] * (passed - weight * (offset[c] + d * slope[c]))


@njit(nogil=True, cache=True, error_model="numpy")
def add_changes(total, rows, node_of, copy_of, times, unmarked):  # type: ignore[no-untyped-def]
    """Add to each node's total what its rows differ from the unmarked graph, once per time their copy counts."""
    for row in range(len(rows)):
        v = node_of[row]
        factor = times[copy_of[row]]
        for c in range(rows.shape[1]):
            total[v, c] += factor * (rows[row, c] - unmarked[v, c])
