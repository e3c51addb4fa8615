"""``policylearn datasets``: what there is, and where it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

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


def list_datasets(root: Path) -> tuple[Table, list[str]]:
    """The table of all datasets and the lines below it, with what is in the data root."""
    from rich import box
    from rich.table import Table

    from policylearn.data import CATALOG
    from policylearn.data.synthetic import SYNTHETIC

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
    return table, notes + [f"  {pattern}: {description}" for pattern, description in SYNTHETIC.items()]


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
