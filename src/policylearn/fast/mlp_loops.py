"""The mlp of a GIN with its norms over some of the rows, compiled by numba.

Each function is all that can be done with a strip of rows before it has to wait for others. A half of the mlp comes as
a tuple ``(weight, before, scale, shift, eps)`` and is ``relu(norm(x @ weight' + before) * scale + shift)``. There
``norm`` is that of each row by itself, or nothing: a batch norm has its mean in ``before`` and its deviation in
``scale``.

Statistics are taken of the differences to one of the rows, so that a channel that is constant has a spread of exactly
zero and not of rounding. Sums run over blocks of rows in the rows' own precision and are added up in double precision.

The compiler may reorder additions in `total_of`, `spread_of` and `totals_of` alone, which write nothing. Where a loop
also writes, it is compiled twice, as vector instructions and one by one, and where its arrays lie closely together in
memory the latter runs. With additions reordered in one of the two, results would depend on where arrays happen to lie.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

BLOCK = 64

STRIP = 256
"""Rows that go through all of a layer at once: so few that they stay in the innermost caches."""


@intrinsic
def call_gemm(typing_context, address, arguments):  # type: ignore[no-untyped-def]
    """Call the Fortran function at an address with 13 pointers, given as integers."""

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        pointer = ir.IntType(8).as_pointer()
        function = ir.FunctionType(ir.VoidType(), [pointer] * 13)
        target = builder.inttoptr(values[0], function.as_pointer())
        places = [builder.extract_value(values[1], i) for i in range(13)]
        builder.call(target, [builder.inttoptr(place, pointer) for place in places])
        return context.get_dummy_value()

    return types.void(address, arguments), generate


@njit(nogil=True, cache=True, error_model="numpy")
def product(address, a, a_turned, b, b_turned, out, add):  # type: ignore[no-untyped-def]
    """``out = a @ b``, or added to it; a factor is transposed where it is ``turned``. All lie in memory by rows."""
    rows, columns = out.shape
    inner = a.shape[0] if a_turned else a.shape[1]
    # Fortran reads matrices by columns, so it sees all of them transposed: out' = b' @ a'.
    letters = np.array([84 if b_turned else 78, 84 if a_turned else 78], np.int8)  # T or N
    sizes = np.array([columns, rows, inner, b.shape[1], a.shape[1], columns], np.int32)
    factors = np.array([1, 1 if add else 0], out.dtype)
    letter, size, factor = letters.ctypes.data, sizes.ctypes.data, factors.ctypes.data
    number = factors.itemsize
    call_gemm(
        address,
        (
            letter, letter + np.uintp(1), size, size + np.uintp(4), size + np.uintp(8), factor, b.ctypes.data,
            size + np.uintp(12), a.ctypes.data, size + np.uintp(16), factor + np.uintp(number), out.ctypes.data,
            size + np.uintp(20),
        ),
    )  # fmt: skip
    # The addresses alone do not keep the numbers behind them.
    letters[0] = sizes[0] = 0
    factors[0] = 0


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
def norm_relu(x, before, scale, shift, eps, by_row, residual, out, means, inverses):  # type: ignore[no-untyped-def]
    """``out = relu(norm(x + before) * scale + shift)``, plus the residual where it has rows.

    With ``by_row`` the norm is a layer norm, and each row's mean and inverse deviation are kept; else it is nothing.
    """
    width = x.shape[1]
    zero, one = x.dtype.type(0), x.dtype.type(1)
    count = x.dtype.type(width)
    added = len(residual) > 0
    row = np.empty(width, x.dtype)
    for r in range(len(x)):
        if by_row:
            for c in range(width):
                row[c] = x[r, c] + before[c]
            mean = total_of(row) / count
            inverse = one / np.sqrt(spread_of(row, mean) / count + eps)
            means[r] = mean
            inverses[r] = inverse
            for c in range(width):
                value = (row[c] - mean) * inverse * scale[c] + shift[c]
                out[r, c] = zero if value <= zero else value
        else:
            for c in range(width):  # by way of a row, as out may be x
                row[c] = (x[r, c] + before[c]) * scale[c] + shift[c]
            for c in range(width):
                out[r, c] = zero if row[c] <= zero else row[c]
        if added:
            for c in range(width):
                out[r, c] += residual[r, c]


@njit(nogil=True, cache=True, error_model="numpy")
def again(x, half, means, inverses, out):  # type: ignore[no-untyped-def]
    """What `norm_relu` gave by row, with the means and inverse deviations that it kept."""
    before, scale, shift = half[1], half[2], half[3]
    zero = x.dtype.type(0)
    for r in range(len(x)):
        mean, inverse = means[r], inverses[r]
        for c in range(x.shape[1]):
            value = (x[r, c] + before[c] - mean) * inverse * scale[c] + shift[c]
            out[r, c] = zero if value <= zero else value


@njit(nogil=True, cache=True, error_model="numpy")
def layer_gradient(gradient, x, half, means, inverses, to_x, sums):  # type: ignore[no-untyped-def]
    """The gradient of `norm_relu` by row; those of ``before``, ``scale`` and ``shift`` are added to ``sums``."""
    before, scale, shift = half[1], half[2], half[3]
    width = x.shape[1]
    zero = x.dtype.type(0)
    count = x.dtype.type(width)
    normed, inner = np.empty(width, x.dtype), np.empty(width, x.dtype)
    own = np.zeros((3, width), x.dtype)
    for start in range(0, len(x), BLOCK):
        own[:] = 0
        for r in range(start, min(start + BLOCK, len(x))):
            mean, inverse = means[r], inverses[r]
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
def first_counted(weights):  # type: ignore[no-untyped-def]
    """The first row that counts at all; 0 if none does."""
    for r in range(len(weights)):
        if weights[r] > 0:
            return r
    return 0


@njit(nogil=True, cache=True, error_model="numpy")
def column_sums(x, base, weights, sums):  # type: ignore[no-untyped-def]
    """Add up the differences to a row, and their squares, over the rows, each as often as its weight says.

    The row is the first that counts. Others, as of an unmarked graph that is not in the bag, may lie far off.
    """
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
def batch_gradient_sums(gradient, x, half, sums):  # type: ignore[no-untyped-def]
    """Add up the gradient behind the relu, and its product with ``x + before``, over the rows."""
    before, scale, shift = half[1], half[2], half[3]
    width = x.shape[1]
    zero = x.dtype.type(0)
    some, products = np.zeros(width, x.dtype), np.zeros(width, x.dtype)
    for start in range(0, len(x), BLOCK):
        some[:] = 0
        products[:] = 0
        for r in range(start, min(start + BLOCK, len(x))):
            for c in range(width):
                d = x[r, c] + before[c]
                passed = gradient[r, c] if d * scale[c] + shift[c] > zero else zero
                some[c] += passed
                products[c] += passed * d
        for c in range(width):
            sums[0, c] += some[c]
            sums[1, c] += products[c]


@njit(nogil=True, cache=True, error_model="numpy")
def batch_gradient(gradient, x, half, weights, offset, slope, to_x):  # type: ignore[no-untyped-def]
    """``to_x = scale * (passed - weight * (offset + (x + before) * slope))``, the gradient of batch norm and relu."""
    before, scale, shift = half[1], half[2], half[3]
    width = x.shape[1]
    zero = x.dtype.type(0)
    for r in range(len(x)):
        weight = weights[r]
        for c in range(width):
            d = x[r, c] + before[c]
            passed = gradient[r, c] if d * scale[c] + shift[c] > zero else zero
            to_x[r, c] = scale[c] * (passed - weight * (offset[c] + d * slope[c]))


@njit(nogil=True, cache=True, error_model="numpy")
def mlp_forward(  # type: ignore[no-untyped-def]
    gemm, x, one, two, by_row, residual, mapped, mapped_two, out, rows, rows_two
):
    """Both halves and the residual, with norms that need nothing from other rows.

    Where no gradient is wanted ``mapped`` may be without rows and ``mapped_two`` be ``out``.
    """
    hidden = np.empty((len(x), len(one[0])), x.dtype)
    first = mapped if len(mapped) > 0 else hidden
    product(gemm, x, False, one[0], True, first, False)
    norm_relu(first, one[1], one[2], one[3], one[4], by_row, residual[:0], hidden, rows[0], rows[1])
    product(gemm, hidden, False, two[0], True, mapped_two, False)
    norm_relu(mapped_two, two[1], two[2], two[3], two[4], by_row, residual, out, rows_two[0], rows_two[1])


@njit(nogil=True, cache=True, error_model="numpy")
def layer_backward(  # type: ignore[no-untyped-def]
    gemm, gradient, x, one, two, mapped, mapped_two, rows, rows_two, to_x, to_weight, to_weight_two, sums, sums_two
):
    """The gradient of `mlp_forward` with layer norms; those of weights and vectors are added to what is there."""
    behind, hidden, to_hidden = np.empty_like(mapped_two), np.empty_like(mapped), np.empty_like(mapped)
    layer_gradient(gradient, mapped_two, two, rows_two[0], rows_two[1], behind, sums_two)
    again(mapped, one, rows[0], rows[1], hidden)
    product(gemm, behind, True, hidden, False, to_weight_two, True)
    product(gemm, behind, False, two[0], False, to_hidden, False)
    layer_gradient(to_hidden, mapped, one, rows[0], rows[1], hidden, sums)
    product(gemm, hidden, True, x, False, to_weight, True)
    product(gemm, hidden, False, one[0], False, to_x, False)


@njit(nogil=True, cache=True, error_model="numpy")
def narrow(wide, channels):  # type: ignore[no-untyped-def]
    """Rows of so many channels; a batch norm may see the copies of a node side by side, in one row."""
    return wide.reshape(wide.size // channels, channels)


@njit(nogil=True, cache=True, error_model="numpy")
def note(mapped, weights, thread, seen):  # type: ignore[no-untyped-def]
    """Add some rows to what a thread has seen: how many they stand for, the first of them, and sums of differences."""
    counts, bases, sums = seen
    if counts[thread] == 0:
        bases[thread] = mapped[first_counted(weights)]
    for r in range(len(weights)):
        counts[thread] += weights[r]
    column_sums(mapped, bases[thread], weights, sums[thread])


@njit(nogil=True, cache=True, error_model="numpy")
def batch_map(gemm, x, weight, mapped, weights, thread, seen):  # type: ignore[no-untyped-def]
    """With batch norms: the linear map, and what the statistics of its output are made of."""
    product(gemm, x, False, weight, True, narrow(mapped, len(weight)), False)
    note(mapped, weights, thread, seen)


@njit(nogil=True, cache=True, error_model="numpy")
def batch_between(gemm, mapped, one, weight_two, mapped_two, weights, thread, seen):  # type: ignore[no-untyped-def]
    """Norm and relu of the first half, and `batch_map` of the second."""
    hidden = np.empty_like(mapped)
    norm_relu(mapped, one[1], one[2], one[3], one[4], False, mapped[:0], hidden, mapped[0], mapped[0])
    batch_map(gemm, narrow(hidden, weight_two.shape[1]), weight_two, mapped_two, weights, thread, seen)


@njit(nogil=True, cache=True, error_model="numpy")
def batch_back_between(  # type: ignore[no-untyped-def]
    gemm, gradient, mapped, mapped_two, one, two, weights, offset, slope, to_hidden, to_weight_two, sums
):
    """From the gradient of the output to that of the hidden rows, and the sums that the first norm needs of it."""
    behind, hidden = np.empty_like(mapped_two), np.empty_like(mapped)
    inner, outer = two[0].shape[1], len(two[0])
    batch_gradient(gradient, mapped_two, two, weights, offset, slope, behind)
    norm_relu(mapped, one[1], one[2], one[3], one[4], False, mapped[:0], hidden, mapped[0], mapped[0])
    product(gemm, narrow(behind, outer), True, narrow(hidden, inner), False, to_weight_two, True)
    product(gemm, narrow(behind, outer), False, two[0], False, narrow(to_hidden, inner), False)
    batch_gradient_sums(to_hidden, mapped, one, sums)


@njit(nogil=True, cache=True, error_model="numpy")
def batch_back_end(  # type: ignore[no-untyped-def]
    gemm, to_hidden, x, mapped, one, weights, offset, slope, to_x, to_weight
):
    """From the gradient of the hidden rows to that of the input."""
    behind = np.empty_like(mapped)
    batch_gradient(to_hidden, mapped, one, weights, offset, slope, behind)
    flat = narrow(behind, len(one[0]))
    product(gemm, flat, True, x, False, to_weight, True)
    product(gemm, flat, False, one[0], False, to_x, False)
