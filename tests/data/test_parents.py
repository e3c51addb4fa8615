"""Salts and charged molecules are read as their parent, and picks are counted in the molecule as it was given."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from rdkit import Chem

import policylearn
from policylearn.cli import main
from policylearn.data import read_table
from policylearn.data.parents import parent_of
from policylearn.data.preparation import prepare_molecules
from tests.training.molecules import molesol, write_table

TOFACITINIB = "C[C@@H]1CCN(CC1N(C)c1ncnc2[nH]ccc12)C(=O)CC#N"
CITRATE = "OC(=O)CC(O)(CC(O)=O)C(O)=O"


@pytest.mark.parametrize(
    ("smiles", "parent"),
    [
        ("CC(=O)[O-].[Na+]", "CC(=O)O"),
        (f"{TOFACITINIB}.Cl", TOFACITINIB),
        (f"{CITRATE}.{TOFACITINIB}", TOFACITINIB),
        ("[NH3+]CC(=O)[O-]", "NCC(=O)O"),
        ("C[N+](C)(C)C.[Cl-]", "C[N+](C)(C)C"),
        ("O.O.CCN", "CCN"),
        ("[Fe+2].c1cc[cH-]c1.c1cc[cH-]c1", "c1cc[cH-]c1"),
    ],
)
def test_the_parent_is_the_largest_organic_part_without_charge(smiles: str, parent: str) -> None:
    found = parent_of(smiles)
    assert found is not None
    assert found.smiles == Chem.CanonSmiles(parent)
    given, read = Chem.MolFromSmiles(smiles), Chem.MolFromSmiles(found.smiles)
    for atom, place in zip(read.GetAtoms(), found.atoms, strict=True):
        assert given.GetAtomWithIdx(place).GetSymbol() == atom.GetSymbol()
        assert given.GetAtomWithIdx(place).GetDegree() == atom.GetDegree()


@pytest.mark.parametrize("smiles", ["CCO", "[Na+].[Cl-]", "[O-][N+](=O)c1ccccc1", "C[N+](C)(C)CC([O-])=O", "CC-C"])
def test_other_molecules_are_left_as_they_are(smiles: str) -> None:
    assert parent_of(smiles) is None


def test_graphs_say_which_atoms_they_hold() -> None:
    graphs = prepare_molecules(["CC", "Cl.CCN"], (), parents=True).graphs
    assert graphs is not None
    assert graphs.smiles == ["CC", "CCN"]
    assert graphs.extras["atoms"].tolist() == [0, 1, 1, 2, 3]
    whole = prepare_molecules(["CC", "Cl.CCN"], (), parents=False).graphs
    assert whole is not None
    assert whole.num_nodes.tolist() == [2, 4]


def test_a_salt_is_predicted_as_its_parent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    smiles, values = molesol()
    rows = [f"{text}.Cl" if at % 5 == 0 else text for at, text in enumerate(smiles[:60])]
    table = write_table(tmp_path / "m.csv", ("smiles", "y"), rows, values[:60])
    quick = ["--network-only", "--policy", "learned", "--epochs", "1", "--prediction.channels", "4"]
    words = ["--target", "y", "--data.split", "random", *quick]
    assert main(["train", str(table), "-o", str(tmp_path / "run"), *words]) == 0
    assert "--data.standardise none" in capsys.readouterr().err
    new = [TOFACITINIB, f"{TOFACITINIB}.Cl", f"{CITRATE}.{TOFACITINIB}"]
    predictor = policylearn.load(tmp_path / "run")
    answer = predictor.answer(new)
    np.testing.assert_allclose(answer.values, answer.values[0].repeat(3)[:, None], rtol=1e-5)
    table = write_table(tmp_path / "new.csv", ("smiles", "y"), new, ["0", "0", "0"])
    assert main(["predict", str(tmp_path / "run"), str(table), "-o", str(tmp_path / "out.csv"), "--picks"]) == 0
    with (tmp_path / "out.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    assert len({row["predicted_y"][:6] for row in found}) == 1
    picks = [[int(atom) for atom in row["picked_atoms"].split()] for row in found]
    shift = Chem.MolFromSmiles(CITRATE).GetNumAtoms()
    drugs = [Chem.MolFromSmiles(text) for text in new]
    kinds = [[drug.GetAtomWithIdx(atom).GetSymbol() for atom in own] for drug, own in zip(drugs, picks, strict=True)]
    assert min(picks[2]) >= shift
    assert sorted(kinds[1]) == sorted(kinds[2])
    assert picks == answer.picks


def test_salts_are_kept_whole_where_that_is_asked_for(tmp_path: Path) -> None:
    table = write_table(tmp_path / "m.csv", ("smiles", "y"), ["CCN.Cl", "CCO", "CC"] * 5, [str(n) for n in range(15)])
    assert read_table(table, targets="y", parents=False).graphs.num_nodes[0] == 4
    assert read_table(table, targets="y").graphs.num_nodes[0] == 3
