"""Descriptors are RDKit's own values, bit for bit, however they are computed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rdkit import Chem, rdBase
from rdkit.Chem import Descriptors

from policylearn.data import rdkit_descriptors
from policylearn.data.rdkit_descriptors import describe_molecule, descriptor_names, longest_paths
from policylearn.data.transforms.descriptors import Descriptors as DescriptorsTransform
from policylearn.data.transforms.descriptors import describe_all

SMILES = [
    "C", "[H]", "[H][H]", "[Na+].[Cl-]", "*", "[2H]C([2H])[2H]", "[13CH4]", "CCO", "O=C=O", "N#N", "C#CC=C",
    "CC(=O)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "C[C@H](N)C(=O)O", "C/C=C/C", "C/C=C\\C",
    "OC(F)(Cl)Br", "FC(F)(F)S(=O)(=O)O", "CS(=O)(=O)c1ccc(F)cc1", "C1CC1C2CC2", "C1CCC2(CC1)CCCC2", "c1ccc2ccccc2c1",
    "C[N+](C)(C)CC([O-])=O", "[O-][N+](=O)c1ccccc1", "CN=[N+]=[N-]", "O=P(O)(O)OCC", "C[Si](C)(C)C", "B(O)O", "[SH-]",
    "c1ccsc1", "c1cc[nH]c1", "N[C@@H](CS)C(=O)NCC(=O)O", "CC(C)(C)OC(=O)N1CCN(CC1)c1ncc(Cl)cn1", "IC1=CC=CN=C1",
    "CCC1=[O+][Cu-3]2([O+]=C(CC)C1)[O+]=C(CC)CC(CC)=[O+]2", "O=C1C=CC(=O)C=C1", "C1=CC=CC=CC=C1", "[CH2]C", "[C-]#[O+]",
    "CC1(C)SC2C(NC(=O)Cc3ccccc3)C(=O)N2C1C(=O)O", "OCC1OC(O)C(O)C(O)C1O", "CCCCCCCCCCCCCCCC", "CC(C)=CCCC(C)=CC=O",
    "Cl.Cl.CN(C)CCOC(c1ccccc1)c1ccccc1", "C" * 60, "C1" + "C" * 40 + "1", "CC(N)C(=O)N" * 30,
]  # fmt: skip


def read(smiles):
    with rdBase.BlockLogs():
        return Chem.MolFromSmiles(smiles)


def reference(smiles):
    with rdBase.BlockLogs():
        return [float(value) for value in Descriptors.CalcMolDescriptors(read(smiles), missingVal=math.nan).values()]


@pytest.mark.parametrize("smiles", SMILES, ids=lambda text: text[:20])
def test_values_are_rdkits(smiles):
    with rdBase.BlockLogs():
        ours = describe_molecule(read(smiles), descriptor_names())
    wrong = [
        (name, value, truth)
        for name, value, truth in zip(descriptor_names(), ours, reference(smiles), strict=True)
        if value != truth and not (math.isnan(value) and math.isnan(truth))
    ]
    assert not wrong


def test_some_descriptors_are_those_of_all():
    some = ["qed", "fr_benzene", "SMR_VSA3", "Ipc", "VSA_EState4"]
    whole = dict(zip(descriptor_names(), reference(SMILES[11]), strict=True))
    assert describe_molecule(read(SMILES[11]), some) == [whole[name] for name in some]


def clique(atoms, element="U"):
    """The SMILES of metal atoms, each bonded to all others."""
    molecule = Chem.RWMol()
    for _ in range(atoms):
        molecule.AddAtom(Chem.Atom(element))
    for end in range(atoms):
        for start in range(end):
            molecule.AddBond(start, end, Chem.BondType.SINGLE)
    return Chem.MolToSmiles(molecule)


@pytest.mark.parametrize("atoms", [12, 14, 20])
def test_paths_are_not_listed_where_there_are_too_many(atoms):
    """A molecule of a dozen metal atoms kept RDKit busy for minutes."""
    molecule = read(clique(atoms))
    assert longest_paths(molecule) < 4
    values = dict(zip(descriptor_names(), describe_molecule(molecule, descriptor_names()), strict=True))
    assert math.isnan(values["Chi4n"])
    assert values["MolWt"] == pytest.approx(atoms * 238.03, rel=1e-4)


@pytest.mark.parametrize("smiles", ["C" * 240, SMILES[-1]], ids=["chain", "peptide"])
def test_paths_of_large_molecules_are_listed(smiles):
    assert longest_paths(read(smiles)) == 4


def test_a_prediction_computes_what_the_training_kept(molecules):
    fitted = DescriptorsTransform().fit(molecules)
    needed, whole = fitted.compute_needed(molecules), fitted.compute(molecules)
    assert np.isnan(needed["descriptors"].values).all(axis=0).sum() > len(descriptor_names()) - len(fitted.columns) - 1
    np.testing.assert_array_equal(
        fitted.finish(needed)["descriptors"].values, fitted.finish(whole)["descriptors"].values
    )


def test_a_repeated_smiles_is_described_once(monkeypatch):
    seen = []
    plain = rdkit_descriptors.describe_molecule

    def counting(molecule, names):
        seen.append(molecule)
        return plain(molecule, names)

    monkeypatch.setattr("policylearn.data.transforms.descriptors.describe_molecule", counting)
    values = describe_all(["CCO", "CC", "CCO"], ["MolWt"])
    assert len(seen) == 2
    assert values[0] == values[2] != values[1]


@pytest.fixture
def molecules():
    from policylearn.data.convert import pack_molecules
    from policylearn.data.molecules import featurise

    return pack_molecules([featurise(text) for text in SMILES[7:30]], smiles=SMILES[7:30])
