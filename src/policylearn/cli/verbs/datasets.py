"""``policylearn datasets``: what there is, where it is, and what it looks like."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from policylearn.cli.options import Output
from policylearn.cli.printing import print_table, say
from policylearn.cli.registry import verb
from policylearn.settings import ConfigError

if TYPE_CHECKING:
    from rich.table import Table

    from policylearn.data import Dataset, Entry
    from policylearn.explain import Panel

MARK = "⚠"


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
    print(draw_panels(panels, output or Path(f"{dataset.name}.png"), title=title, columns=3))  # noqa: T201


def panel_of(dataset: Dataset, graph: int) -> Panel:
    """One graph with its label, nodes coloured by their first feature."""
    from policylearn.data.batches import make_data
    from policylearn.explain import Panel

    data = make_data(dataset.graphs, graph)
    title = f"graph {graph}: {data.num_nodes} nodes, {data.num_edges // 2} edges"
    if dataset.task.kind == "classes" and data.y.numel() == 1:
        title += f", class {dataset.task.classes[int(data.y)]}"
    elif dataset.task.level == "graph" and data.y.numel() <= 3:
        title += ", y = " + ", ".join(f"{value:.3g}" for value in data.y.flatten().tolist())
    classes = data.x[:, 0].long().tolist() if data.x.shape[1] else None
    return Panel(data.edge_index.numpy(), data.num_nodes, title, classes=classes)


def list_datasets(root: Path) -> tuple[Table, list[str]]:
    """The table of all datasets and the lines below it.

    Args:
        root: where packed files are looked for.
    """
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
        found = look_up(entry, root)
        table.add_row(
            f"{entry.name} {MARK}" if found.caveat else entry.name,
            f"{entry.graphs:,}",
            *("?" if total is None else f"{total / entry.graphs:.1f}" for total in (found.nodes, found.edges)),
            describe_task(entry),
            f"{entry.task.metric} {'↑' if entry.task.higher_is_better else '↓'}",
            entry.split,
            "yes" if found.present else "no",
            found.origin,
        )
        if found.caveat:
            notes.append(f"{MARK} {entry.name}: {found.caveat}")
    notes.append("nodes and edges are means per graph; an edge counts once per direction")
    notes.append("what is not present is fetched at its first use, or says which file to put where")
    notes.append("synthetic, drawn from a seed (capitals are numbers):")
    notes += [f"  {pattern}: {description}" for pattern, description in synthetic_names().items()]
    return table, notes


@dataclass(frozen=True)
class Found:
    """What the data root says about a dataset: is it there, from where, how large, what to warn of."""

    present: bool
    origin: str
    nodes: int | None
    edges: int | None
    caveat: str | None = None


def look_up(entry: Entry, root: Path) -> Found:
    """Look for a dataset in the data root, without reading its graphs."""
    from policylearn.data.packed import read_arrays

    home, path = entry.home, root / entry.file
    if not path.exists():
        way = f"by hand: {home.credit}" if home.unpack is None else home.credit
        return Found(False, way, entry.nodes, entry.edges)
    arrays = read_arrays(path, only=("origin", "node_ptr", "edge_ptr"))
    nodes, edges = (int(arrays[name][-1]) if name in arrays else None for name in ("node_ptr", "edge_ptr"))
    if "origin" in arrays:
        caveat = entry.caveat if entry.always_caveat else None
        return Found(True, home.credit, nodes, edges, caveat)
    return Found(True, entry.file, nodes, edges, entry.caveat)


def describe_task(entry: Entry) -> str:
    """The kind of task with its width where that is not one."""
    task = entry.task
    if entry.targets:
        return f"{task.kind}, {len(entry.targets)} tasks"
    if task.kind == "classes":
        return f"{len(task.classes)} classes"
    return task.kind if task.outputs == 1 else f"{task.kind}, {task.outputs} targets"
