"""Loops that find rows which must come out alike, compiled by numba.

Rows are told apart exactly: a hash only says where to look, and what lies there is compared entry by entry.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, error_model="numpy")
def table_for(count):  # type: ignore[no-untyped-def]
    """An empty table that is at most half full with so many entries."""
    size = 16
    while size < 2 * count:
        size *= 2
    return np.full(size, -1)


@njit(nogil=True, cache=True, error_model="numpy")
def stirred(number, entry):  # type: ignore[no-untyped-def]
    """A hash with one more entry."""
    number = (number ^ entry) * -7046029254386353131
    return number ^ (number >> 29)


@njit(nogil=True, cache=True, error_model="numpy")
def sort_first(entries, count):  # type: ignore[no-untyped-def]
    """Sort the first entries in place (Shell's way: few are simply moved to their places)."""
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
            number = stirred(number, keys[row, i])
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
    node_of, message_ptr, sender, target_ptr, source, kind, kinds, before, unmarked, first, merge
):
    """One layer: rows whose own class and whose messages' classes and kinds are the same are one class from now on.

    Row r is that of ``node_of[r]`` in some marked copy, and hears rows that ``sender`` has from ``message_ptr[r]`` on.
    Those that ``before`` has no class of, and messages from -1, are as in the unmarked graph, whose nodes have the
    classes ``unmarked``. Where ``message_ptr`` is empty, rows are those of the unmarked graph itself. A message has a
    ``kind`` less than ``kinds``. New classes are numbered from ``first`` on. Without ``merge`` each row is one.

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
    heard, kind_of, hashes = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(rows, np.int64)
    table, entries = table_for(rows if merge else 0), np.empty(most, np.int64)
    found, at = 0, 0
    for row in range(rows):
        node = node_of[row]
        begin = target_ptr[node]
        degree = target_ptr[node + 1] - begin
        mine = before[row] if cones and row < inside else unmarked[node]
        for i in range(degree):
            m = begin + i
            theirs = sender[message_ptr[row] + i] if cones else -1
            entries[i] = (before[theirs] if 0 <= theirs < inside else unmarked[source[m]]) * kinds + kind[m]
        known, number, slot = -1, mine, 0
        if merge:
            number = stirred(degree, mine)
            sort_first(entries, degree)
            for i in range(degree):
                number = stirred(number, entries[i])
            slot = number & (len(table) - 1)
            while table[slot] >= 0:
                one = table[slot]
                alike = hashes[one] == number and own[one] == mine and ptr[one + 1] - ptr[one] == degree
                if alike:
                    for i in range(degree):
                        alike = alike and heard[ptr[one] + i] * kinds + kind_of[ptr[one] + i] == entries[i]
                if alike:
                    known = one
                    break
                slot = (slot + 1) & (len(table) - 1)
        if known < 0:
            known = found
            if merge:
                table[slot] = known
            own[known], hashes[known] = mine, number
            for i in range(degree):
                heard[at + i], kind_of[at + i] = entries[i] // kinds, entries[i] % kinds
            at += degree
            ptr[known + 1] = at
            found += 1
        classes[row] = first + known
    return classes, own[:found].copy(), ptr[: found + 1].copy(), heard[:at].copy(), kind_of[:at].copy()


@njit(nogil=True, cache=True, error_model="numpy")
def list_copies(row_ptr, target_ptr, source):  # type: ignore[no-untyped-def]
    """Whole copies over one adjacency, the copies of a node side by side: each row hears rows of the same copy.

    Returns where the messages of each row start, the row that each comes from, and which of the adjacency it is.
    """
    rows = row_ptr[-1]
    ptr = np.zeros(rows + 1, np.int64)
    for node in range(len(row_ptr) - 1):
        for row in range(row_ptr[node], row_ptr[node + 1]):
            ptr[row + 1] = ptr[row] + target_ptr[node + 1] - target_ptr[node]
    sender, message = np.empty(ptr[-1], np.int64), np.empty(ptr[-1], np.int64)
    for node in range(len(row_ptr) - 1):
        for row in range(row_ptr[node], row_ptr[node + 1]):
            for i in range(target_ptr[node + 1] - target_ptr[node]):
                m = target_ptr[node] + i
                sender[ptr[row] + i] = row_ptr[source[m]] + row - row_ptr[node]
                message[ptr[row] + i] = m
    return ptr, sender, message
