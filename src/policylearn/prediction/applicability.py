"""How far molecules are from those that a model has learned from, and a warning for those that are far outside."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from policylearn.data import PackedGraphs, take_graphs
from policylearn.data.packed import Array, as_table
from policylearn.data.structures import FINGERPRINT
from policylearn.data.transforms.fingerprint import BITS
from policylearn.nn import Features
from policylearn.prediction.kernel_model import tanimoto, unary_counts
from policylearn.prediction.stored_arrays import read_arrays, reading, save_arrays

DOMAIN = "domain.safetensors"
CHUNK = 1024
ATOM_KIND, BOND_KIND = (0, 3, 7), (0,)
"""Among OGB's features of atoms the element, the charge and whether it is aromatic; of bonds the type."""
ORDINARY = 0.99
"""Share of the training molecules that lie inside, each seen from all others."""
Sizes = tuple[tuple[int, ...], tuple[int, ...]]
"""Categories of the features that make up the kind of an atom, and of a bond."""


@dataclass(frozen=True)
class Nearness:
    """How near molecules are to the training molecules, ``(G,)`` each."""

    similarity: Array  # largest Tanimoto similarity of Morgan counts to a training molecule; NaN without fingerprints
    unseen: Array  # share of atoms and bonds of kinds that no training molecule has
    far: Array  # whether a molecule is far outside

    def rows(self, chosen: Array | slice) -> Nearness:
        """Those of some molecules, or of each row of an answer."""
        return Nearness(self.similarity[chosen], self.unseen[chosen], self.far[chosen])


@dataclass(frozen=True)
class Domain:
    """The molecules that a model has learned from, as far as distances to them need it.

    An atom's kind is its element, its charge and whether it is aromatic; a bond's kind its type and the elements that
    it joins. Similarity is that of the run's first kind of fingerprint, by default Morgan's.
    """

    morgan: csr_matrix  # Morgan counts of the training molecules, from `unary_counts`; no rows where they have none
    kinds: Array  # of atoms and bonds that were seen, sorted; see `kinds_of`
    sizes: Sizes
    least_similarity: float = 0.0  # of a molecule inside
    most_unseen: float = 1.0  # of a molecule inside

    @property
    def has_similarity(self) -> bool:
        """Whether the training molecules have fingerprints."""
        return bool(self.morgan.shape[0])

    def nearness(self, graphs: PackedGraphs) -> Nearness:
        """Of molecules with the structures that training gave them."""
        parts = kinds_of(graphs, self.sizes)
        unseen = parts.share(~np.isin(parts.kind, self.kinds), len(graphs))
        similarity = np.full(len(graphs), np.nan)
        if self.has_similarity:
            similarity = largest_similarity(unary_counts(graphs.structures[FINGERPRINT].values[:, :BITS]), self.morgan)
        return self.flag_far(similarity, unseen)

    def flag_far(self, similarity: Array, unseen: Array) -> Nearness:
        """Similarity and unseen share of molecules, and whether these are far outside."""
        return Nearness(similarity, unseen, (similarity <= self.least_similarity) | (unseen > self.most_unseen))

    def warnings(self, found: Nearness) -> list[str]:
        """In what way each molecule is far outside; empty where it is inside."""
        said = []
        for similarity, unseen in zip(found.similarity, found.unseen, strict=True):
            reasons = []
            if similarity <= self.least_similarity:
                reasons.append(f"the most similar training molecule has a similarity of {similarity:.2f}")
            if unseen > self.most_unseen:
                reasons.append(f"{unseen:.0%} of its atoms and bonds are of kinds that training has not seen")
            said.append(f"far from the training molecules: {'; '.join(reasons)}" if reasons else "")
        return said

    def save(self, folder: Path) -> None:
        """Write it into a run folder."""
        first_bond = np.prod(self.sizes[0])
        arrays = {
            "columns": self.morgan.indices.astype(np.int32),
            "starts": self.morgan.indptr.astype(np.int64),
            "atoms": self.kinds[self.kinds < first_bond],
            "bonds": self.kinds[self.kinds >= first_bond] - first_bond,
        }
        limits = [self.least_similarity, self.most_unseen]
        facts = {"sizes": json.dumps(self.sizes), "limits": json.dumps(limits), "width": str(self.morgan.shape[1])}
        save_arrays(folder / DOMAIN, arrays, facts)

    @staticmethod
    def load(folder: Path) -> Domain | None:
        """Read it back; None where the run has none."""
        path = folder / DOMAIN
        if not path.is_file():
            return None
        with reading(path):
            arrays, facts = read_arrays(path)
            columns, starts = arrays["columns"], arrays["starts"]
            shape = (len(starts) - 1, int(facts["width"]))
            morgan = csr_matrix((np.ones(len(columns), np.float32), columns, starts), shape=shape)
            of_atoms, of_bonds = json.loads(facts["sizes"])
            kinds = np.concatenate([arrays["atoms"], arrays["bonds"] + np.prod(of_atoms)])
            return Domain(morgan, kinds, (tuple(of_atoms), tuple(of_bonds)), *json.loads(facts["limits"]))


