"""Descriptors of molecules: finite, standardised on the training part, the same for one molecule as for many."""

from __future__ import annotations

import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import Descriptors as Rdkit

from policylearn.data import DataError, PackedGraphs, pack_molecules, take_graphs
from policylearn.data.molecules import featurise
from policylearn.data.rdkit_descriptors import descriptor_names
from policylearn.data.transforms import Transform, apply, fit_apply
from policylearn.data.transforms.descriptors import Descriptors, compress, describe_all
from tests.errors import raises_naming

SMILES = [
    "CCO", "c1ccccc1", "CC(=O)O", "CCN(CC)CC", "O=C(O)c1ccccc1", "C1CCCCC1",
    "CC(C)Cc1ccc(cc1)C(C)C(=O)O",
    "FC(F)(F)c1ccccc1", "CCCCCCCC", "C#N", "C", "OCC(O)C(O)C(O)C(O)CO", "C1=CC=CN1", "Clc1ccc(Cl)cc1",
    "[Na+].[Cl-]", "[He]",
]  # fmt: skip


def molecules(smiles: list[str]) -> PackedGraphs:
    return pack_molecules([featurise(text) for text in smiles], smiles=smiles)


def values(graphs: PackedGraphs) -> np.ndarray:
    return graphs.structures["descriptors"].values


def test_the_training_part_is_standardised_and_the_rest_follows() -> None:
    graphs = molecules(SMILES)
    train = np.arange(12)
    (fitted,), done = fit_apply([Descriptors(clip=100.0)], graphs, train)
    assert isinstance(fitted, Descriptors)
    seen = values(done)[train].astype(float)
    np.testing.assert_allclose(seen.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(seen.std(axis=0), 1, atol=1e-3)
    assert fitted == Descriptors(clip=100.0).fit(take_graphs(graphs, train))
    assert values(done).shape == (len(SMILES), len(fitted.columns))
    assert 20 < len(fitted.columns) < len(descriptor_names()), "some hardly vary and are dropped"
    plain = np.array([Rdkit.MolLogP(Chem.MolFromSmiles(text)) for text in SMILES])
    at = fitted.columns.index("MolLogP")
    np.testing.assert_allclose(values(done)[:, at], (plain - plain[train].mean()) / plain[train].std(), atol=1e-5)


def test_a_molecule_alone_has_the_row_that_it_has_in_company() -> None:
    graphs = molecules(SMILES)
    (fitted,), done = fit_apply([Descriptors()], graphs, np.arange(len(SMILES)))
    stored = Transform.from_json(fitted.to_json())
    for at in (0, 6, 15):
        alone = apply([stored], molecules([SMILES[at]]))
        np.testing.assert_array_equal(values(alone)[0], values(done)[at])
    assert np.abs(values(done)).max() <= 4


def test_gaps_and_overflows_become_finite_numbers() -> None:
    values = compress(np.array([-3.0, 100.0, 100 * np.e, -100 * np.e, np.inf, -np.inf, np.nan]))
    np.testing.assert_allclose(values[:4], [-3, 100, 200, -200])
    assert np.isfinite(values[4:6]).all()
    assert values[4] == -values[5] > 1000
    assert np.isnan(values[6])
    huge = "C" * 120
    _, done = fit_apply([Descriptors()], molecules([*SMILES, huge]), np.arange(12))
    assert np.isfinite(done.structures["descriptors"].values).all()
    raw = describe_all(["[Na+].[Cl-]"], descriptor_names())[0]
    assert np.isnan(raw).any(), "a salt without bonds has gaps"


def test_a_molecule_that_fails_the_valence_check_alone_is_described() -> None:
    found = dict(zip(descriptor_names(), describe_all(["F[P-](F)(F)(F)(F)(F)F"], descriptor_names())[0], strict=True))
    assert found["HeavyAtomCount"] == 8
    with raises_naming(DataError, "molecule 3"):
        describe_all(["C", "C", "C", "c1ccc"], descriptor_names())


def test_what_is_missing_is_named() -> None:
    graphs = molecules(SMILES[:3])
    with pytest.raises(DataError):
        Descriptors()(graphs)
    with raises_naming(DataError, "SMILES"):
        Descriptors().fit(pack_molecules([featurise(text) for text in ["CC"]]))
    with pytest.raises(DataError):
        Descriptors().fit(molecules(["CC", "CC", "CC"]))
    with pytest.raises(DataError):
        Descriptors(columns=("Old",), mean=(0.0,), deviation=(1.0,))(graphs)
