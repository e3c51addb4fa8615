"""RDKit's descriptors of molecules, ready for a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from rdkit import Chem, rdBase

from policylearn.data.molecules import read_smiles, without_valence_check
from policylearn.data.packed import Array, DataError, PackedGraphs
from policylearn.data.rdkit_descriptors import describe_molecule, descriptor_names
from policylearn.data.structures import Structure
from policylearn.data.transforms.base import Structures, Transform, register, smiles_needed

BOUND = 100.0


@register
@dataclass(frozen=True)
class Descriptors(Transform):
    """RDKit's 2-D descriptors of each molecule, a row per graph, from its SMILES.

    Values beyond 100 grow by their logarithm only; columns are standardised on the training molecules, those that
    hardly vary there are dropped, and the result is clipped. What RDKit cannot compute becomes the training mean, 0.

    Args:
        clip: the largest value that is left.
        rare: a column is dropped where no more than this share of the training molecules differs from its most
            frequent value.
        into: the structure that gets them.
        columns: names of the columns that were kept.
        mean: their means.
        deviation: their standard deviations.
    """

    name: ClassVar[str] = "descriptors"
    learned: ClassVar[tuple[str, ...]] = ("columns", "mean", "deviation")
    clip: float = 4.0
    rare: float = 0.005
    into: str = "descriptors"
    columns: tuple[str, ...] = ()
    mean: tuple[float, ...] = ()
    deviation: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.clip <= 0 or not 0 <= self.rare < 1:
            raise DataError(f"descriptors: 'clip' must be > 0 and 'rare' in 0 .. 1 (got {self.clip} and {self.rare})")

    def settings(self) -> dict[str, object]:
        """Only the name: no other setting changes what RDKit computes."""
        return {"into": self.into}

    def code_version(self) -> str:
        """Other versions of RDKit give other numbers."""
        return f"{self.version} rdkit {rdBase.rdkitVersion}"

    def compute(self, graphs: PackedGraphs) -> Structures:
        """All of RDKit's descriptors, ``(G, D)`` float64, compressed; NaN where there is none."""
        values = describe_all(smiles_needed(graphs, self.name), descriptor_names())
        return {self.into: Structure(compress(values), "graph")}

    def compute_needed(self, graphs: PackedGraphs) -> Structures:
        """As `compute`, with NaN in the columns that the training dropped: nobody reads them."""
        if not self.columns:
            return self.compute(graphs)
        known = descriptor_names()
        kept = [at for at, name in enumerate(known) if name in set(self.columns)]
        values = np.full((len(graphs), len(known)), np.nan)
        values[:, kept] = compress(describe_all(smiles_needed(graphs, self.name), [known[at] for at in kept]))
        return {self.into: Structure(values, "graph")}

    def learn(self, computed: Structures) -> Self:
        """Which columns vary, with mean and deviation of their known values."""
        values = computed[self.into].values
        kept, mean, deviation = [], [], []
        for at, name in enumerate(descriptor_names()):
            known = values[np.isfinite(values[:, at]), at]
            if len(known) and varies(known, self.rare):
                kept.append(name)
                mean.append(float(known.mean()))
                deviation.append(float(known.std()))
        if not kept:
            raise DataError(f"descriptors: all are constant on the {len(values)} training molecules; leave them out")
        return replace(self, columns=tuple(kept), mean=tuple(mean), deviation=tuple(deviation))

    def finish(self, computed: Structures) -> Structures:
        """The kept columns, standardised and clipped, ``(G, columns)`` float32."""
        if not self.columns:
            raise DataError("descriptors: nothing was learned yet; call fit with the training molecules first")
        known = {name: at for at, name in enumerate(descriptor_names())}
        missing = [name for name in self.columns if name not in known]
        if missing:
            raise DataError(
                f"descriptors: RDKit {rdBase.rdkitVersion} has no '{missing[0]}'; take the version that the run states"
            )
        values = computed[self.into].values[:, [known[name] for name in self.columns]]
        scaled = (values - np.array(self.mean)) / np.array(self.deviation)
        scaled = np.nan_to_num(scaled, nan=0.0).clip(-self.clip, self.clip)
        return {self.into: Structure(scaled.astype(np.float32), "graph")}


def describe_all(smiles: Sequence[str], names: Sequence[str]) -> Array:
    """Some descriptors of each molecule, ``(G, names)``; NaN where RDKit cannot compute one."""
    found: dict[str, list[float]] = {}
    with rdBase.BlockLogs():
        for position, text in enumerate(smiles):
            if text not in found:  # a molecule that stands there twice is described once
                found[text] = describe_molecule(read_molecule(text, position), names)
    rows = [found[text] for text in smiles]
    return np.array(rows, dtype=np.float64).reshape(len(smiles), len(names))


def read_molecule(smiles: str, position: int) -> Chem.Mol:
    """The molecule of a SMILES, also where its valences are unusual."""
    try:
        return read_smiles(smiles)
    except DataError as error:
        relaxed = without_valence_check(smiles)
        if relaxed is None:
            raise DataError(f"molecule {position}: {error}") from error
        return relaxed


def compress(values: Array) -> Array:
    r"""Values up to 100 in size as they are, beyond that :math:`\pm 100 (1 + \log |v| / 100)`, infinity too."""
    finite = np.nan_to_num(values, nan=np.nan)
    size = np.abs(finite)
    beyond = BOUND * (1.0 + np.log(np.maximum(size, BOUND) / BOUND))
    return np.where(size > BOUND, np.sign(finite) * beyond, finite)


def varies(known: Array, rare: float) -> bool:
    """Whether enough values differ from the most frequent one."""
    _, counts = np.unique(known, return_counts=True)
    return len(known) - int(counts.max()) > rare * len(known) and float(known.std()) > 1e-8
