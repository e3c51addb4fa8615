"""A layer of two streams, or of one, as one thread among several goes through it; compiled by numba.

Every thread calls the same function with its own number and takes its share of the rows. Threads meet inside, at a
counter that each of them raises, and so without Python, whose lock only one of them can have at a time.

A stream comes as a tuple of tuples, see `fast.streams`: what goes in, lists of rows, weights, and room for what comes
out. One that has no rows takes no part.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from policylearn.fast.message_loops import sum_messages, sum_messages_gradient
from policylearn.fast.mlp_loops import (
    STRIP,
    batch_back_between,
    batch_back_end,
    batch_between,
    batch_gradient_sums,
    batch_map,
    layer_backward,
    mlp_forward,
    narrow,
    norm_relu,
)

COMPILED_WITH = {"message_loops": "dc935d48b44f", "mlp_loops": "2f5bd69bef5b"}
"""Digests of the files whose loops are called here. numba compiles a loop anew when its own file changes, so this one
has to change with those; a test says what is to stand here."""

SPINS = 2000
"""So often a thread looks whether the others have come before it lets somebody else have the processor."""


@intrinsic
def raise_counter(typing_context, address):  # type: ignore[no-untyped-def]
    """Add one to the integer at an address, as one step for all threads, and say what it was."""

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        number = ir.IntType(64)
        place = builder.inttoptr(values[0], number.as_pointer())
        return builder.atomic_rmw("add", place, ir.Constant(number, 1), "seq_cst")

    return types.int64(address), generate


@intrinsic
def read_counter(typing_context, address):  # type: ignore[no-untyped-def]
    """The integer at an address as other threads have left it, and all that they wrote before."""

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        place = builder.inttoptr(values[0], ir.IntType(64).as_pointer())
        return builder.load_atomic(place, "seq_cst", 8)

    return types.int64(address), generate


@intrinsic
def call_plain(typing_context, address):  # type: ignore[no-untyped-def]
    """Call the function at an address, which takes nothing."""

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        function = ir.FunctionType(ir.IntType(32), [])
        builder.call(builder.inttoptr(values[0], function.as_pointer()), [])
        return context.get_dummy_value()

    return types.void(address), generate


@njit(nogil=True, cache=True, error_model="numpy")
def meet(team):  # type: ignore[no-untyped-def]
    """Wait until all threads are here, or one has given up.

    A team is this thread's number, how many there are, the address of the counter, behind which stands whether one has
    given up, and that of a function that lets others have the processor (0 if there is none).
    """
    _, threads, counter, rest = team
    if threads == 1:
        return
    goal = (raise_counter(counter) // threads + 1) * threads
    spins = 0
    while read_counter(counter) < goal and read_counter(counter + 8) == 0:
        spins += 1
        if spins > SPINS and rest != 0:
            call_plain(rest)


@njit(nogil=True, cache=True, error_model="numpy")
def share(team, count, width):  # type: ignore[no-untyped-def]
    """From and to which row a thread works; ``width`` neighbouring rows stay together."""
    units = count // width
    return units * team[0] // team[1] * width, units * (team[0] + 1) // team[1] * width


@njit(nogil=True, cache=True, error_model="numpy")
def share_of_work(team, starts):  # type: ignore[no-untyped-def]
    """The same, with as much to do for each thread where row r has the entries from ``starts[r]`` on."""
    first = np.searchsorted(starts[:-1], starts[-1] * team[0] // team[1])
    last = np.searchsorted(starts[:-1], starts[-1] * (team[0] + 1) // team[1])
    return first if team[0] > 0 else 0, last if team[0] + 1 < team[1] else len(starts) - 1


@njit(nogil=True, cache=True, error_model="numpy")
def row_forward(team, gemm, by_row, streams):  # type: ignore[no-untyped-def]
    """A layer whose norms know each row alone, or are fixed: nobody waits before its end.

    Where x has no rows nothing is kept for a gradient.
    """
    for states, lists, halves, room, kept in streams:
        h, p, marks_of, values, scale, residual = states
        own, ptr, sender, kind, _ = lists
        one, two = halves
        x, mapped, mapped_two, out = room
        first, last = share(team, len(own), 1)
        keeps = len(x) > 0
        strip = np.empty((0 if keeps else STRIP, h.shape[1] + p.shape[1]), h.dtype)
        added, rows = np.empty((STRIP if residual else 0, h.shape[1]), h.dtype), np.empty((2, STRIP), h.dtype)
        for start in range(first, last, STRIP):
            end = min(start + STRIP, last)
            heard = x[start:end] if keeps else strip[: end - start]
            more = added[: end - start]
            sum_messages(start, end, h, p, marks_of, own, ptr, sender, kind, values, scale, heard, more)
            if keeps:
                mlp_forward(
                    gemm, heard, one, two, by_row, more, mapped[start:end], mapped_two[start:end], out[start:end],
                    kept[0][:, start:end], kept[1][:, start:end],
                )  # fmt: skip
            else:
                mlp_forward(
                    gemm, heard, one, two, by_row, more, mapped, out[start:end], out[start:end], rows[:, :], rows[:, :]
                )
    meet(team)


@njit(nogil=True, cache=True, error_model="numpy")
def statistics(half, weights_total, seen, width, memory, found, writes):  # type: ignore[no-untyped-def]
    """A half with the statistics of all rows, from each thread's count, first row and sums of differences to it.

    ``memory`` gets mean and inverse deviation in double precision, ``found`` what the norm is to remember, from the
    thread that ``writes``.
    """
    weight, bias, scale, shift, eps = half
    counts, bases, sums = seen
    wide = bases.shape[1]
    channels = wide // width
    lead = 0
    while lead + 1 < len(counts) and counts[lead] == 0:
        lead += 1
    before, factor, tiled = np.empty(wide, bases.dtype), np.empty(wide, bases.dtype), np.empty(wide, bases.dtype)
    if writes:
        found[:] = 0
    for c in range(wide):
        base = np.float64(bases[lead, c])
        offset = 0.0
        for t in range(len(counts)):
            if counts[t] > 0:
                offset += counts[t] * (np.float64(bases[t, c]) - base) + sums[t, 0, c]
        offset /= weights_total
        spread = 0.0
        for t in range(len(counts)):
            if counts[t] > 0:
                own = sums[t, 0, c] / counts[t]
                apart = np.float64(bases[t, c]) - base + own - offset
                spread += sums[t, 1, c] - counts[t] * own * own + counts[t] * apart * apart
        variance = spread / weights_total
        mean, inverse = base + offset, 1 / np.sqrt(variance + np.float64(eps))
        before[c], factor[c], tiled[c] = -mean, inverse * scale[c % channels], shift[c % channels]
        if writes:
            memory[0, c], memory[1, c] = mean, inverse
            found[0, c % channels] += mean / width
            found[1, c % channels] += variance / width
    if writes:
        for c in range(channels):
            found[0, c] += bias[c]
    return weight, before, factor, tiled, eps


@njit(nogil=True, cache=True, error_model="numpy")
def normed(half, width, memory):  # type: ignore[no-untyped-def]
    """The same once more, from what it kept."""
    weight, _, scale, shift, eps = half
    wide = memory.shape[1]
    channels = wide // width
    before, factor, tiled = np.empty(wide, scale.dtype), np.empty(wide, scale.dtype), np.empty(wide, scale.dtype)
    for c in range(wide):
        before[c], tiled[c] = -memory[0, c], shift[c % channels]
        factor[c] = memory[1, c] * scale[c % channels]
    return weight, before, factor, tiled, eps


@njit(nogil=True, cache=True, error_model="numpy")
def batch_forward(team, gemm, streams):  # type: ignore[no-untyped-def]
    """A layer with batch norms; threads meet wherever one needs the statistics of all rows."""
    thread = team[0]
    for states, lists, halves, room, kept in streams:
        h, p, marks_of, values, scale, _ = states
        own, ptr, sender, kind, weights = lists
        x, mapped, mapped_two, out = room
        width, total, one_seen, two_seen, one_kept, two_kept = kept
        first, last = share(team, len(own), width)
        nothing = np.empty((0, h.shape[1]), h.dtype)
        for start in range(first, last, STRIP * width):
            end = min(start + STRIP * width, last)
            sum_messages(start, end, h, p, marks_of, own, ptr, sender, kind, values, scale, x[start:end], nothing)
            batch_map(
                gemm, x[start:end], halves[0][0], narrow(mapped[start:end], width * mapped.shape[1]),
                weights[start // width : end // width], thread, one_seen,
            )  # fmt: skip
    meet(team)
    for _, lists, halves, room, kept in streams:
        own, weights = lists[0], lists[4]
        x, mapped, mapped_two, out = room
        width, total, one_seen, two_seen, one_kept, two_kept = kept
        first, last = share(team, len(own), width)
        if len(own) > 0:
            one = statistics(halves[0], total, one_seen, width, one_kept[0], one_kept[1], thread == 0)
            for start in range(first, last, STRIP * width):
                end = min(start + STRIP * width, last)
                batch_between(
                    gemm, narrow(mapped[start:end], width * mapped.shape[1]), one, halves[1][0],
                    narrow(mapped_two[start:end], width * mapped_two.shape[1]), weights[start // width : end // width],
                    thread, two_seen,
                )  # fmt: skip
    meet(team)
    for states, lists, halves, room, kept in streams:
        h, residual, own = states[0], states[5], lists[0]
        x, mapped, mapped_two, out = room
        width, total, one_seen, two_seen, one_kept, two_kept = kept
        first, last = share(team, len(own), width)
        if len(own) > 0:
            two = statistics(halves[1], total, two_seen, width, two_kept[0], two_kept[1], thread == 0)
            for start in range(first, last, STRIP * width):
                end = min(start + STRIP * width, last)
                behind = narrow(mapped_two[start:end], width * mapped_two.shape[1])
                new = narrow(out[start:end], width * out.shape[1])
                norm_relu(behind, two[1], two[2], two[3], two[4], False, behind[:0], new, behind[0], behind[0])
                if residual:
                    for row in range(start, end):
                        for c in range(h.shape[1]):
                            out[row, c] += h[own[row], c]
    meet(team)


@njit(nogil=True, cache=True, error_model="numpy")
def sums_back(team, streams):  # type: ignore[no-untyped-def]
    """The gradients of the rows that went in; those of the marks' rows need those of the features first."""
    for number in range(2):
        states, lists, back, into = streams[number]
        h, p, marks_of, values, scale, residual = states
        hearer_ptr, hearer, message, kind, more_ptr, more_row = lists
        gradient, to_x, more, arrived = back
        to_h, to_p, to_values, to_scale = into
        first, last = share_of_work(team, hearer_ptr)
        sum_messages_gradient(
            first, last, to_x, gradient if residual else gradient[:0], h, p, marks_of, hearer_ptr, hearer, message,
            kind, values, scale, more, more_ptr, more_row, to_h, to_p, to_values[team[0]], to_scale[team[0]],
        )  # fmt: skip
        ahead = len(to_h) - len(arrived)  # rows that are known from elsewhere have no such gradient
        if len(arrived) > 0:
            for row in range(max(first, ahead), last):
                for c in range(to_h.shape[1]):
                    to_h[row, c] += arrived[row - ahead, c]
        meet(team)


