"""``python -m lab rings``: write the tasks in which rings decide."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lab.rings import TASKS, ring_graphs
from lab.verbs import verb
from policylearn.cli.options import OutputPath
from policylearn.cli.printing import say


@verb("rings")
def rings(*, output: OutputPath = Path("runs/rings")) -> None:
    """Write a packed file per task: ring sizes and ring joints of molhiv.

    Args:
        output: the folder.
    """
    for name in TASKS:
        graphs = ring_graphs(name)
        path = output / f"{name}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        graphs.save(path)
        shares = ", ".join(f"{share:.0%}" for share in np.mean(graphs.y > graphs.y.min(axis=0), axis=0))
        say(f"{path}: {len(graphs):,} graphs, {shares} of the targets above the smallest")
