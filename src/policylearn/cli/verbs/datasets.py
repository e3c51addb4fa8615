"""``policylearn datasets``: what there is, where it is, and what it looks like."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from policylearn.cli.options import Output
from policylearn.cli.printing import print_table, say
from policylearn.cli.registry import verb
from policylearn.settings import ConfigError

if TYPE_CHECKING:
    from rich.table import Table

    from policylearn.data import Dataset, Entry
    from policylearn.explain import Panel

MARK = "⚠"
NAMED_GRAPH = 60
"""Most nodes of a graph whose atoms are named in its picture."""
ZINC_ATOMS = ("C", "O", "N", "F", "C", "S", "Cl", "O", "N", "Br", "N", "N", "N", "N", "S", "I", "P", "O", "N", "O")
"""The element of ZINC's atom types, which count charges and hydrogens too; the rest stay numbers."""


@verb("datasets")
def datasets() -> None:
    """List all datasets: task, metric, split, whether each is here, and what to warn of."""
    from policylearn.data import data_root

    table, notes = list_datasets(data_root())
    print_table(table)
    for note in notes:
        say(note)


@verb("datasets show")
def show(name: str, /, *, output: Output = None, count: int = 6, first: int = 0) -> None:
    """Draw a few graphs of a dataset to a PNG.

    Args:
        name: of the dataset, of a synthetic family, or a packed .npz.
        output: the PNG; NAME.png by default.
        count: how many graphs.
        first: which graph to begin with.
    """
    from policylearn.data import CATALOG, load_dataset
    from policylearn.explain import draw_panels

    if count < 1:
        raise ConfigError(f"'count' must be >= 1 (got {count})")
    target = CATALOG[name].targets[0] if name in CATALOG and CATALOG[name].targets else None
    dataset = load_dataset(name, target=target)
    panels = [panel_of(dataset, graph) for graph in range(first, max(first + 1, min(first + count, len(dataset))))]
    title = dataset.name + (" (not original: see the caveat)" if dataset.caveat else "")
    say(str(draw_panels(panels, output or Path(f"{dataset.name}.png"), title=title, columns=3)))


def panel_of(dataset: Dataset, graph: int) -> Panel:
    """One graph with its label, nodes coloured by their first feature, atoms other than carbon by name."""
    from policylearn.data.batches import make_data
    from policylearn.explain import Panel

    data = make_data(dataset.graphs, graph)
    title = f"graph {graph}: {data.num_nodes} nodes, {data.num_edges // 2} edges"
    if dataset.task.kind == "classes" and data.y.numel() == 1:
        title += f", class {dataset.task.classes[int(data.y)]}"
    elif dataset.task.level == "graph" and data.y.numel() <= 3:
        title += ", y = " + ", ".join(f"{value:.3g}" for value in data.y.flatten().tolist())
    classes = data.x[:, 0].long().tolist() if data.x.shape[1] else None
    names = atom_names(dataset, classes) if classes and len(classes) <= NAMED_GRAPH else []
    marks = {node: name for node, name in enumerate(names) if name != "C"}
    return Panel(data.edge_index.numpy(), data.num_nodes, title, classes=classes, marks=marks)


def atom_names(dataset: Dataset, atoms: list[int]) -> list[str]:
    """The elements of atoms from their first feature; empty where the graphs are not known to be molecules."""
    from policylearn.training.data_source import has_ogb_features

    if dataset.name == "zinc":
        return [ZINC_ATOMS[atom] if atom < len(ZINC_ATOMS) else str(atom) for atom in atoms]
    if not has_ogb_features(dataset.graphs):
        return []
    from rdkit import Chem

    elements = Chem.GetPeriodicTable()
    return [elements.GetElementSymbol(atom + 1) if atom < 118 else "*" for atom in atoms]  # OGB counts from 0


def list_datasets(root: Path) -> tuple[Table, list[str]]:
    """The table of all datasets and the lines below it, with what is in the data root."""
    from rich import box
    from rich.table import Table

    from policylearn.data import CATALOG
    from policylearn.data.synthetic import synthetic_names

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0)
    for heading in ("dataset", "graphs", "nodes", "edges", "task", "metric", "split", "present", "from"):
        justify: Literal["left", "right"] = "right" if heading in ("graphs", "nodes", "edges") else "left"
        table.add_column(heading, justify=justify, no_wrap=heading not in ("task", "split", "from"), overflow="fold")
    notes = [f"data root: {root}"]
    for entry in CATALOG.values():
        nodes, edges, present, origin, caveat = look_up(entry, root / entry.file)
        table.add_row(
            f"{entry.name} {MARK}" if caveat else entry.name,
            f"{entry.graphs:,}",
            *("?" if total is None else f"{total / entry.graphs:.1f}" for total in (nodes, edges)),
            describe_task(entry),
            f"{entry.task.metric} {'↑' if entry.task.higher_is_better else '↓'}",
            entry.split,
            present,
            origin,
        )
        notes += [f"{MARK} {entry.name}: {caveat}"] if caveat else []
    notes.append("nodes and edges are means per graph; an edge counts once per direction")
    notes.append("what is not present is fetched at its first use, or says which file to put where")
    notes.append("synthetic, drawn from a seed (capitals are numbers):")
    return table, notes + [f"  {pattern}: {description}" for pattern, description in synthetic_names().items()]


def look_up(entry: Entry, path: Path) -> tuple[Any, ...]:
    """Nodes and edges in all, whether the file is there, where it is from, and what to warn of; no graph is read."""
    from policylearn.data.packed import read_arrays

    home = entry.home
    if not path.exists():
        return entry.nodes, entry.edges, "no", f"by hand: {home.credit}" if home.unpack is None else home.credit, None
    arrays = read_arrays(path, only=("origin", "node_ptr", "edge_ptr"))
    sizes = (int(arrays[name][-1]) if name in arrays else None for name in ("node_ptr", "edge_ptr"))
    if "origin" in arrays:  # fetched from its official home
        return *sizes, "yes", home.credit, entry.caveat if entry.always_caveat else None
    return *sizes, "yes", entry.file, entry.caveat


def describe_task(entry: Entry) -> str:
    """The kind of task with its width where that is not one."""
    task = entry.task
    if entry.targets:
        return f"{task.kind}, {len(entry.targets)} tasks"
    if task.kind == "classes":
        return f"{len(task.classes)} classes"
    return task.kind if task.outputs == 1 else f"{task.kind}, {task.outputs} targets"