def learn_domain(
    graphs: PackedGraphs, rows: Array, node_features: Features, edge_features: Features
) -> tuple[Domain, Nearness]:
    """The domain of the molecules that a model has learned from, and how near each of them is to all others."""
    chosen, count = take_graphs(graphs, rows), len(rows)
    of_atoms, of_bonds = node_features.categorical, edge_features.categorical
    sizes = tuple(of_atoms[at] for at in ATOM_KIND), tuple(of_bonds[at] for at in BOND_KIND)
    parts = kinds_of(chosen, sizes)
    kinds, place = np.unique(parts.kind, return_inverse=True)
    pairs = np.unique(place * count + parts.owner)  # a kind and a molecule that has it
    only_here = np.bincount(pairs // max(count, 1), minlength=len(kinds)) == 1
    unseen = parts.share(only_here[place], count)
    counts = chosen.structures[FINGERPRINT].values[:, :BITS] if FINGERPRINT in chosen.structures else None
    morgan = unary_counts(np.zeros((0, BITS), np.uint8) if counts is None else counts)
    similarity = np.full(count, np.nan) if counts is None else largest_similarity(morgan, morgan, among=True)
    least = 0.0 if counts is None else float(np.quantile(similarity, 1 - ORDINARY, method="lower"))
    most = float(np.quantile(unseen, ORDINARY, method="higher"))
    domain = Domain(morgan, kinds, sizes, least, most)
    return domain, domain.flag_far(similarity, unseen)


def largest_similarity(given: csr_matrix, known: csr_matrix, *, among: bool = False) -> Array:
    """The largest Tanimoto similarity of each molecule to known ones; ``among`` these, to all but itself."""
    found = np.empty(given.shape[0])
    for start in range(0, len(found), CHUNK):
        similar = tanimoto(given[start : start + CHUNK], known)
        if among:
            np.fill_diagonal(similar[:, start:], 0.0)
        found[start : start + CHUNK] = similar.max(axis=1)
    return found


class AtomsAndBonds(NamedTuple):
    """Kind, molecule and weight of each atom and of each directed bond, two of which make a bond."""

    kind: Array
    owner: Array
    weight: Array

    def share(self, marked: Array, count: int) -> Array:
        """The share of each molecule's atoms and bonds that are marked, ``(count,)``."""
        whole = np.bincount(self.owner, self.weight, count)
        share: Array = np.bincount(self.owner, self.weight * marked, count) / np.maximum(whole, 1)
        return share


def kinds_of(graphs: PackedGraphs, sizes: Sizes) -> AtomsAndBonds:
    """The kinds of all atoms, as numbers, and then of all directed bonds, as numbers behind those of atoms."""
    of_atoms, of_bonds = sizes
    x = as_table(graphs.x)[:, ATOM_KIND].astype(np.int64)
    edge_attr = as_table(graphs.edge_attr)[:, BOND_KIND].astype(np.int64)
    atoms = np.ravel_multi_index(tuple(x.T), of_atoms)
    ends = x[graphs.edge_index + np.repeat(graphs.node_ptr[:-1], graphs.num_edges), 0]  # (2, E)
    bonds = np.ravel_multi_index((*ends, *edge_attr.T), (of_atoms[0], of_atoms[0], *of_bonds))
    each, counts = np.arange(len(graphs)), (graphs.num_nodes, graphs.num_edges)
    return AtomsAndBonds(
        np.concatenate([atoms, bonds + np.prod(of_atoms)]),
        np.concatenate([np.repeat(each, count) for count in counts]),
        np.repeat([1.0, 0.5], [len(atoms), len(bonds)]),
    )
