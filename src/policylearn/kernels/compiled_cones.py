"""Loops over the cones of marks, compiled by numba."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, error_model="numpy")
def cone_sizes(roots, depth, source_ptr, outgoing_targets, target_ptr, seen, queue):  # type: ignore[no-untyped-def]
    """How many rows lie at each distance from the roots, and how many messages reach rows in all."""
    found = np.zeros(depth + 1, np.int64)
    messages = 0
    for copy in range(len(roots)):
        queue[0] = roots[copy]
        seen[roots[copy]] = copy
        start, end = 0, 1
        for distance in range(depth + 1):
            found[distance] += end - start
            last = end
            for place in range(start, last):
                node = queue[place]
                messages += target_ptr[node + 1] - target_ptr[node]
                if distance < depth:
                    for m in range(source_ptr[node], source_ptr[node + 1]):
                        other = outgoing_targets[m]
                        if seen[other] != copy:
                            seen[other] = copy
                            queue[end] = other
                            end += 1
            start = last
    return found, messages


@njit(nogil=True, cache=True, error_model="numpy")
def fill_cones(  # type: ignore[no-untyped-def]
    roots,
    depth,
    source_ptr,
    outgoing_targets,
    target_ptr,
    source,
    seen,
    queue,
    row_at,
    free,
    node_of,
    copy_of,
    first,
    heard,
):
    """Number the rows by distance and write down, for each, the rows that it hears; -1 where that is unmarked.

    ``free`` holds where the rows of each distance start.
    """
    cursor = 0
    for copy in range(len(roots)):
        stamp = len(roots) + copy  # other numbers than those of `cone_sizes`
        queue[0] = roots[copy]
        seen[roots[copy]] = stamp
        start, end = 0, 1
        for distance in range(depth + 1):
            last = end
            for place in range(start, last):
                node = queue[place]
                row = free[distance]
                free[distance] += 1
                row_at[node] = row
                node_of[row] = node
                copy_of[row] = copy
                if distance < depth:
                    for m in range(source_ptr[node], source_ptr[node + 1]):
                        other = outgoing_targets[m]
                        if seen[other] != stamp:
                            seen[other] = stamp
                            queue[end] = other
                            end += 1
            start = last
        for place in range(end):
            node = queue[place]
            first[row_at[node]] = cursor
            for m in range(target_ptr[node], target_ptr[node + 1]):
                other = source[m]
                heard[cursor] = row_at[other] if seen[other] == stamp else -1
                cursor += 1


@njit(nogil=True, cache=True, error_model="numpy")
def cone_sums(  # type: ignore[no-untyped-def]
    begin, stop, h, p, still_h, still_p, node_of, first, heard, ptr, source, kind, values, scale, mark_scale,
    out, mark_out, own,
):  # fmt: skip
    """What `stream_sums` gives for rows begin..stop of a cone, and in ``own`` the features that came in.

    Rows of the cone that are not in h and p yet, and nodes outside of it, are as in the unmarked graph.
    """
    channels, marks = h.shape[1], p.shape[1]
    inside = len(h)
    zero = h.dtype.type(0)
    plain = values.shape[1] == 0
    mine, marked, alone = np.empty(channels, h.dtype), np.empty(marks, h.dtype), np.empty(marks, h.dtype)
    theirs, their_marks = np.empty(channels, h.dtype), np.empty(marks, h.dtype)
    for row in range(begin, stop):
        v = node_of[row]
        if row < inside:
            for c in range(channels):
                theirs[c] = h[row, c]
            for c in range(marks):
                marked[c] = scale * p[row, c]
                alone[c] = mark_scale * p[row, c]
        else:
            for c in range(channels):
                theirs[c] = still_h[v, c]
            for c in range(marks):
                marked[c] = scale * still_p[v, c]
                alone[c] = mark_scale * still_p[v, c]
        for c in range(channels):
            own[row - begin, c] = theirs[c]
            mine[c] = scale * theirs[c]
        cursor = first[row]
        for m in range(ptr[v], ptr[v + 1]):
            other = heard[cursor]
            cursor += 1
            if 0 <= other < inside:
                for c in range(channels):
                    theirs[c] = h[other, c]
                for c in range(marks):
                    their_marks[c] = p[other, c]
            else:
                for c in range(channels):
                    theirs[c] = still_h[source[m], c]
                for c in range(marks):
                    their_marks[c] = still_p[source[m], c]
            if plain:
                for c in range(channels):
                    mine[c] += theirs[c]
                for c in range(marks):
                    marked[c] += their_marks[c]
                    alone[c] += their_marks[c]
            else:
                k = kind[m]
                for c in range(channels):
                    value = theirs[c] + values[k, c]
                    mine[c] += zero if value <= zero else value
                for c in range(marks):
                    value = their_marks[c] + values[k, channels + c]
                    marked[c] += zero if value <= zero else value
                    alone[c] += their_marks[c]
        for c in range(channels):
            out[row - begin, c] = mine[c]
        for c in range(marks):
            out[row - begin, channels + c] = marked[c]
            mark_out[row - begin, c] = alone[c]


@njit(nogil=True, cache=True, error_model="numpy")
def add_changes(total, owner, rows, node_of, copy_of, times, still):  # type: ignore[no-untyped-def]
    """Add to the total of each row's owner what it differs from the unmarked graph, as often as its copy counts."""
    width = rows.shape[1]
    for row in range(len(rows)):
        v = node_of[row]
        factor = times[copy_of[row]]
        for c in range(width):
            total[owner[v], c] += factor * (rows[row, c] - still[v, c])


@njit(nogil=True, cache=True, error_model="numpy")
def lower(total, rows, node_of):  # type: ignore[no-untyped-def]
    """Lower each node's total to its rows where these are less."""
    width = rows.shape[1]
    for row in range(len(rows)):
        v = node_of[row]
        for c in range(width):
            if not rows[row, c] >= total[v, c]:
                total[v, c] = rows[row, c]
