"""How far molecules are from those that a model has learned from, and a warning for those that are far outside."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from scipy.sparse import csr_matrix

from policylearn.data import PackedGraphs, take_graphs
from policylearn.data.atomic import replacing
from policylearn.data.packed import Array, as_table
from policylearn.data.structures import FINGERPRINT
from policylearn.data.transforms.fingerprint import BITS
from policylearn.nn import Features
from policylearn.prediction.similarity import tanimoto, unary
from policylearn.settings.run_files import RunError

DOMAIN = "domain.safetensors"
CHUNK = 1024
ATOM_KIND, BOND_KIND = (0, 3, 7), (0,)
"""Among OGB's features of atoms the element, the charge and whether it is aromatic; of bonds the type."""
ORDINARY = 0.99
"""Share of the training molecules that lie inside, each seen from all others."""


@dataclass(frozen=True)
class Nearness:
    """How near molecules are to the training molecules.

    Args:
        similarity: largest Tanimoto similarity of Morgan counts to a training molecule; NaN without fingerprints.
        unseen: share of atoms and bonds of kinds that no training molecule has.
        far: whether a molecule is far outside.

    Shapes:
        all ``(G,)``.
    """

    similarity: Array
    unseen: Array
    far: Array

    def rows(self, chosen: Array | slice) -> Nearness:
        """Those of some molecules, or of each row of an answer."""
        return Nearness(self.similarity[chosen], self.unseen[chosen], self.far[chosen])


@dataclass(frozen=True)
class Domain:
    """The molecules that a model has learned from, as far as distances to them need it.

    An atom's kind is its element, its charge and whether it is aromatic; a bond's kind its type and the elements that
    it joins. Similarity is that of the run's first kind of fingerprint, by default Morgan's.

    Args:
        morgan: Morgan counts of the training molecules, from `unary`; without rows where they have none.
        atoms: kinds of atoms that were seen, sorted.
        bonds: kinds of bonds.
        sizes: categories of the features that make up the kind of an atom, and of a bond.
        least_similarity: of a molecule inside.
        most_unseen: of a molecule inside.
    """

    morgan: csr_matrix
    atoms: Array
    bonds: Array
    sizes: tuple[tuple[int, ...], tuple[int, ...]]
    least_similarity: float = 0.0
    most_unseen: float = 1.0

    @property
    def has_similarity(self) -> bool:
        """Whether the training molecules have fingerprints."""
        return bool(self.morgan.shape[0])

    def nearness(self, graphs: PackedGraphs) -> Nearness:
        """Of molecules with the structures that training gave them."""
        atoms, bonds = kinds(graphs, self.sizes)
        unseen = part_share(graphs, ~np.isin(atoms, self.atoms), ~np.isin(bonds, self.bonds))
        similarity = np.full(len(graphs), np.nan)
        if self.has_similarity:
            given = unary(graphs.structures[FINGERPRINT].values[:, :BITS])
            parts = [slice(start, start + CHUNK) for start in range(0, len(graphs), CHUNK)]
            similarity = np.concatenate([tanimoto(given[part], self.morgan).max(axis=1) for part in parts])
        return self.judged(similarity, unseen)

    def judged(self, similarity: Array, unseen: Array) -> Nearness:
        """Figures with whether they are far outside."""
        return Nearness(similarity, unseen, (similarity <= self.least_similarity) | (unseen > self.most_unseen))

    def warnings(self, found: Nearness) -> list[str]:
        """What to say of each molecule; empty where it is inside."""
        return [
            self.warning(float(one), float(other)) if far else ""
            for one, other, far in zip(found.similarity, found.unseen, found.far, strict=True)
        ]

    def warning(self, similarity: float, unseen: float) -> str:
        """In what way a molecule is far outside."""
        reasons = []
        if similarity <= self.least_similarity:
            reasons.append(f"the most similar training molecule has a similarity of {similarity:.2f}")
        if unseen > self.most_unseen:
            reasons.append(f"{unseen:.0%} of its atoms and bonds are of kinds that training has not seen")
        return f"far from the training molecules: {'; '.join(reasons)}"

    def save(self, folder: Path) -> None:
        """Write it into a run folder, as plain arrays."""
        arrays = {
            "columns": self.morgan.indices.astype(np.int32),
            "starts": self.morgan.indptr.astype(np.int64),
            "atoms": self.atoms,
            "bonds": self.bonds,
        }
        limits = [self.least_similarity, self.most_unseen]
        about = {"sizes": json.dumps(self.sizes), "limits": json.dumps(limits), "width": str(self.morgan.shape[1])}
        with replacing(folder / DOMAIN) as part:
            save_file(arrays, part, metadata=about)

    @staticmethod
    def load(folder: Path) -> Domain | None:
        """Read it back; None where the run has none."""
        path = folder / DOMAIN
        if not path.is_file():
            return None
        try:
            with safe_open(path, framework="numpy") as file:
                columns, starts, atoms, bonds = map(file.get_tensor, ("columns", "starts", "atoms", "bonds"))
                about = file.metadata()
            ones, shape = np.ones(len(columns), np.float32), (len(starts) - 1, int(about["width"]))
            of_atoms, of_bonds = json.loads(about["sizes"])
            limits = json.loads(about["limits"])
        except (SafetensorError, OSError, KeyError, ValueError) as error:
            raise RunError(f"{path}: cannot be read ({error}); train again or restore the file") from error
        return Domain(
            csr_matrix((ones, columns, starts), shape=shape), atoms, bonds, (tuple(of_atoms), tuple(of_bonds)), *limits
        )