@njit(nogil=True, cache=True, error_model="numpy")
def add_up(parts):  # type: ignore[no-untyped-def]
    """Add what all threads have to what the first one has."""
    flat = parts.reshape(len(parts), parts.size // len(parts))
    for t in range(1, len(flat)):
        for i in range(flat.shape[1]):
            flat[0, i] += flat[t, i]


@njit(nogil=True, cache=True, error_model="numpy")
def row_backward(team, gemm, streams, sources):  # type: ignore[no-untyped-def]
    """The gradient of `row_forward` with layer norms; that of each weight is with the first thread's."""
    thread = team[0]
    for gradient, halves, room, kept, to_x, to_weights, sums, _ in streams:
        x, mapped, mapped_two, _ = room
        first, last = share(team, len(gradient), 1)
        for start in range(first, last, STRIP):
            end = min(start + STRIP, last)
            layer_backward(
                gemm, gradient[start:end], x[start:end], halves[0], halves[1], mapped[start:end], mapped_two[start:end],
                kept[0][:, start:end], kept[1][:, start:end], to_x[start:end], to_weights[0][thread],
                to_weights[1][thread], sums[0][thread], sums[1][thread],
            )  # fmt: skip
    meet(team)
    if thread == team[1] - 1:
        for _, _, _, _, _, to_weights, sums, vectors in streams:
            for half in range(2):
                add_up(to_weights[half])
                add_up(sums[half])
                vectors[half][:] = sums[half][0]
    sums_back(team, sources)


@njit(nogil=True, cache=True, error_model="numpy")
def slopes(sums, total, memory, dtype):  # type: ignore[no-untyped-def]
    """What a batch norm takes off the gradient of each row: an offset, and a slope by the row."""
    wide = sums.shape[2]
    offset, slope = np.empty(wide, dtype), np.empty(wide, dtype)
    for c in range(wide):
        some, products = 0.0, 0.0
        for t in range(len(sums)):
            some += sums[t, 0, c]
            products += sums[t, 1, c]
        offset[c] = some / total
        slope[c] = products / total * memory[1, c] * memory[1, c]
    return offset, slope


@njit(nogil=True, cache=True, error_model="numpy")
def batch_vectors(sums, memory, vectors):  # type: ignore[no-untyped-def]
    """Gradients of bias (exactly zero), scale and shift."""
    channels = vectors.shape[1]
    own = np.zeros((2, channels))
    for t in range(len(sums)):
        for c in range(sums.shape[2]):
            own[0, c % channels] += sums[t, 1, c] * memory[1, c]
            own[1, c % channels] += sums[t, 0, c]
    vectors[0] = 0
    vectors[1:] = own


@njit(nogil=True, cache=True, error_model="numpy")
def batch_backward(team, gemm, streams, sources):  # type: ignore[no-untyped-def]
    """The gradient of `batch_forward`; that of each weight is with the first thread's."""
    thread = team[0]
    for phase in range(3):
        for gradient, halves, room, weights, kept, to_x, to_hidden, to_weights, sums, _ in streams:
            x, mapped, mapped_two, _ = room
            width, total, _, _, one_kept, two_kept = kept
            first, last = share(team, len(gradient), width)
            if len(gradient) == 0:
                continue
            one, two = normed(halves[0], width, one_kept[0]), normed(halves[1], width, two_kept[0])
            inner, outer = width * mapped.shape[1], width * mapped_two.shape[1]
            if phase == 1:
                offset, slope = slopes(sums[1], total, two_kept[0], x.dtype)
            else:
                offset, slope = slopes(sums[0], total, one_kept[0], x.dtype)
            for start in range(first, last, STRIP * width):
                end = min(start + STRIP * width, last)
                counted = weights[start // width : end // width]
                coming, behind = narrow(gradient[start:end], outer), narrow(mapped_two[start:end], outer)
                before, into = narrow(mapped[start:end], inner), narrow(to_hidden[start:end], inner)
                if phase == 0:
                    batch_gradient_sums(coming, behind, two, sums[1][thread])
                elif phase == 1:
                    batch_back_between(
                        gemm, coming, before, behind, one, two, counted, offset, slope, into, to_weights[1][thread],
                        sums[0][thread],
                    )  # fmt: skip
                else:
                    batch_back_end(
                        gemm, into, x[start:end], before, one, counted, offset, slope, to_x[start:end],
                        to_weights[0][thread],
                    )  # fmt: skip
        meet(team)
    if thread == team[1] - 1:
        for gradient, _, _, _, kept, _, _, to_weights, sums, vectors in streams:
            if len(gradient) > 0:
                add_up(to_weights[0])
                add_up(to_weights[1])
                batch_vectors(sums[0], kept[4][0], vectors[0])
                batch_vectors(sums[1], kept[5][0], vectors[1])
    sums_back(team, sources)
