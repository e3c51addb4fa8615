"""Draw what each system of docs/systems.md sees of one small graph: ``python docs/pictures/systems.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import cos, pi, sin
from pathlib import Path
from typing import Any

import networkx as nx
from matplotlib.figure import Figure

FOLDER = Path(__file__).parent / "systems"
PLAIN, MARK, NEAR, FADED, SECOND = "#c9d6e8", "#d1495b", "#7fb069", "#eeeeee", "#edae49"
# Two rings that share an edge, and a tail: enough for rings, ego nets and central nodes.
GRAPH = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (4, 6), (6, 7), (7, 8), (8, 9), (9, 5), (2, 10)])
PLACES = {node: (sin(pi * node / 3), cos(pi * node / 3)) for node in range(6)}
PLACES |= {6: (-1.73, -1.0), 7: (-2.6, -0.5), 8: (-2.6, 0.5), 9: (-1.73, 1.0), 10: (1.73, -1.0)}
ROOT = 5
Colours = Mapping[int, str]


def panel(
    axes: Any,
    title: str,
    colours: Colours | None = None,
    labels: Mapping[int, str] | None = None,
    *,
    cut: Sequence[tuple[int, int]] = (),
    fills: Sequence[Sequence[int]] = (),
    sizes: Mapping[int, float] | None = None,
    graph: nx.Graph = GRAPH,
) -> None:
    """One drawing of the graph: colours and labels of nodes, edges that are cut, and rings that are filled."""
    for number, ring in enumerate(fills):
        axes.fill(*zip(*(PLACES[node] for node in ring), strict=True), color=(SECOND, NEAR)[number % 2], alpha=0.6)
    kept = [edge for edge in graph.edges if edge not in cut and edge[::-1] not in cut]
    nx.draw_networkx_edges(graph, PLACES, kept, ax=axes, edge_color="#555555")
    nx.draw_networkx_edges(graph, PLACES, list(cut), ax=axes, edge_color="#dddddd", style="dotted")
    fill = [(colours or {}).get(node, PLAIN) for node in graph.nodes]
    size = [(sizes or {}).get(node, 150.0) for node in graph.nodes]
    nx.draw_networkx_nodes(graph, PLACES, ax=axes, node_color=fill, node_size=size, edgecolors="#555555")
    nx.draw_networkx_labels(graph, PLACES, dict(labels or {}), font_size=7, ax=axes)
    axes.set_title(title, fontsize=8)
    axes.set_axis_off()


def ego(root: int, hops: int) -> set[int]:
    """Nodes within so many steps."""
    return set(nx.ego_graph(GRAPH, root, hops))


def outside(nodes: set[int]) -> list[tuple[int, int]]:
    """Edges that leave these nodes, or lie outside."""
    return [edge for edge in GRAPH.edges if not set(edge) <= nodes]


def near(root: int, hops: int) -> dict[int, str]:
    """Colours of an ego net and its root."""
    return {node: NEAR if node in ego(root, hops) else FADED for node in GRAPH} | {root: MARK}


def at(node: int) -> list[tuple[int, int]]:
    """Edges of a node."""
    return [edge for edge in GRAPH.edges if node in edge]


def gin(axes: Sequence[Any]) -> None:
    """Colours of 1-WL."""
    for depth, one in zip((0, 1, 2), axes, strict=True):
        names = nx.weisfeiler_lehman_subgraph_hashes(GRAPH, iterations=max(depth, 1))
        kinds = {node: names[node][depth - 1] if depth else "" for node in GRAPH}
        order = sorted(set(kinds.values()))
        palette = (
            PLAIN,
            NEAR,
            SECOND,
            MARK,
            "#6a4c93",
            "#1982c4",
            "#ffca3a",
            "#999999",
            "#00798c",
            "#e07a5f",
            "#111111",
        )
        panel(one, f"after {depth} layers", {node: palette[order.index(kinds[node])] for node in GRAPH})


def pna(axes: Sequence[Any]) -> None:
    """Aggregates of the neighbours at three scales."""
    panel(axes[0], "messages to one node", dict.fromkeys(GRAPH[ROOT], NEAR) | {ROOT: MARK})
    for one, title in zip(axes[1:], ("mean, max, min, std", "each · log(d + 1) and / log(d + 1)"), strict=True):
        degrees = {node: str(GRAPH.degree[node]) for node in GRAPH}
        panel(one, title, {ROOT: MARK}, degrees if "log" in title else {ROOT: "4"})


def policy(axes: Sequence[Any]) -> None:
    """The unmarked graph, a mark, and a mark that depends on it."""
    for one, title, root in zip(
        axes, ("unmarked", "first pick", "second pick, having seen it"), (-1, 5, 2), strict=True
    ):
        panel(one, title, {root: MARK} if root >= 0 else {})


def full(axes: Sequence[Any]) -> None:
    """A copy per node."""
    for one, root in zip(axes, (0, 1, 10), strict=True):
        panel(one, f"copy of node {root}" + (" … of n" if root == 10 else ""), {root: MARK})


def ds_gnn(axes: Sequence[Any]) -> None:
    """The three bags."""
    panel(axes[0], "marked", {ROOT: MARK})
    panel(axes[1], "deleted", {ROOT: FADED}, cut=at(ROOT))
    panel(axes[2], "EGO+ (2 hops)", near(ROOT, 2), cut=outside(ego(ROOT, 2)))


def dss_gnn(axes: Sequence[Any]) -> None:
    """Copies and the mean over them."""
    panel(axes[0], "copy of 5", near(5, 2), cut=outside(ego(5, 2)))
    panel(axes[1], "copy of 2", near(2, 2), cut=outside(ego(2, 2)))
    panel(axes[2], "every node's mean over all copies", dict.fromkeys(GRAPH, SECOND))


def sun(axes: Sequence[Any]) -> None:
    """Roots have weights and terms of their own."""
    panel(axes[0], "row (k, v): node 1 in copy 5", {5: MARK, 1: SECOND}, {5: "k", 1: "v"})
    panel(axes[1], "also reads (v, v): node 1 in copy 1", {1: MARK}, {1: "v"})
    panel(axes[2], "and its mean over all copies", dict.fromkeys(GRAPH, SECOND) | {1: MARK})


def gnn_ak(axes: Sequence[Any]) -> None:
    """What the new state of a node is made of."""
    panel(axes[0], "centroid: its row in its net", near(ROOT, 2), cut=outside(ego(ROOT, 2)))
    panel(axes[1], "subgraph: all rows of its net", dict.fromkeys(ego(ROOT, 2), MARK), cut=outside(ego(ROOT, 2)))
    panel(axes[2], "context (AK+): its rows in other nets", near(1, 2) | {ROOT: SECOND}, cut=outside(ego(1, 2)))


def gnn_sswl(axes: Sequence[Any]) -> None:
    """Cells of the n by n table of pairs that one pair reads."""
    u, v = 1, 5
    for one, title, cells in (
        (axes[0], "(u, v) reads (u, w): w beside v", {(u, w) for w in GRAPH[v]}),
        (axes[1], "and (w, v): w beside u", {(w, v) for w in GRAPH[u]}),
        (axes[2], "SSWL+: and (v, v)", {(v, v)}),
    ):
        for a in GRAPH:
            for b in GRAPH:
                colour = MARK if (a, b) == (u, v) else NEAR if (a, b) in cells else PLAIN
                one.add_patch(_square(b, -a, colour))
        one.set_xlim(-0.6, 11.1)
        one.set_ylim(-10.6, 1.1)
        one.set_aspect("equal")
        one.set_title(title, fontsize=8)
        one.set_axis_off()


def _square(x: float, y: float, colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.45, y - 0.45), 0.9, 0.9, facecolor=colour, edgecolor="#888888", linewidth=0.4)


def ngnn(axes: Sequence[Any]) -> None:
    """Labels inside ego nets."""
    for one, root in zip(axes, (5, 2, 8), strict=True):
        steps = nx.single_source_shortest_path_length(GRAPH, root, cutoff=2)
        labels = {node: str(step + 1) for node, step in steps.items()}
        panel(one, f"net of {root}, with distances", near(root, 2), labels, cut=outside(ego(root, 2)))


def reconstruction(axes: Sequence[Any]) -> None:
    """Members of the deck."""
    for one, gone in zip(axes, (5, 2, 8), strict=True):
        left = GRAPH.copy()
        left.remove_node(gone)
        panel(one, f"without node {gone}", graph=left)


def osan(axes: Sequence[Any]) -> None:
    """Scores, a masked copy, and the whole graph."""
    scores = {node: 40.0 + 22 * (node * 7 % 11) for node in GRAPH}
    panel(axes[0], "scores of the nodes", sizes=scores)
    panel(axes[1], "copy without the lowest", {0: FADED}, cut=at(0))
    panel(axes[2], "and the whole graph")


RINGS = ([0, 1, 2, 3, 4, 5], [4, 5, 9, 8, 7, 6])


def cin(axes: Sequence[Any]) -> None:
    """Nodes, edges and rings."""
    panel(axes[0], "nodes and edges")
    panel(axes[1], "rings are cells", fills=RINGS)
    panel(axes[2], "edges of one ring are neighbours", dict.fromkeys(RINGS[0], MARK), fills=RINGS[:1])


def sin_(axes: Sequence[Any]) -> None:
    """The same with triangles: this graph has none until an edge is added."""
    closed = nx.Graph(GRAPH)
    closed.add_edges_from([(3, 10), (0, 4)])
    panel(axes[0], "no triangle: nothing to add")
    panel(axes[1], "triangles are cells", fills=([2, 3, 10], [0, 4, 5]), graph=closed)
    panel(axes[2], "rings are not", dict.fromkeys(RINGS[1], FADED), fills=([2, 3, 10], [0, 4, 5]), graph=closed)


def gsn(axes: Sequence[Any]) -> None:
    """Cycles through each node."""
    for one, length in zip(axes, (5, 6, 10), strict=True):
        cycles = [set(cycle) for cycle in nx.simple_cycles(GRAPH, length_bound=10) if len(cycle) == length]
        counts = {node: sum(node in cycle for cycle in cycles) for node in GRAPH}
        colours = {node: (PLAIN, NEAR, SECOND)[count] for node, count in counts.items()}
        panel(one, f"cycles of {length} nodes", colours, {node: str(count) for node, count in counts.items()})


def gin_pe(axes: Sequence[Any]) -> None:
    """Return probabilities, and an eigenvector with its sign."""
    for one, steps in zip(axes, (2, 4), strict=False):
        chances = return_chances(steps)
        panel(
            one, f"back after {steps} steps (%)", None, {node: f"{100 * value:.0f}" for node, value in chances.items()}
        )
    import numpy as np

    vector = np.linalg.eigh(nx.normalized_laplacian_matrix(GRAPH, range(len(GRAPH))).toarray())[1][:, 1]
    panel(axes[2], "an eigenvector, up to its sign", {node: MARK if vector[node] > 0 else NEAR for node in GRAPH})


def return_chances(steps: int) -> dict[int, float]:
    """How likely a walk is back at its start."""
    import numpy as np

    matrix = nx.to_numpy_array(GRAPH, range(len(GRAPH)))
    powers = np.linalg.matrix_power(matrix / matrix.sum(1, keepdims=True), steps)
    return dict(enumerate(np.diag(powers)))


def hymn(axes: Sequence[Any]) -> None:
    """Centralities, the mark, and the unmarked graph."""
    score = nx.subgraph_centrality(GRAPH)
    best = max(score, key=lambda node: score[node])
    panel(axes[0], "centrality of the nodes", sizes={node: 12 * value**2 for node, value in score.items()})
    panel(axes[1], "copy that marks the most central", {best: MARK})
    panel(axes[2], "unmarked")


PICTURES = {
    "gin": gin, "pna": pna, "policy": policy, "full": full, "ds-gnn": ds_gnn, "dss-gnn": dss_gnn, "sun": sun,
    "gnn-ak": gnn_ak, "gnn-sswl": gnn_sswl, "ngnn": ngnn, "reconstruction": reconstruction, "osan": osan, "cin": cin,
    "sin": sin_, "gsn": gsn, "gin-pe": gin_pe, "hymn": hymn,
}  # fmt: skip


def main(folder: Path = FOLDER) -> None:
    """Draw them all."""
    folder.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        figure = Figure(figsize=(6.0, 1.7), layout="constrained")
        draw(figure.subplots(1, 3))
        figure.savefig(folder / f"{name}.png", dpi=90)


if __name__ == "__main__":
    main()
