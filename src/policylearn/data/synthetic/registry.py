"""Synthetic datasets by name, so that they can be asked for like any other.

A capital letter in a pattern of `SYNTHETIC` stands for a number: ``csl-union-17-3`` is ``csl-union-N-L`` with N = 17
and L = 3. The graphs are drawn from the generator that is passed in: the same seed gives the same dataset. Every one
comes with a split in its extras (``train``, ``valid``, ``test``).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from policylearn.data.packed import DataError, PackedGraphs
from policylearn.data.splits import PARTS
from policylearn.data.synthetic.assembly import join
from policylearn.data.synthetic.counting import SUBSTRUCTURES, counting_er, counting_rr
from policylearn.data.synthetic.csl import csl_classes, csl_members, csl_unions, sample_unions, union_classes
from policylearn.data.synthetic.molecules import molecule_like
from policylearn.data.synthetic.regular import complement, triangular
from policylearn.data.tasks import Scaling, Task

Draw = Callable[..., tuple[PackedGraphs, Task]]
"""Graphs and task from how many, a generator, and the numbers in the name."""


@dataclass(frozen=True)
class Family:
    """How to draw the datasets of one pattern of names, and how many graphs unless told otherwise."""

    description: str
    count: int
    draw: Draw


def synthetic_names() -> dict[str, str]:
    """Every pattern of names with its description, for listings."""
    return {pattern: family.description for pattern, family in SYNTHETIC.items()}


def is_synthetic(name: str) -> bool:
    """Whether `synthetic_dataset` knows the name."""
    return find(name) is not None


def synthetic_dataset(name: str, generator: np.random.Generator, count: int | None = None) -> tuple[PackedGraphs, Task]:
    """Draw the graphs of this name; None for ``count`` takes the family's own number."""
    found = find(name)
    if found is None:
        raise DataError(f"no synthetic dataset is named '{name}'; the patterns are {', '.join(SYNTHETIC)}")
    family, numbers = found
    wanted = family.count if count is None else count
    if wanted < 10:
        raise DataError(f"'{name}': a dataset with a split needs count >= 10 (got {wanted})")
    return family.draw(wanted, generator, *numbers)


def find(name: str) -> tuple[Family, tuple[int, ...]] | None:
    """The family whose pattern the name fits, and the numbers in the name."""
    for pattern, family in SYNTHETIC.items():
        match = re.fullmatch(re.sub(r"\b[A-Z]\b", r"([0-9]+)", pattern), name)
        if match:
            return family, tuple(int(number) for number in match.groups())
    return None


def draw_csl(count: int, generator: np.random.Generator, n: int, components: int = 1) -> tuple[PackedGraphs, Task]:
    """(n, l)-CSL graphs; the class is the set of isomorphism types of the components."""
    skips = csl_classes(n)
    subsets = union_classes(csl_members(n), components).tolist()
    names = ["+".join(str(skips[member]) for member in subset) for subset in subsets]
    return with_split(csl_unions(n, components, count, generator)), class_task("skips", names)


def draw_srg(count: int, generator: np.random.Generator) -> tuple[PackedGraphs, Task]:
    """Relabelled copies of T(7) and its complement."""
    graphs = join([triangular(7), complement(triangular(7))])
    return with_split(sample_unions(graphs, 1, count, generator)), class_task("graph", ["T(7)", "complement of T(7)"])


def draw_counts(graphs: PackedGraphs) -> tuple[PackedGraphs, Task]:
    """Counts divided by their standard deviation over all graphs; the error is reported in these units."""
    scale = tuple(float(value) for value in graphs.y.std(axis=0))
    if min(scale) == 0:
        raise DataError(f"a count is the same in all {len(graphs)} graphs and cannot be scaled; draw more graphs")
    scaling = Scaling(shift=(0.0,) * len(scale), scale=scale)
    task = Task("regression", "l1", "mae", targets=SUBSTRUCTURES, scaling=scaling, metric_in_data_units=False)
    return graphs, task


def draw_molecule_like(count: int, generator: np.random.Generator) -> tuple[PackedGraphs, Task]:
    """Molecule-like graphs; the target is the number of five-rings."""
    return with_split(molecule_like(count, generator)), Task("regression", "l1", "mae", targets=("five_rings",))


def class_task(target: str, names: list[str]) -> Task:
    """Name the class of a graph, scored by accuracy."""
    return Task("classes", "cross_entropy", "accuracy", targets=(target,), classes=tuple(names))


def with_split(graphs: PackedGraphs) -> PackedGraphs:
    """The graphs with a split of 60, 20 and 20 percent, in their order, which is random already."""
    total = len(graphs)
    parts = np.split(np.arange(total), [total * 6 // 10, total * 8 // 10])
    return replace(graphs, extras={**graphs.extras, **dict(zip(PARTS, parts, strict=True))})


SYNTHETIC: dict[str, Family] = {
    "csl-N": Family("circular skip link graphs of N nodes in random node order, by isomorphism class", 300, draw_csl),
    "csl-union-N-L": Family("L disconnected, non-isomorphic CSL graphs of N nodes, by class", 1000, draw_csl),
    "srg-21": Family("the strongly regular T(7) and its complement, alike to 1-WL", 100, draw_srg),
    "counting-er-new": Family(
        "newly drawn Erdős-Rényi graphs with substructure counts", 5000, lambda *drawn: draw_counts(counting_er(*drawn))
    ),
    "counting-rr-new": Family(
        "newly drawn random regular graphs, thinned, with counts", 5000, lambda *drawn: draw_counts(counting_rr(*drawn))
    ),
    "molecule-like": Family("random connected graphs with rings and ZINC-like features", 1000, draw_molecule_like),
}
