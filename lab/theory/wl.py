"""The Weisfeiler-Leman test (1-WL, colour refinement) on graphs with marked nodes.

Colours are refined jointly: two nodes get the same colour number if and only if the test sees them as alike, whatever
graphs they are in. Sizes of colour classes alone would separate too little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from policylearn.data import DataError, PackedGraphs, take_graphs
from policylearn.data.packed import Array, as_table

UNMARKED = -1
"""Stands for a copy without a mark where the marked node of each copy is given."""


@dataclass(frozen=True)
class Colouring:
    """Colours of the nodes of several graphs, comparable between all of them.

    Args:
        colours: the colour of each node, numbered from 0.
        node_ptr: where each graph's nodes start.
        rounds: how many rounds were made.
        stable: whether it was seen that a further round changes nothing.

    Shapes:
        colours ``(N,)``, node_ptr ``(G + 1,)``.
    """

    colours: Array
    node_ptr: Array
    rounds: int
    stable: bool

    def of(self, graph: int) -> Array:
        """The colours of one graph's nodes, ``(n,)``."""
        return self.colours[self.node_ptr[graph] : self.node_ptr[graph + 1]]

    def class_sizes(self, graph: int) -> tuple[int, ...]:
        """How many nodes of a graph share each of its colours, rising."""
        return tuple(sorted(np.unique(self.of(graph), return_counts=True)[1].tolist()))

    def kinds(self) -> Array:
        """A number for each graph, equal where the test cannot tell two graphs apart, ``(G,)``."""
        return number_multisets(np.zeros(len(self.node_ptr) - 1, dtype=np.int64), self.colours, self.node_ptr)


def refine(graphs: PackedGraphs, marks: Array | None = None, *, rounds: int | None = None) -> Colouring:
    """Refine colours until they are stable: a node's new colour stands for its own and its neighbours' colours.

    Nodes start with a colour for their features and mark. Neighbours are those with an edge to the node, and the edge's
    features count too.

    Args:
        graphs: the graphs to compare.
        marks: 1 at marked nodes, else 0 (any integers will do); None marks nothing.
        rounds: stop after as many rounds, as a network of so many layers does; None continues until nothing changes.

    Shapes:
        marks ``(N,)``.
    """
    nodes = len(graphs.x)
    marks = np.zeros(nodes, dtype=np.int64) if marks is None else np.asarray(marks)
    if marks.shape != (nodes,):
        raise DataError(f"'marks' must have one entry for each of the {nodes} nodes (got shape {marks.shape})")
    first = np.repeat(graphs.node_ptr[:-1], graphs.num_edges).astype(np.int64)
    source, target = graphs.edge_index + first  # local ids -> ids through all graphs
    order = np.argsort(target, kind="stable")
    source, labels = source[order], number_rows(graphs.edge_attr)[order]
    ptr = np.concatenate([[0], np.cumsum(np.bincount(target, minlength=nodes))])

    colours = number_rows(np.column_stack([as_table(graphs.x), marks]))
    done, count = 0, number_of(colours)
    while rounds is None or done < rounds:
        colours_next = number_multisets(colours, number_rows(np.stack([labels, colours[source]], axis=1)), ptr)
        count_next = number_of(colours_next)
        if count_next == count:  # colours are only ever split, so as many as before are the same as before
            return Colouring(colours, graphs.node_ptr, done, stable=True)
        colours, count, done = colours_next, count_next, done + 1
    return Colouring(colours, graphs.node_ptr, done, stable=False)


def marked_copies(graphs: PackedGraphs, graph: Sequence[int], root: Sequence[int]) -> tuple[PackedGraphs, Array]:
    """Copies of graphs with one marked node each, and the marks, as `refine` takes them.

    Args:
        graphs: where the copies are taken from.
        graph: of which graph each copy is.
        root: the marked node of each copy, counted within its graph; `UNMARKED` for none.
    """
    chosen, roots = np.asarray(graph), np.asarray(root)
    copies = take_graphs(graphs, chosen)
    wrong = np.flatnonzero((roots < UNMARKED) | (roots >= copies.num_nodes))
    if len(wrong):
        at = int(wrong[0])
        raise DataError(
            f"copy {at} marks node {roots[at]} of graph {chosen[at]}, which has {copies.num_nodes[at]} nodes;"
            f" give 0 to {copies.num_nodes[at] - 1}, or {UNMARKED} for no mark"
        )
    marks = np.zeros(len(copies.x), dtype=np.int64)
    marked = roots != UNMARKED
    marks[(copies.node_ptr[:-1] + roots)[marked]] = 1
    return copies, marks


def number_of(numbers: Array) -> int:
    """How many different ones there are of numbers that run from 0 without gaps."""
    return int(numbers.max(initial=-1)) + 1


def number_rows(values: Array) -> Array:
    """Number the rows of a table from 0 without gaps; equal rows get equal numbers, ``(R, F)`` or ``(R,) -> (R,)``."""
    table = as_table(values)
    numbers: Array = np.zeros(len(table), dtype=np.int64)
    for column in table.T:
        codes = pd.factorize(column)[0]
        numbers = pd.factorize(numbers * number_of(codes) + codes)[0]
    return numbers


def number_multisets(own: Array, values: Array, ptr: Array) -> Array:
    """Number rows by their own number and the multiset of values that they hold.

    Args:
        own: a number per row.
        values: numbers, those of a row side by side.
        ptr: where the values of each row start.

    Shapes:
        own and result ``(R,)``, ptr ``(R + 1,)``.
    """
    lengths, numbers, used = np.diff(ptr), np.empty(len(own), dtype=np.int64), 0
    for length in np.unique(lengths):  # rows of one length are a table; other lengths are other multisets anyhow
        rows = np.flatnonzero(lengths == length)
        held = np.sort(values[ptr[rows][:, None] + np.arange(length)], axis=1)
        number = number_rows(np.column_stack([own[rows], held]))
        numbers[rows] = used + number
        used += number_of(number)
    return numbers
