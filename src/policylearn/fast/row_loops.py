"""Loops that find the rows which marks can reach, and rows which must come out alike, compiled by numba.

Rows are told apart exactly: a hash only says where to look, and what lies there is compared entry by entry.
"""

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
            node_of, copy_of = np.empty(total, np.int64), np.empty(total, np.int64)
            message_ptr, sender = np.empty(total, np.int64), np.empty(cursor, np.int64)
            cursor = 0
    return ends, node_of, copy_of, message_ptr, sender


@njit(nogil=True, cache=True, error_model="numpy")
def table_for(count):  # type: ignore[no-untyped-def]
    """An empty table that is at most half full with so many entries."""
    size = 16
    while size < 2 * count:
        size *= 2
    return np.full(size, -1)


@njit(nogil=True, cache=True, error_model="numpy")
def update_hash(number, entry):  # type: ignore[no-untyped-def]
    """The hash after one more entry."""
    number = (number ^ entry) * -7046029254386353131
    return number ^ (number >> 29)


@njit(nogil=True, cache=True, error_model="numpy")
def sort_first(entries, count):  # type: ignore[no-untyped-def]
    """Sort the first entries in place (shell sort)."""
    gap = 1
    while 3 * gap + 1 < count:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            entry, place = entries[i], i
            while place >= gap and entries[place - gap] > entry:
                entries[place] = entries[place - gap]
                place -= gap
            entries[place] = entry
        gap //= 3


@njit(nogil=True, cache=True, error_model="numpy")
def number_rows(keys):  # type: ignore[no-untyped-def]
    """The class of each row of integers, numbered as they first come, and the first row of each class."""
    rows, width = keys.shape
    table, classes, firsts = table_for(rows), np.empty(rows, np.int64), np.empty(rows, np.int64)
    found = 0
    for row in range(rows):
        number = width
        for i in range(width):
            number = update_hash(number, keys[row, i])
        slot = number & (len(table) - 1)
        while True:
            known = table[slot]
            if known < 0:
                table[slot] = classes[row] = found
                firsts[found] = row
                found += 1
                break
            alike = True
            for i in range(width):
                alike = alike and keys[firsts[known], i] == keys[row, i]
            if alike:
                classes[row] = known
                break
            slot = (slot + 1) & (len(table) - 1)
    return classes, firsts[:found].copy()


@njit(nogil=True, cache=True, error_model="numpy")
def merge_rows(  # type: ignore[no-untyped-def]
    node_of, message_ptr, sender, target_ptr, source, kind, bits, before, unmarked, first
):
    """One layer: rows whose own class and whose messages' classes and kinds are the same are one class from now on.

    Row r is that of ``node_of[r]`` in some marked copy, and hears rows that ``sender`` has from ``message_ptr[r]`` on.
    Those that ``before`` has no class of, and messages from -1, are as in the unmarked graph, whose nodes have the
    classes ``unmarked``. Where ``message_ptr`` is empty, rows are those of the unmarked graph itself. Each ``kind`` of
    a message has at most so many ``bits``. New classes are numbered from ``first`` on.

    Returns the class of each row, and for each class the one that it was before, where its messages start, the class
    that each message comes from and its kind.
    """
    rows, cones, inside = len(node_of), len(message_ptr) > 0, len(before)
    room, most = 0, 0
    for row in range(rows):
        degree = target_ptr[node_of[row] + 1] - target_ptr[node_of[row]]
        room += degree
        most = max(most, degree)
    classes, own, ptr = np.empty(rows, np.int64), np.empty(rows, np.int64), np.zeros(rows + 1, np.int64)
    heard, hashes = np.empty(room, np.int64), np.empty(rows, np.int64)  # class and kind of a message in one number
    table, entries = table_for(rows), np.empty(most, np.int64)
    found, at = 0, 0
    for row in range(rows):
        node = node_of[row]
        begin = target_ptr[node]
        degree = target_ptr[node + 1] - begin
        mine = before[row] if cones and row < inside else unmarked[node]
        for i in range(degree):
            m = begin + i
            theirs = sender[message_ptr[row] + i] if cones else -1
            entries[i] = ((before[theirs] if 0 <= theirs < inside else unmarked[source[m]]) << bits) | kind[m]
        sort_first(entries, degree)
        number = update_hash(degree, mine)
        for i in range(degree):
            number = update_hash(number, entries[i])
        slot = number & (len(table) - 1)
        known = table[slot]
        while known >= 0:
            alike = hashes[known] == number and own[known] == mine and ptr[known + 1] - ptr[known] == degree
            if alike:
                for i in range(degree):
                    alike = alike and heard[ptr[known] + i] == entries[i]
            if alike:
                break
            slot = (slot + 1) & (len(table) - 1)
            known = table[slot]
        if known < 0:
            known = table[slot] = found
            own[known], hashes[known] = mine, number
            for i in range(degree):
                heard[at + i] = entries[i]
            at += degree
            ptr[known + 1] = at
            found += 1
        classes[row] = first + known
    kinds = heard[:at] & ((1 << bits) - 1)
    return classes, own[:found].copy(), ptr[: found + 1].copy(), heard[:at] >> bits, kinds
