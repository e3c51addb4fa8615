"""The mlp of a GIN with its norms over a piece of the rows, compiled by numba.

Each function is all that can be done with a piece before it has to wait for others, so that a thread asks for Python's
lock as seldom as possible. Weights come as tuples ``(weight, bias, scale, shift)`` of a linear map and its norm.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from policylearn.kernels.compiled_gemm import product
from policylearn.kernels.compiled_norms import (
    batch_apply,
    batch_gradient,
    batch_gradient_sums,
    column_sums,
    layer_apply,
    layer_gradient,
)


@njit(nogil=True, cache=True, error_model="numpy")
def layer_forward(gemm, x, one, two, eps, residual, mapped, mapped_two, rows, rows_two, out):  # type: ignore[no-untyped-def]
    """With layer norms: ``out = relu(norm(linear(relu(norm(linear(x)))))) + residual``."""
    nothing = residual[:0]
    hidden = np.empty_like(mapped)
    product(gemm, x, False, one[0], True, mapped, False)
    layer_apply(mapped, one[1], one[2], one[3], eps, nothing, hidden, rows[0], rows[1])
    product(gemm, hidden, False, two[0], True, mapped_two, False)
    layer_apply(mapped_two, two[1], two[2], two[3], eps, residual, out, rows_two[0], rows_two[1])


@njit(nogil=True, cache=True, error_model="numpy")
def layer_backward(  # type: ignore[no-untyped-def]
    gemm, gradient, x, one, two, eps, mapped, mapped_two, rows, rows_two, to_x, to_weight, to_weight_two, sums, sums_two
):
    """The gradient of `layer_forward`; those of weights and vectors are added to what is there."""
    behind = np.empty_like(mapped_two)
    layer_gradient(
        gradient, mapped_two, two[1], two[2], two[3], rows_two[0], rows_two[1], behind,
        sums_two[0], sums_two[1], sums_two[2],
    )  # fmt: skip
    hidden, to_hidden = np.empty_like(mapped), np.empty_like(mapped)
    layer_apply(mapped, one[1], one[2], one[3], eps, gradient[:0], hidden, rows[0], rows[1])
    product(gemm, behind, True, hidden, False, to_weight_two, True)
    product(gemm, behind, False, two[0], False, to_hidden, False)
    layer_gradient(
        to_hidden, mapped, one[1], one[2], one[3], rows[0], rows[1], hidden, sums[0], sums[1], sums[2]
    )  # fmt: skip
    product(gemm, hidden, True, x, False, to_weight, True)
    product(gemm, hidden, False, one[0], False, to_x, False)


@njit(nogil=True, cache=True, error_model="numpy")
def batch_map(gemm, x, weight, mapped, total, squares):  # type: ignore[no-untyped-def]
    """With batch norms: the linear map, and the sums of its outputs' differences to the first of them."""
    product(gemm, x, False, weight, True, mapped, False)
    column_sums(mapped, mapped[0], total, squares)


@njit(nogil=True, cache=True, error_model="numpy")
def batch_between(  # type: ignore[no-untyped-def]
    gemm, mapped, mean, factor, shift, weight, mapped_two, total, squares
):
    """Norm and relu of the first half, and `batch_map` of the second."""
    hidden = np.empty_like(mapped)
    batch_apply(mapped, mean, factor, shift, mapped[:0], hidden)
    batch_map(gemm, hidden, weight, mapped_two, total, squares)


@njit(nogil=True, cache=True, error_model="numpy")
def batch_back_between(  # type: ignore[no-untyped-def]
    gemm, gradient, mapped, mapped_two, mean, factor, shift, mean_two, factor_two, shift_two, offset, slope, weight_two,
    to_hidden, to_weight_two, total, products,
):  # fmt: skip
    """From the gradient of the output to that of the hidden rows, and the sums that the first norm needs of it."""
    behind, hidden = np.empty_like(mapped_two), np.empty_like(mapped)
    batch_gradient(gradient, mapped_two, mean_two, factor_two, shift_two, offset, slope, behind)
    batch_apply(mapped, mean, factor, shift, mapped[:0], hidden)
    product(gemm, behind, True, hidden, False, to_weight_two, True)
    product(gemm, behind, False, weight_two, False, to_hidden, False)
    batch_gradient_sums(to_hidden, mapped, mean, factor, shift, total, products)


@njit(nogil=True, cache=True, error_model="numpy")
def batch_back_end(  # type: ignore[no-untyped-def]
    gemm, to_hidden, x, mapped, mean, factor, shift, offset, slope, weight, to_x, to_weight
):
    """From the gradient of the hidden rows to that of the input."""
    behind = np.empty_like(mapped)
    batch_gradient(to_hidden, mapped, mean, factor, shift, offset, slope, behind)
    product(gemm, behind, True, x, False, to_weight, True)
    product(gemm, behind, False, weight, False, to_x, False)


@njit(nogil=True, cache=True, error_model="numpy")
def fixed_forward(gemm, x, one, two, residual, out):  # type: ignore[no-untyped-def]
    """At inference, with norms that are fixed or know each row alone: without scales a norm is folded into the map.

    Behind the four weights of a half stands what its norm adds to variances.
    """
    rows = np.empty((2, len(x)), x.dtype)
    hidden = np.empty((len(x), len(one[0])), x.dtype)
    product(gemm, x, False, one[0], True, hidden, False)
    fixed_norm(hidden, one, residual[:0], rows)
    product(gemm, hidden, False, two[0], True, out, False)
    fixed_norm(out, two, residual, rows)


@njit(nogil=True, cache=True, error_model="numpy")
def fixed_norm(x, half, residual, rows):  # type: ignore[no-untyped-def]
    """Norm, relu and residual in place."""
    if len(half[2]) > 0:
        layer_apply(x, half[1], half[2], half[3], half[4], residual, x, rows[0], rows[1])
        return
    shift, width = half[1], x.shape[1]
    zero = x.dtype.type(0)
    added = len(residual) > 0
    for r in range(len(x)):
        for c in range(width):
            z = x[r, c] + shift[c]
            x[r, c] = zero if z <= zero else z
        if added:
            for c in range(width):
                x[r, c] += residual[r, c]
