"""``policylearn datasets``: what there is, where it is, and what it looks like."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from policylearn.cli.options import Output
from policylearn.cli.printing import print_table, say
from policylearn.cli.registry import verb

if TYPE_CHECKING:
    from rich.table import Table

    from policylearn.data import Entry

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
    from policylearn.data.drawing import draw_graphs

    target = CATALOG[name].targets[0] if name in CATALOG and CATALOG[name].targets else None
    dataset = load_dataset(name, target=target)
    print(draw_graphs(dataset, output or Path(f"{dataset.name}.png"), first=first, count=count))  # noqa: T201


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