def learn_domain(
    graphs: PackedGraphs, rows: Array, node_features: Features, edge_features: Features
) -> tuple[Domain, Nearness]:
    """The domain of some molecules, and how near each of them is to all others.

    Args:
        graphs: all molecules.
        rows: those that the model has learned from.
        node_features: what x holds.
        edge_features: what edge_attr holds.
    """
    chosen = take_graphs(graphs, rows)
    of_atoms, of_bonds = node_features.categorical, edge_features.categorical
    sizes = tuple(of_atoms[at] for at in ATOM_KIND), tuple(of_bonds[at] for at in BOND_KIND)
    atoms, bonds = kinds(chosen, sizes)
    owners = owners_of(chosen)
    alone = [only_here(one, owner) for one, owner in zip((atoms, bonds), owners, strict=True)]
    unseen = part_share(chosen, *alone)
    counts = chosen.structures[FINGERPRINT].values[:, :BITS] if FINGERPRINT in chosen.structures else None
    morgan = unary(np.zeros((0, BITS), np.uint8) if counts is None else counts)
    similarity = np.full(len(rows), np.nan)
    for start in range(0, morgan.shape[0], CHUNK):
        similar = tanimoto(morgan[start : start + CHUNK], morgan)
        similar[np.arange(len(similar)), start + np.arange(len(similar))] = 0.0  # not to itself
        similarity[start : start + CHUNK] = similar.max(axis=1)
    least = 0.0 if counts is None else float(np.quantile(similarity, 1 - ORDINARY, method="lower"))
    most = float(np.quantile(unseen, ORDINARY, method="higher"))
    domain = Domain(morgan, np.unique(atoms), np.unique(bonds), sizes, least, most)
    return domain, domain.judged(similarity, unseen)


def kinds(graphs: PackedGraphs, sizes: tuple[tuple[int, ...], tuple[int, ...]]) -> tuple[Array, Array]:
    """The kind of each atom and of each directed bond, as numbers."""
    of_atoms, of_bonds = sizes
    x = as_table(graphs.x)[:, ATOM_KIND].astype(np.int64)
    edge_attr = as_table(graphs.edge_attr)[:, BOND_KIND].astype(np.int64)
    atoms: Array = np.asarray(np.ravel_multi_index(tuple(x.T), of_atoms))
    first = np.repeat(graphs.node_ptr[:-1], graphs.num_edges)
    ends = x[graphs.edge_index + first, 0]  # (2, E)
    bonds: Array = np.asarray(np.ravel_multi_index((*ends, *edge_attr.T), (of_atoms[0], of_atoms[0], *of_bonds)))
    return atoms, bonds


def owners_of(graphs: PackedGraphs) -> tuple[Array, Array]:
    """The molecule of each atom and of each directed bond."""
    each = np.arange(len(graphs))
    return np.repeat(each, graphs.num_nodes), np.repeat(each, graphs.num_edges)


def part_share(graphs: PackedGraphs, atoms: Array, bonds: Array) -> Array:
    """The share of each molecule's atoms and bonds that are marked, a bond being two directed ones, ``(G,)``."""
    count, (of_atoms, of_bonds) = len(graphs), owners_of(graphs)
    marked = np.bincount(of_atoms, atoms, count) + np.bincount(of_bonds, bonds, count) / 2
    share: Array = marked / np.maximum(graphs.num_nodes + graphs.num_edges / 2, 1)
    return share


def only_here(kind: Array, owner: Array) -> Array:
    """Whether the kind of each atom or bond occurs in no other molecule."""
    known, place = np.unique(kind, return_inverse=True)
    pairs = np.unique(place * (owner.max(initial=0) + 1) + owner)
    molecules = np.bincount(pairs // (owner.max(initial=0) + 1), minlength=len(known))
    alone: Array = molecules[place] == 1
    return alone
