"""Sums of messages along lists of rows, compiled by numba.

Rows are summed up in small arrays that a function makes itself: the compiler knows that nothing else points to these,
and only then turns the loops over channels into vector instructions. Each thread writes rows of its own, so no addition
is atomic and results are the same every time.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, error_model="numpy")
def sum_messages(  # type: ignore[no-untyped-def]
    first, last, h, p, marks_of, own, ptr, sender, kind, values, scale, out, kept
):
    """``out = scale * [h, p] + sum of relu([h, p] + values)`` over rows first..last, whose sums ``out`` holds.

    Row r was row ``own[r]`` and hears the rows ``sender`` from ``ptr[r]`` on; row i has the marks ``p[marks_of[i]]``.
    Without values (no columns) the sum is that of ``[h, p]`` itself. ``kept`` gets the features that came in, which a
    residual adds, where it has room.
    """
    channels, marks = h.shape[1], p.shape[1]
    zero = h.dtype.type(0)
    plain, keeps = values.shape[1] == 0, len(kept) > 0
    mine, marked = np.empty(channels, h.dtype), np.empty(marks, h.dtype)
    for row in range(first, last):
        at = own[row]
        for c in range(channels):
            mine[c] = scale * h[at, c]
        if keeps:
            for c in range(channels):
                kept[row - first, c] = h[at, c]
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
            out[row - first, c] = mine[c]
        for c in range(marks):
            out[row - first, channels + c] = marked[c]


@njit(nogil=True, cache=True, error_model="numpy")
def list_hearers(inside, own, ptr, sender):  # type: ignore[no-untyped-def]
    """Which rows hear each of the rows that go in.

    Returns where the hearers of each row start, ``(inside + 1,)``, the hearers, and the message by which each hears; -1
    stands for a row's own state.
    """
    starts = np.zeros(inside + 1, np.int64)
    for row in range(len(own)):
        starts[own[row] + 1] += 1
    for m in range(len(sender)):
        starts[sender[m] + 1] += 1
    for i in range(inside):
        starts[i + 1] += starts[i]
    place = starts[:-1].copy()
    hearer, message = np.empty(starts[-1], np.int64), np.empty(starts[-1], np.int64)
    for row in range(len(own)):
        at = place[own[row]]
        hearer[at], message[at] = row, -1
        place[own[row]] += 1
        for m in range(ptr[row], ptr[row + 1]):
            at = place[sender[m]]
            hearer[at], message[at] = row, m
            place[sender[m]] += 1
    return starts, hearer, message


@njit(nogil=True, cache=True, error_model="numpy")
def sum_messages_gradient(  # type: ignore[no-untyped-def]
    first, last, gradient, residual, h, p, marks_of, hearer_ptr, hearer, message, kind, values, scale,
    more, more_ptr, more_row, to_h, to_p, to_values, to_scale,
):  # fmt: skip
    """The gradient of `sum_messages`, with ``residual`` added to that of h where it has rows.

    Runs over rows first..last that went in and over those that hear them, so that a row's gradient is written by one
    thread; ``to_p`` gets that of the marks of each of these rows. The rows ``more_row`` of ``more`` are added to that
    of h where there are any. ``to_values`` is added to; so is ``to_scale``, products whose sum is the scale's gradient.
    """
    channels, marks = h.shape[1], p.shape[1]
    zero = h.dtype.type(0)
    plain = values.shape[1] == 0
    added, further = len(residual) > 0, len(more_ptr) > 0
    own, own_marks = np.empty(channels, h.dtype), np.empty(marks, h.dtype)
    mine, marked = np.empty(channels, h.dtype), np.empty(marks, h.dtype)
    passed, passed_marks = np.empty(channels, h.dtype), np.empty(marks, h.dtype)
    scaled, mark_scaled = np.zeros(channels, h.dtype), np.zeros(marks, h.dtype)
    for row in range(first, last):
        for c in range(channels):
            own[c] = h[row, c]
            mine[c] = zero
        if marks > 0:
            mark = marks_of[row]
            for c in range(marks):
                own_marks[c] = p[mark, c]
                marked[c] = zero
        for e in range(hearer_ptr[row], hearer_ptr[row + 1]):
            theirs, m = hearer[e], message[e]
            if m < 0:
                for c in range(channels):
                    g = gradient[theirs, c]
                    mine[c] += scale * g
                    scaled[c] += g * own[c]
                if added:
                    for c in range(channels):
                        mine[c] += residual[theirs, c]
                for c in range(marks):
                    g = gradient[theirs, channels + c]
                    marked[c] += scale * g
                    mark_scaled[c] += g * own_marks[c]
            elif plain:
                for c in range(channels):
                    mine[c] += gradient[theirs, c]
                for c in range(marks):
                    marked[c] += gradient[theirs, channels + c]
            else:
                k = kind[m]
                for c in range(channels):
                    passed[c] = gradient[theirs, c] if own[c] + values[k, c] > zero else zero
                    mine[c] += passed[c]
                for c in range(marks):
                    g = gradient[theirs, channels + c] if own_marks[c] + values[k, channels + c] > zero else zero
                    passed_marks[c] = g
                    marked[c] += g
                for c in range(channels):
                    to_values[k, c] += passed[c]
                for c in range(marks):
                    to_values[k, channels + c] += passed_marks[c]
        if further:
            for e in range(more_ptr[row], more_ptr[row + 1]):
                for c in range(channels):
                    mine[c] += more[more_row[e], c]
        for c in range(channels):
            to_h[row, c] = mine[c]
        for c in range(marks):
            to_p[row, c] = marked[c]
    for c in range(channels):
        to_scale[c] += scaled[c]
    for c in range(marks):
        to_scale[channels + c] += mark_scaled[c]


@njit(nogil=True, cache=True, error_model="numpy")
def spread_rows(h, p, at, marks_at, out):  # type: ignore[no-untyped-def]
    """``out = h[at] + p[marks_at]``; p may be without columns."""
    for row in range(len(at)):
        i = at[row]
        for c in range(h.shape[1]):
            out[row, c] = h[i, c]
        if p.shape[1] > 0:
            i = marks_at[row]
            for c in range(h.shape[1]):
                out[row, c] += p[i, c]


@njit(nogil=True, cache=True, error_model="numpy")
def gather_rows(gradient, at, total):  # type: ignore[no-untyped-def]
    """Add each row of the gradient to the row ``at`` that it came from."""
    for row in range(len(at)):
        i = at[row]
        for c in range(gradient.shape[1]):
            total[i, c] += gradient[row, c]
