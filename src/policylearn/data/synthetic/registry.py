"""Synthetic datasets by name: ``csl-N``, and ``csl-union-N-L`` for unions of L of these graphs.

The graphs are drawn from the generator that is passed in: the same seed gives the same dataset.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from policylearn.data.packed import DataError, PackedGraphs
from policylearn.data.splits import PARTS
from policylearn.data.synthetic.csl import csl_classes, csl_members, csl_unions, union_classes
from policylearn.data.tasks import Task

SYNTHETIC = {
    "csl-N": "circular skip link graphs of N nodes in random node order, by isomorphism class",
    "csl-union-N-L": "L disconnected, non-isomorphic CSL graphs of N nodes, by class",
}
"""Patterns of names with their descriptions; a capital letter stands for a number."""


def is_synthetic(name: str) -> bool:
    """Whether `synthetic_dataset` knows the name."""
    return find_numbers(name) is not None


def find_numbers(name: str) -> tuple[int, int] | None:
    """Nodes and components that a name states; None for the name of another dataset."""
    match = re.fullmatch(r"csl-([0-9]+)|csl-union-([0-9]+)-([0-9]+)", name)
    return (int(match[1] or match[2]), int(match[3] or 1)) if match else None


def synthetic_dataset(name: str, generator: np.random.Generator) -> tuple[PackedGraphs, Task]:
    """Draw 300 CSL graphs or 1,000 unions by name, split 60 / 20 / 20; a class is the set of the components' types."""
    found = find_numbers(name)
    if found is None:
        raise DataError(f"no synthetic dataset is named '{name}'; the patterns are {', '.join(SYNTHETIC)}")
    nodes, components = found
    total = 1000 if "union" in name else 300
    skips, subsets = csl_classes(nodes), union_classes(csl_members(nodes), components).tolist()
    names = tuple("+".join(str(skips[member]) for member in subset) for subset in subsets)
    graphs = csl_unions(nodes, components, total, generator)
    parts = np.split(np.arange(total), [total * 6 // 10, total * 8 // 10])  # the order is random already
    graphs = replace(graphs, extras={**graphs.extras, **dict(zip(PARTS, parts, strict=True))})
    return graphs, Task("classes", "cross_entropy", "accuracy", targets=("skips",), classes=names)
