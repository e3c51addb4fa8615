"""Descriptors are RDKit's own values, bit for bit, however they are computed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rdkit import Chem, rdBase
from rdkit.Chem import QED, Descriptors, Fragments

from policylearn.data import rdkit_descriptors
from policylearn.data.molecule_parts import MoleculeParts, fragment_screen
from policylearn.data.rdkit_descriptors import alert_screen, describe_molecule, descriptor_forms, descriptor_names
from policylearn.data.smarts_screen import SmartsScreen, environments
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


def test_another_version_of_a_descriptor_is_left_to_rdkit(monkeypatch):
    monkeypatch.setitem(rdkit_descriptors.FORMS, "BertzCT", ("0", lambda parts: -1.0))
    monkeypatch.setitem(rdkit_descriptors.FORMS, "BalabanJ", ("1.0.0", lambda parts: -1.0))
    descriptor_forms.cache_clear()
    try:
        complexity, index = describe_molecule(read("CCO"), ["BertzCT", "BalabanJ"])
    finally:
        descriptor_forms.cache_clear()
    assert complexity == Descriptors.BertzCT(read("CCO")) > 0
    assert index == -1.0


@pytest.mark.parametrize("screen", [alert_screen(), fragment_screen()[0]], ids=["alerts", "fragments"])
def test_no_pattern_that_matches_is_passed_over(screen):
    passed_over = 0
    for smiles in SMILES:
        molecule = read(smiles)
        possible = screen.possible(*MoleculeParts(molecule).kinds)
        matching = {at for at, pattern in enumerate(screen.patterns) if molecule.HasSubstructMatch(pattern)}
        assert matching <= possible, smiles
        passed_over += len(screen.patterns) - len(possible)
    assert passed_over > len(SMILES) * len(screen.patterns) / 3  # or it would be for nothing


def test_screens_hold_all_patterns():
    assert len(alert_screen().patterns) == len(QED.StructuralAlerts)
    assert len(fragment_screen()[0].patterns) == len(Fragments.fns)


@pytest.mark.parametrize(
    ("smarts", "smiles", "may"),
    [
        ("[F,Cl]", "CCBr", False), ("[!#6]", "CC", False), ("[!C]", "c1ccccc1", True), ("C=C", "CC", False),
        ("[+]", "CC[O-]", False), ("[13C]", "CC", False), ("[$(P=O),$(S=O)]", "CC=O", False), ("a", "CC", False),
        ("[$(P=O),$(S=O)]", "CS(C)=O", True), ("[$(P=O);!$(S)]", "CC", True), ("[!$(P)]", "CC", True), ("*", "C", True),
        ("[N;!$(N=O)]", "CC", False), ("[C;H3]", "C=C", True), ("[!C;!N]", "CN", False),
    ],
)  # fmt: skip
def test_what_a_screen_can_tell(smarts, smiles, may):
    screen = SmartsScreen([Chem.MolFromSmarts(smarts)])
    assert bool(screen.possible(*MoleculeParts(read(smiles)).kinds)) is may


def test_environments_of_one_atom_are_read():
    assert len(environments(Chem.MolFromSmarts("[$(C(=O)[OH]),$(CN)]"))) == 2
    assert len(environments(Chem.MolFromSmarts("[$(C(=O)[OH]);$(CN)]"))) == 1


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
    from policylearn.data.molecules import featurise_many

    return pack_molecules(list(featurise_many(SMILES[7:30])), smiles=SMILES[7:30])
