"""Norm, relu and residual in one pass over the rows, compiled by numba.

Statistics are taken of the differences to one of the rows, so that a channel that is constant has a spread of exactly
zero and not of rounding. Sums run over blocks of rows in the rows' own precision and are added up in double precision.
"""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 64


@njit(nogil=True, cache=True, error_model="numpy")
def column_sums(x, reference, total, squares):  # type: ignore[no-untyped-def]
    """Add up ``x - reference`` and its squares over the rows."""
    width = x.shape[1]
    some, square = np.zeros(width, x.dtype), np.zeros(width, x.dtype)
    for start in range(0, len(x), BLOCK):
        some[:] = 0
        square[:] = 0
        for r in range(start, min(start + BLOCK, len(x))):
            for c in range(width):
                d = x[r, c] - reference[c]
                some[c] += d
                square[c] += d * d
        for c in range(width):
            total[c] += some[c]
            squares[c] += square[c]


@njit(nogil=True, cache=True, error_model="numpy")
def batch_apply(x, mean, factor, bias, residual, out):  # type: ignore[no-untyped-def]
    """``out = relu((x - mean) * factor + bias)``, plus the residual where it has rows."""
    width = x.shape[1]
    zero = x.dtype.type(0)
    added = len(residual) > 0
    for r in range(len(x)):
        for c in range(width):
            z = (x[r, c] - mean[c]) * factor[c] + bias[c]
            out[r, c] = zero if z <= zero else z
        if added:
            for c in range(width):
                out[r, c] += residual[r, c]


@njit(nogil=True, cache=True, error_model="numpy")
def batch_gradient_sums(  # type: ignore[no-untyped-def]
    gradient, x, mean, factor, bias, total, products
):
    """Add up the gradient behind the relu, and its product with ``x - mean``, over the rows."""
    width = x.shape[1]
    zero = x.dtype.type(0)
    some, product = np.zeros(width, x.dtype), np.zeros(width, x.dtype)
    for start in range(0, len(x), BLOCK):
        some[:] = 0
        product[:] = 0
        for r in range(start, min(start + BLOCK, len(x))):
            for c in range(width):
                d = x[r, c] - mean[c]
                passed = gradient[r, c] if d * factor[c] + bias[c] > zero else zero
                some[c] += passed
                product[c] += passed * d
        for c in range(width):
            total[c] += some[c]
            products[c] += product[c]


@njit(nogil=True, cache=True, error_model="numpy")
def batch_gradient(  # type: ignore[no-untyped-def]
    gradient, x, mean, factor, bias, shift, slope, to_x
):
    """``to_x = factor * (passed - shift - (x - mean) * slope)``, the gradient of batch norm and relu."""
    width = x.shape[1]
    zero = x.dtype.type(0)
    for r in range(len(x)):
        for c in range(width):
            d = x[r, c] - mean[c]
            passed = gradient[r, c] if d * factor[c] + bias[c] > zero else zero
            to_x[r, c] = factor[c] * (passed - shift[c] - d * slope[c])


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def layer_apply(  # type: ignore[no-untyped-def]
    x, before, weight, bias, eps, residual, out, means, scales
):
    """``out = relu(layer_norm(x + before))``, plus the residual where it has rows; keeps each row's mean and scale."""
    width = x.shape[1]
    zero, one = x.dtype.type(0), x.dtype.type(1)
    count = x.dtype.type(width)
    added = len(residual) > 0
    row = np.empty(width, x.dtype)
    for r in range(len(x)):
        total = zero
        for c in range(width):
            row[c] = x[r, c] + before[c]
            total += row[c]
        mean = total / count
        squares = zero
        for c in range(width):
            d = row[c] - mean
            row[c] = d
            squares += d * d
        scale = one / np.sqrt(squares / count + eps)
        means[r] = mean
        scales[r] = scale
        for c in range(width):
            z = row[c] * scale * weight[c] + bias[c]
            out[r, c] = zero if z <= zero else z
        if added:
            for c in range(width):
                out[r, c] += residual[r, c]


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def layer_gradient(  # type: ignore[no-untyped-def]
    gradient, x, before, weight, bias, means, scales, to_x, to_before, to_weight, to_bias
):
    """The gradient of `layer_apply`; those of the vectors are added to theirs."""
    width = x.shape[1]
    zero = x.dtype.type(0)
    count = x.dtype.type(width)
    normed, inner = np.empty(width, x.dtype), np.empty(width, x.dtype)
    own = np.zeros((3, width), x.dtype)
    for start in range(0, len(x), BLOCK):
        own[:] = 0
        for r in range(start, min(start + BLOCK, len(x))):
            mean, scale = means[r], scales[r]
            total, product = zero, zero
            for c in range(width):
                n = (x[r, c] + before[c] - mean) * scale
                passed = gradient[r, c] if n * weight[c] + bias[c] > zero else zero
                g = passed * weight[c]
                own[1, c] += passed * n
                own[2, c] += passed
                normed[c] = n
                inner[c] = g
                total += g
                product += g * n
            total /= count
            product /= count
            for c in range(width):
                g = scale * (inner[c] - total - normed[c] * product)
                to_x[r, c] = g
                own[0, c] += g
        for c in range(width):
            to_before[c] += own[0, c]
            to_weight[c] += own[1, c]
            to_bias[c] += own[2, c]
