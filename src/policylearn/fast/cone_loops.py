"""Loops over the cones of marks, compiled by numba."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, error_model="numpy")
def grow_cones(roots, depth, source_ptr, outgoing_targets, target_ptr, source):  # type: ignore[no-untyped-def]
    """The rows that marks at the roots can reach, numbered by distance, and for each the rows that it hears.

    Each copy may have several roots, ``(copies, k)``, of which negative ones do not count.

    Returns ``ends``, ``node_of``, ``copy_of``, ``message_ptr`` and ``sender``, see `Cones`.
    """
    nodes, copies = len(source_ptr) - 1, len(roots)
    seen, queue, row_at = np.full(nodes, -1), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    found, place, ends = np.zeros(depth + 1, np.int64), np.zeros(depth + 1, np.int64), np.zeros(depth + 1, np.int64)
    node_of, copy_of, message_ptr = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    sender = np.empty(0, np.int64)
    cursor = 0
    for fill in (False, True):  # first the rows are counted
        for copy in range(copies):
            stamp = copies + copy if fill else copy
            start, end = 0, 0
            for root in roots[copy]:
                if root >= 0 and seen[root] != stamp:
                    seen[root] = stamp
                    queue[end] = root
                    end += 1
            for distance in range(depth + 1):
                last = end
                for i in range(start, last):
                    node = queue[i]
                    if fill:
                        row = place[distance]
                        place[distance] += 1
                        row_at[node], node_of[row], copy_of[row] = row, node, copy
                    if distance < depth:
                        for m in range(source_ptr[node], source_ptr[node + 1]):
                            other = outgoing_targets[m]
                            if seen[other] != stamp:
                                seen[other] = stamp
                                queue[end] = other
                                end += 1
                found[distance] += last - start
                start = last
            for i in range(end):
                node = queue[i]
                if fill:
                    message_ptr[row_at[node]] = cursor
                    for m in range(target_ptr[node], target_ptr[node + 1]):
                        sender[cursor + m - target_ptr[node]] = row_at[source[m]] if seen[source[m]] == stamp else -1
                cursor += target_ptr[node + 1] - target_ptr[node]
        if not fill:
            total = 0
            for distance in range(depth + 1):
                place[distance] = total
                total += found[distance]
                ends[distance] = total
            node_of, copy_of, message_ptr = (
                np.empty(total, np.int64),
                np.empty(total, np.int64),
                np.empty(total, np.int64),
            )
            sender = np.empty(cursor, np.int64)
            cursor = 0
    return ends, node_of, copy_of, message_ptr, sender


@njit(nogil=True, cache=True, error_model="numpy")
def add_changes(total, owner, rows, node_of, copy_of, times, unmarked):  # type: ignore[no-untyped-def]
    """Add to the total of each row's owner what it differs from the unmarked graph, once per time its copy counts."""
    width = rows.shape[1]
    for row in range(len(rows)):
        v = node_of[row]
        factor = times[copy_of[row]]
        for c in range(width):
            total[owner[v], c] += factor * (rows[row, c] - unmarked[v, c])
