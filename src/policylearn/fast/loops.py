"""Sums of messages along lists of rows, and norms with their relu, compiled by numba.

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
def sum_messages(h, p, marks_of, own, ptr, sender, kind, values, scale, out):  # type: ignore[no-untyped-def]
    """``out = scale * [h, p] + sum of relu([h, p] + values)``.

    Row r was row ``own[r]`` and hears the rows ``sender`` from ``ptr[r]`` on; row i has the marks ``p[marks_of[i]]``.
    Without values (no columns) the sum is that of ``[h, p]`` itself.
    """
    channels, marks = h.shape[1], p.shape[1]
    zero = h.dtype.type(0)
    plain = values.shape[1] == 0
    mine, marked = np.empty(channels, h.dtype), np.empty(marks, h.dtype)
    for row in range(len(own)):
        at = own[row]
        for c in range(channels):
            mine[c] = scale * h[at, c]
        if marks > 0:
            mark = marks_of[at]
            for c in range(marks):
                marked[c] = scale * p[mark, c]
        for m in range(ptr[row], ptr[row + 1]):
            at = sender[m]
            if plain:
                for c in range(channels):
                    mine[c] += h[at, c]
                if marks > 0:
                    mark = marks_of[at]
                    for c in range(marks):
                        marked[c] += p[mark, c]
            else:
                k = kind[m]
                for c in range(channels):
                    value = h[at, c] + values[k, c]
                    mine[c] += zero if value <= zero else value
                if marks > 0:
                    mark = marks_of[at]
                    for c in range(marks):
                        value = p[mark, c] + values[k, channels + c]
                        marked[c] += zero if value <= zero else value
        for c in range(channels):
            out[row, c] = mine[c]
        for c in range(marks):
            out[row, channels + c] = marked[c]


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
    passed, passed_marks = np.empty(channels, h.dtype), np.empty(marks, h.dtype)
    scaled, scaled_marks = np.zeros(channels, h.dtype), np.zeros(marks, h.dtype)
    for row in range(len(own)):
        at = own[row]
        for c in range(channels):
            g[c] = gradient[row, c]
        for c in range(channels):
            scaled[c] += g[c] * h[at, c]
        for c in range(channels):
            to_h[at, c] += scale * g[c]
        if added:
            for c in range(channels):
                to_h[at, c] += residual[row, c]
        if marks > 0:
            mark = marks_of[at]
            for c in range(marks):
                g_marks[c] = gradient[row, channels + c]
            for c in range(marks):
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
                    passed[c] = g[c] if h[at, c] + values[k, c] > zero else zero
                for c in range(channels):
                    to_h[at, c] += passed[c]
                for c in range(channels):
                    to_values[k, c] += passed[c]
                for c in range(marks):
                    passed_marks[c] = g_marks[c] if p[mark, c] + values[k, channels + c] > zero else zero
                for c in range(marks):
                    to_p[mark, c] += passed_marks[c]
                for c in range(marks):
                    to_values[k, channels + c] += passed_marks[c]
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
def column_sums(x, base, weights, sums):  # type: ignore[no-untyped-def]
    """Add up the differences to a row, and their squares, over the rows, each as often as its weight says."""
    width = x.shape[1]
    some, square = np.zeros(width, x.dtype), np.zeros(width, x.dtype)
    for start in range(0, len(x), BLOCK):
        some[:] = 0
        square[:] = 0
        for r in range(start, min(start + BLOCK, len(x))):
            weight = weights[r]
            if weight == 0:
                continue
            for c in range(width):
                d = x[r, c] - base[c]
                some[c] += weight * d
                square[c] += weight * d * d
        for c in range(width):
            sums[0, c] += some[c]
            sums[1, c] += square[c]


@njit(nogil=True, cache=True, error_model="numpy")
def batch_gradient_sums(gradient, x, before, scale, shift, total, products):  # type: ignore[no-untyped-def]
    """Add up the gradient behind the relu, and its product with ``x + before``, over the rows."""
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
            total[c] += some[c]
            products[c] += product[c]


@njit(nogil=True, cache=True, error_model="numpy")
def batch_gradient(gradient, x, before, scale, shift, weights, offset, slope, to_x):  # type: ignore[no-untyped-def]
    """``to_x = scale * (passed - weight * (offset + (x + before) * slope))``, the gradient of batch norm and relu."""
    width = x.shape[1]
    zero = x.dtype.type(0)
    for r in range(len(x)):
        weight = weights[r]
        for c in range(width):
            d = x[r, c] + before[c]
            passed = gradient[r, c] if d * scale[c] + shift[c] > zero else zero
            to_x[r, c] = scale[c] * (passed - weight * (offset[c] + d * slope[c]))
