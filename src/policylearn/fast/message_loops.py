"""Sums of messages along edges for both streams in one pass, compiled by numba.

A layer of one stream is one whose marks have no channels. Rows are summed up in small arrays that a function makes
itself: the compiler knows that nothing else points to these, and only then turns the loops over channels into vector
instructions. Each thread writes rows of its own, so no addition is atomic and results are the same every time.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, error_model="numpy")
def sum_messages(  # type: ignore[no-untyped-def]
    first, last, h, p, unmarked_h, unmarked_p, node_of, row_ptr, message_ptr, sender, target_ptr, source, kind, values,
    scale, mark_scale, out, mark_out, own,
):  # fmt: skip
    """``out = scale * [h, p] + sum of relu([h, p] + values)`` and ``mark_out = mark_scale * p + sum of p``.

    Runs over rows first..last, whose sums ``out`` and ``mark_out`` hold. Without values (no columns) the sum is that of
    ``[h, p]`` itself.

    Rows of whole copies hear the rows of the same copy, found by ``row_ptr``. Rows of cones hear those that ``sender``
    names from ``message_ptr`` on; for whole copies that is empty. Rows of a cone that are not in h and p yet, and nodes
    outside of it, are as in the unmarked graph. ``own`` then gets the features that came in, which the residual adds.
    """
    channels, marks = h.shape[1], p.shape[1]
    zero = h.dtype.type(0)
    plain = values.shape[1] == 0
    inside = len(h)
    cones = len(message_ptr) > 0
    mine, marked, alone = np.empty(channels, h.dtype), np.empty(marks, h.dtype), np.empty(marks, h.dtype)
    theirs, their_marks = h, p
    if cones:  # they come from two places, so each is copied to one
        theirs, their_marks = np.empty((1, channels), h.dtype), np.empty((1, marks), h.dtype)
    for row in range(first, last):
        v = node_of[row]
        begin = target_ptr[v]
        offset = message_ptr[row] - begin if cones else row - row_ptr[v]
        for m in range(begin - 1, target_ptr[v + 1]):  # ahead of its messages, the row itself
            node, at = v, row
            if m >= begin:
                node = source[m]
                at = sender[offset + m] if cones else row_ptr[node] + offset
            if cones:
                if 0 <= at < inside:
                    for c in range(channels):
                        theirs[0, c] = h[at, c]
                    for c in range(marks):
                        their_marks[0, c] = p[at, c]
                else:
                    for c in range(channels):
                        theirs[0, c] = unmarked_h[node, c]
                    for c in range(marks):
                        their_marks[0, c] = unmarked_p[node, c]
                at = 0
            if m < begin:
                for c in range(channels):
                    mine[c] = scale * theirs[at, c]
                for c in range(marks):
                    marked[c] = scale * their_marks[at, c]
                    alone[c] = mark_scale * their_marks[at, c]
                if cones:
                    for c in range(channels):
                        own[row - first, c] = theirs[0, c]
            elif plain:
                for c in range(channels):
                    mine[c] += theirs[at, c]
                for c in range(marks):
                    marked[c] += their_marks[at, c]
                    alone[c] += their_marks[at, c]
            else:
                k = kind[m]
                for c in range(channels):
                    value = theirs[at, c] + values[k, c]
                    mine[c] += zero if value <= zero else value
                for c in range(marks):
                    q = their_marks[at, c]
                    value = q + values[k, channels + c]
                    marked[c] += zero if value <= zero else value
                    alone[c] += q
        for c in range(channels):
            out[row - first, c] = mine[c]
        for c in range(marks):
            out[row - first, channels + c] = marked[c]
            mark_out[row - first, c] = alone[c]


@njit(nogil=True, cache=True, error_model="numpy")
def list_hearers(  # type: ignore[no-untyped-def]
    rows, split, node_of, row_ptr, message_ptr, sender, target_ptr, source
):
    """Which rows hear each of the rows that go in, where rows are addressed as in `sum_messages`.

    The unmarked graph's rows start at ``split``; at 0, they are the first of all.

    Returns where the hearers of each row start, ``(rows + 1,)``, the hearers, and the message by which each hears; -1
    stands for a row's own state.
    """
    cones = len(message_ptr) > 0
    inside = split if split > 0 else rows
    ptr, place = np.zeros(rows + 1, np.int64), np.zeros(rows, np.int64)
    hearer, message = np.empty(0, np.int64), np.empty(0, np.int64)
    for fill in (False, True):  # first they are counted
        for row in range(len(node_of)):
            v = node_of[row]
            begin = target_ptr[v]
            offset = message_ptr[row] - begin if cones else row - row_ptr[v]
            for m in range(begin - 1, target_ptr[v + 1]):
                node, at = v, row
                if m >= begin:
                    node = source[m]
                    at = sender[offset + m] if cones else row_ptr[node] + offset
                if at < 0 or at >= inside:
                    at = split + node
                if fill:
                    hearer[place[at]] = row
                    message[place[at]] = m if m >= begin else -1
                    place[at] += 1
                else:
                    ptr[at + 1] += 1
        if not fill:
            ptr = np.cumsum(ptr)
            place[:] = ptr[:-1]
            hearer, message = np.empty(ptr[-1], np.int64), np.empty(ptr[-1], np.int64)
    return ptr, hearer, message


@njit(nogil=True, cache=True, error_model="numpy")
def sum_messages_gradient(  # type: ignore[no-untyped-def]
    first, last, gradient, mark_gradient, residual, h, p, hearer_ptr, hearer, message, kind, values, scale, mark_scale,
    to_h, to_p, to_values, to_scales,
):  # fmt: skip
    """The gradient of `sum_messages`, with ``residual`` added to that of h where it has rows.

    Runs over rows first..last that went in and over those that hear them, so that a row's gradient is written by one
    thread. ``to_values`` is added to; ``to_scales`` gets, per channel, products whose sums are the scales' gradients.
    """
    channels, marks = h.shape[1], p.shape[1]
    zero = h.dtype.type(0)
    plain = values.shape[1] == 0
    added = len(residual) > 0
    own, own_marks = np.empty(channels, h.dtype), np.empty(marks, h.dtype)
    mine, marked = np.empty(channels, h.dtype), np.empty(marks, h.dtype)
    passed, passed_marks = np.empty(channels, h.dtype), np.empty(marks, h.dtype)
    scaled, mark_scaled = np.zeros(channels, h.dtype), np.zeros(marks, h.dtype)
    alone_scaled = np.zeros(marks, h.dtype)
    for row in range(first, last):
        for c in range(channels):
            own[c] = h[row, c]
            mine[c] = zero
        for c in range(marks):
            own_marks[c] = p[row, c]
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
                    g, a = gradient[theirs, channels + c], mark_gradient[theirs, c]
                    marked[c] += scale * g + mark_scale * a
                    mark_scaled[c] += g * own_marks[c]
                    alone_scaled[c] += a * own_marks[c]
            elif plain:
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
            to_h[row, c] = mine[c]
        for c in range(marks):
            to_p[row, c] = marked[c]
    for c in range(channels):
        to_scales[0, c] += scaled[c]
    for c in range(marks):
        to_scales[0, c] += mark_scaled[c]
        to_scales[1, c] += alone_scaled[c]
