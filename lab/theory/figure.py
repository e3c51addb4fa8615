"""The paper's first figure: CSL graphs with the colours that 1-WL gives them, before and after one node is marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lab.theory.wl import UNMARKED, marked_copies, refine
from policylearn.data import DataError
from policylearn.data.packed import Array
from policylearn.data.synthetic import csl_edges, csl_graph, join


@dataclass(frozen=True)
class ColouredGraph:
    """A graph with its stable colours.

    Args:
        name: what graph it is.
        edges: its edges, each once.
        colours: the colour of each node, comparable with the other graphs of the figure.
        class_sizes: how many nodes share each colour, rising.
        root: the marked node, or `UNMARKED`.

    Shapes:
        edges ``(2, U)``, colours ``(n,)``.
    """

    name: str
    edges: Array
    colours: Array
    class_sizes: tuple[int, ...]
    root: int


def colour_csl(n: int, skips: Sequence[int], root: int = 0) -> list[ColouredGraph]:
    """Colour CSL graphs of one size, all unmarked first, then all with one marked node.

    Args:
        n: nodes of each graph.
        skips: the skip length of each graph.
        root: the node to mark.
    """
    if not 0 <= root < n:
        raise DataError(f"'root' must be a node of the graphs, 0 to {n - 1} (got {root})")
    graphs = join([csl_graph(n, skip) for skip in skips])
    which = [*range(len(skips))] * 2
    roots = [UNMARKED] * len(skips) + [root] * len(skips)
    colouring = refine(*marked_copies(graphs, which, roots))
    return [
        ColouredGraph(
            name=f"CSL({n}, {skips[graph]})",
            edges=csl_edges(n, skips[graph]),
            colours=colouring.of(copy),
            class_sizes=colouring.class_sizes(copy),
            root=roots[copy],
        )
        for copy, graph in enumerate(which)
    ]
