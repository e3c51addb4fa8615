"""What is declared of a named dataset, and all declarations by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from policylearn.data.packed import DataError, PackedGraphs, as_table
from policylearn.data.tasks import Scaling, Task
from policylearn.registry import Registry
from policylearn.wording import hint

SplitProtocol = Literal["official", "stratified 10-fold", "none"]
ScalingRule = Literal["none", "standardise", "divide"]
Presets = Path | Mapping[str, Mapping[str, Any]]

CONFIGS = Path(__file__).parents[2] / "configs"
"""The settings of the paper's experiments, a folder per dataset."""


@dataclass(frozen=True)
class Home:
    """An official source.

    Args:
        archive: address of the zip archive, or of the page to visit.
        credit: who keeps it.
        unpack: makes packed graphs of the unpacked folder; None where no archive can be fetched and converted.
        folder: the folder inside the archive.
        indices: addresses of index files that belong to it.
        by_hand: files that lie at no address but at ``by_hand_from``: users put them into ``official/<dataset>``.
        by_hand_from: where a user finds these.
        sha256: of the archive, where it is known.
    """

    archive: str
    credit: str
    unpack: Callable[[Path], PackedGraphs] | None = None
    folder: str = ""
    indices: tuple[str, ...] = ()
    by_hand: tuple[str, ...] = ()
    by_hand_from: str = ""
    sha256: str | None = None

    @property
    def archive_name(self) -> str:
        """The archive's file name."""
        return self.archive.split("?")[0].rsplit("/", 1)[1]


@dataclass(frozen=True)
class Entry:
    """One named dataset.

    Args:
        name: what users call it.
        file: its packed file in the data root.
        title: what it is, in a few words.
        graphs: how many graphs it has.
        nodes: how many nodes all graphs have together; None where nobody could count them.
        edges: how many directed edges all graphs have together; None as above.
        task: what to predict; `build_task` adds what only the graphs can tell.
        protocol: where its splits come from.
        split: the same, for people.
        home: its official source.
        caveat: what is not original in the file that comes without an origin; None where all is.
        always_caveat: whether the caveat holds for every file of that name.
        targets: names to choose one target from.
        columns: which column of the file a target is, where that has another name.
        scaling: how targets are scaled: by mean and deviation over all graphs, by the deviation alone, or not.
        presets: settings to train with by name of the policy ("learned", "random", "learned-t3" from 3 picks on): a
            folder of YAML files or a mapping; None takes the folder of that name in ``policylearn/configs``.
    """

    name: str
    file: str
    title: str
    graphs: int
    nodes: int | None
    edges: int | None
    task: Task
    protocol: SplitProtocol
    split: str
    home: Home
    caveat: str | None = None
    always_caveat: bool = False
    targets: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    scaling: ScalingRule = "none"
    presets: Presets | None = None

    def __post_init__(self) -> None:
        if self.protocol not in get_args(SplitProtocol):
            known = ", ".join(map(repr, get_args(SplitProtocol)))
            raise DataError(f"dataset '{self.name}': 'protocol' must be one of {known} (got {self.protocol!r})")

    def build_task(self, graphs: PackedGraphs) -> Task:
        """The task with the scaling and the target's name that the loaded graphs give it."""
        y = as_table(graphs.y).astype(np.float64)
        if self.task.kind == "classes":
            count = self.task.outputs
            if y.shape[1] != 1:
                known = f"ids 0 to {count - 1}"
                raise DataError(f"dataset '{self.name}': 'y' has {y.shape[1]} columns; classes need one, of {known}")
            wrong = np.flatnonzero(~np.isin(y[:, 0], np.arange(count)))
            if len(wrong):
                raise DataError(
                    f"dataset '{self.name}': row {wrong[0]} of 'y' holds class {y[wrong[0], 0]:g} where its Entry names"
                    f" {count} classes, 0 to {count - 1}; change the file or the Entry's 'task'"
                )
        elif not self.targets and y.shape[1] != len(self.task.targets):
            named = f"{len(self.task.targets)} ({', '.join(self.task.targets)})"
            raise DataError(
                f"dataset '{self.name}': 'y' has {y.shape[1]} columns where its Entry names {named}; name one each"
            )
        if self.scaling == "none":
            return self.task
        shift = y.mean(axis=0) if self.scaling == "standardise" else np.zeros(y.shape[1])
        scaling = Scaling(tuple(shift.tolist()), tuple(y.std(axis=0).tolist()))
        targets = tuple(map(str, graphs.extras["y_names"])) if self.targets else self.task.targets
        return replace(self.task, targets=targets, scaling=scaling)

    def find_presets(self) -> dict[str, Path | Mapping[str, Any]]:
        """Settings by name of the policy, each a YAML file or plain values."""
        held = CONFIGS / self.name if self.presets is None else self.presets
        return {path.stem: path for path in sorted(held.glob("*.yaml"))} if isinstance(held, Path) else dict(held)


def numbers(metric: Literal["mae", "rmse"], *targets: str) -> Task:
    """One number per target."""
    return Task("regression", "l1" if metric == "mae" else "mse", metric, targets)


def yes_no(*targets: str) -> Task:
    """One yes or no per target, gaps allowed."""
    return Task("binary", "bce", "rocauc", targets)


def classes(count: int) -> Task:
    """One of several classes."""
    return Task("classes", "cross_entropy", "accuracy", ("class",), classes=tuple(map(str, range(count))))


CATALOG = Registry[Entry]("dataset", "policylearn.data.datasets", DataError)
"""Every named dataset, by name."""


def register(entry: Entry) -> Entry:
    """Make a dataset known by its name."""
    return CATALOG.register(entry.name, entry)


def find_entry(name: str, others: tuple[str, ...] = ()) -> Entry:
    """The declaration of a dataset, or a `DataError` with the nearest names (``others`` are names known elsewhere)."""
    if name not in CATALOG:
        known = [*CATALOG, *others]
        raise DataError(
            f"there is no dataset {name!r}; {hint(name, known, 'known are ' + ', '.join(known))}"
            " ('policylearn datasets' lists all; a path to a packed .npz works too)"
        )
    return CATALOG[name]
