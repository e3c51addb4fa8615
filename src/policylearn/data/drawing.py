"""A few graphs of a dataset as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from policylearn.data.dataset import Dataset
from policylearn.data.packed import Array, DataError, PackedGraphs, as_table
from policylearn.data.pictures import new_picture
from policylearn.data.subset import check_indices, targets_are_per_node

# ZINC numbers its atoms by element and charge; checked against the SMILES of the file. The rest stays a number.
ZINC_ATOMS = (
    "C", "O", "N", "F", "C", "S", "Cl", "O", "N", "Br", "N", "N", "N", "N", "S", "I", "P", "O", "N", "O",
)  # fmt: skip
COLOURS = {
    "C": "#8a8f98", "N": "#3b6fd4", "O": "#d43b3b", "F": "#63b948", "S": "#d9b310", "Cl": "#2e9e4f",
    "Br": "#8c3a1f", "I": "#6a1fa0", "P": "#e07b1a", "B": "#d99a8b", "Si": "#b89b6a", "H": "#e6e6e6",
}  # fmt: skip
SMALL_GRAPH = 150
LABELLED_GRAPH = 60


def draw_graphs(dataset: Dataset, path: Path, *, first: int = 0, count: int = 6) -> Path:
    """Draw some graphs side by side, nodes coloured by their first feature, and write a PNG.

    Args:
        dataset: whose graphs.
        path: where the picture goes.
        first: which graph to begin with.
        count: how many graphs.
    """
    if count < 1:
        raise DataError(f"'count' must be >= 1 (got {count})")
    chosen = check_indices(dataset.graphs, np.arange(first, min(first + count, max(len(dataset), first + 1))))
    columns = min(3, len(chosen))
    rows = -(-len(chosen) // columns)
    with new_picture(path, 4 * columns, 4 * rows + 0.5) as figure:
        for position, graph in enumerate(chosen.tolist()):
            axes = figure.add_subplot(rows, columns, position + 1)
            draw_one(axes, dataset, graph)
        figure.suptitle(dataset.name + (" (not original: see the caveat)" if dataset.caveat else ""))
    return path


def draw_one(axes: Any, dataset: Dataset, graph: int) -> None:
    """Draw one graph into matplotlib axes."""
    import networkx as nx

    graphs = dataset.graphs
    network = to_networkx(graphs, graph)
    size = network.number_of_nodes()
    small = size <= SMALL_GRAPH
    layout = place_parts(network) if small else nx.spring_layout(network, seed=0, iterations=30)
    names = node_names(dataset, graphs.x[graphs.node_ptr[graph] : graphs.node_ptr[graph + 1]])
    colours = [colour(name) for name in names]
    nx.draw_networkx_edges(network, layout, ax=axes, edge_color="#9aa0a8", width=1.4 if small else 0.4)
    nx.draw_networkx_nodes(network, layout, ax=axes, node_color=colours, node_size=160 if small else 6)
    if size <= LABELLED_GRAPH and len(set(names)) > 1:
        labels = dict(enumerate(names))
        nx.draw_networkx_labels(network, layout, labels, ax=axes, font_size=7, font_color="white")
    axes.set_title(
        f"graph {graph}: {size} nodes, {network.number_of_edges()} edges{target_text(dataset, graph)}", size=8
    )
    axes.set_aspect("equal")
    axes.set_axis_off()


def place_parts(network: Any) -> dict[int, Array]:
    """Positions of the nodes: each connected part on its own, the parts in a row.

    Kamada-Kawai untangles molecules, but it takes time with the cube of the nodes and lays parts over each other.
    """
    import networkx as nx

    positions: dict[int, Array] = {}
    edge = 0.0
    for part in sorted(nx.connected_components(network), key=len, reverse=True):
        radius = float(np.sqrt(len(part)))
        placed = nx.kamada_kawai_layout(network.subgraph(part), scale=radius, center=(edge + radius, 0.0))
        positions |= {node: np.asarray(place) for node, place in placed.items()}
        edge += 2 * radius + 1
    return positions


def to_networkx(graphs: PackedGraphs, graph: int) -> Any:
    """One graph as an undirected networkx graph."""
    import networkx as nx

    network = nx.Graph()
    network.add_nodes_from(range(int(graphs.num_nodes[graph])))
    edges = graphs.edge_index[:, graphs.edge_ptr[graph] : graphs.edge_ptr[graph + 1]]
    network.add_edges_from(edges.T.tolist())
    return network


def node_names(dataset: Dataset, x: Array) -> list[str]:
    """What to call each node: its element where the features tell it, else its first feature."""
    table = as_table(x)
    if not table.shape[1]:
        return [""] * len(table)
    first = table[:, 0].tolist()
    if dataset.name == "zinc":
        return [ZINC_ATOMS[value] if value < len(ZINC_ATOMS) else str(value) for value in first]
    if table.shape[1] == 9 and dataset.graphs.smiles is not None:  # OGB's features count elements from 0
        from rdkit import Chem

        elements = Chem.GetPeriodicTable()
        return [elements.GetElementSymbol(int(value) + 1) if value < 118 else "*" for value in first]
    return [str(value) for value in first]


def colour(name: str) -> Any:
    """An element's usual colour, or one of twenty by the number that the name holds."""
    if name in COLOURS:
        return COLOURS[name]
    from matplotlib import colormaps

    return colormaps["tab20"](int(float(name)) % 20) if name.replace(".", "", 1).isdigit() else "#444444"


def target_text(dataset: Dataset, graph: int) -> str:
    """The graph's label in a few letters; nothing for node targets and long rows of them."""
    y = as_table(dataset.graphs.y)
    if targets_are_per_node(dataset.graphs) or y.shape[1] > 3:
        return ""
    if dataset.task.kind == "classes":
        return f", class {dataset.task.classes[int(y[graph, 0])]}"
    return ", y = " + ", ".join(f"{value:.3g}" for value in y[graph])
