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

from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.data.synthetic.assembly import join
from policylearn.data.synthetic.counting import SUBSTRUCTURES, counting_er, counting_rr
from policylearn.data.synthetic.csl import csl_classes, csl_members
from policylearn.data.synthetic.molecule_like import molecule_like
from policylearn.data.synthetic.regular import complement, triangular
from policylearn.data.synthetic.unions import csl_unions, sample_unions, union_classes
from policylearn.data.tasks import Scaling, Task

Draw = Callable[[tuple[int, ...], int, np.random.Generator], tuple[PackedGraphs, Task]]


@dataclass(frozen=True)
class SyntheticDataset:
    """Newly drawn graphs, what to learn from them, and one line about them."""

    name: str
    graphs: PackedGraphs
    task: Task
    description: str


@dataclass(frozen=True)
class Family:
    """How to draw the datasets of one pattern of names.

    Args:
        description: one line for listings.
        count: how many graphs to draw unless told otherwise.
        draw: makes graphs and task from the numbers in the name, the count and a generator.
    """

    description: str
    count: int
    draw: Draw


def synthetic_names() -> dict[str, str]:
    """Every pattern of names with its description, for listings."""
    return {pattern: family.description for pattern, family in SYNTHETIC.items()}


def is_synthetic(name: str) -> bool:
    """Whether `synthetic_dataset` knows the name."""
    return find(name) is not None


def synthetic_dataset(name: str, generator: np.random.Generator, count: int | None = None) -> SyntheticDataset:
    """Draw the synthetic dataset of this name.

    Args:
        name: a name that fits one of the patterns of `synthetic_names`.
        generator: source of randomness.
        count: how many graphs; None takes the family's own number.
    """
    found = find(name)
    if found is None:
        raise DataError(f"no synthetic dataset is named '{name}'; the patterns are {', '.join(SYNTHETIC)}")
    family, numbers = found
    wanted = family.count if count is None else count
    if wanted < 10:
        raise DataError(f"'{name}': a dataset with a split needs count >= 10 (got {wanted})")
    graphs, task = family.draw(numbers, wanted, generator)
    return SyntheticDataset(name, graphs, task, family.description)


def find(name: str) -> tuple[Family, tuple[int, ...]] | None:
    """The family whose pattern the name fits, and the numbers in the name."""
    for pattern, family in SYNTHETIC.items():
        match = re.fullmatch(re.sub(r"\b[A-Z]\b", r"([0-9]+)", pattern), name)
        if match:
            return family, tuple(int(number) for number in match.groups())
    return None


def draw_csl(numbers: tuple[int, ...], count: int, generator: np.random.Generator) -> tuple[PackedGraphs, Task]:
    """Relabelled copies of the CSL graphs of one size; the class is the isomorphism type."""
    (n,) = numbers
    graphs = sample_unions(csl_members(n), 1, count, generator)
    return with_split(graphs), class_task("skip", [f"k={k}" for k in csl_classes(n)])


def draw_csl_union(numbers: tuple[int, ...], count: int, generator: np.random.Generator) -> tuple[PackedGraphs, Task]:
    """(n, l)-CSL graphs; the class is the set of isomorphism types of the components."""
    n, components = numbers
    graphs, skips = csl_unions(n, components, count, generator), csl_classes(n)
    subsets = union_classes(csl_members(n), components).tolist()
    return with_split(graphs), class_task("skips", ["+".join(str(skips[member]) for member in s) for s in subsets])


def draw_srg(numbers: tuple[int, ...], count: int, generator: np.random.Generator) -> tuple[PackedGraphs, Task]:
    """Relabelled copies of T(7) and its complement."""
    graphs = join([triangular(7), complement(triangular(7))])
    return with_split(sample_unions(graphs, 1, count, generator)), class_task("graph", ["T(7)", "complement of T(7)"])


def draw_counting_er(numbers: tuple[int, ...], count: int, generator: np.random.Generator) -> tuple[PackedGraphs, Task]:
    """The Erdős-Rényi counting set."""
    graphs = counting_er(count, generator)
    return graphs, counting_task(graphs.y)


def draw_counting_rr(numbers: tuple[int, ...], count: int, generator: np.random.Generator) -> tuple[PackedGraphs, Task]:
    """The random-regular counting set."""
    graphs = counting_rr(count, generator)
    return graphs, counting_task(graphs.y)


def draw_molecule_like(
    numbers: tuple[int, ...], count: int, generator: np.random.Generator
) -> tuple[PackedGraphs, Task]:
    """Molecule-like graphs; the target is the number of five-rings."""
    return with_split(molecule_like(count, generator)), Task("regression", "l1", "mae", targets=("five_rings",))


def class_task(target: str, names: list[str]) -> Task:
    """Name the class of a graph, scored by accuracy."""
    return Task("classes", "cross_entropy", "accuracy", targets=(target,), classes=tuple(names))


def counting_task(y: Array) -> Task:
    """Counts divided by their standard deviation over all graphs; the error is reported in these units."""
    scale = tuple(float(value) for value in y.std(axis=0))
    if min(scale) == 0:
        raise DataError(f"a count is the same in all {len(y)} graphs and cannot be scaled; draw more graphs")
    scaling = Scaling(shift=(0.0,) * len(scale), scale=scale)
    return Task("regression", "l1", "mae", targets=SUBSTRUCTURES, scaling=scaling, metric_in_data_units=False)


def with_split(graphs: PackedGraphs) -> PackedGraphs:
    """The graphs with a split of 60, 20 and 20 percent, in their order, which is random already."""
    ids, total = np.arange(len(graphs)), len(graphs)
    train, valid, test = np.split(ids, [total * 6 // 10, total * 8 // 10])
    return replace(graphs, extras={**graphs.extras, "train": train, "valid": valid, "test": test})


SYNTHETIC: dict[str, Family] = {
    "csl-N": Family("circular skip link graphs of N nodes in random node order, by isomorphism class", 300, draw_csl),
    "csl-union-N-L": Family("L disconnected, non-isomorphic CSL graphs of N nodes, by class", 1000, draw_csl_union),
    "srg-21": Family("the strongly regular T(7) and its complement, alike to 1-WL", 100, draw_srg),
    "counting-er-new": Family("newly drawn Erdős-Rényi graphs with substructure counts", 5000, draw_counting_er),
    "counting-rr-new": Family("newly drawn random regular graphs, thinned, with counts", 5000, draw_counting_rr),
    "molecule-like": Family("random connected graphs with rings and ZINC-like features", 1000, draw_molecule_like),
}
