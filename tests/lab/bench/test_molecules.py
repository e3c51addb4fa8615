"""Molecules for measurements: all different, always the same."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from rdkit import Chem

from lab.bench.molecules import GROUPS, bound, different_molecules, may_change, usual
from lab.bench.table_to_table import first_rows, write_rows

SMALL = ("ogbg-molesol",)
COUNT = 3000


def canonical(smiles: str) -> str:
    return Chem.MolToSmiles(Chem.MolFromSmiles(smiles))


def test_all_differ_beyond_those_of_the_datasets() -> None:
    found = list(islice(different_molecules(SMALL), COUNT))
    assert len({canonical(smiles) for smiles in found}) == COUNT
    assert all(usual(Chem.MolFromSmiles(smiles)) for smiles in found)
    assert found[:1500] == list(islice(different_molecules(SMALL), 1500))


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_takes_the_place_of_a_hydrogen(group: str) -> None:
    benzene = Chem.MolFromSmiles("c1ccccc1")
    made = bound(benzene, 0, Chem.MolFromSmiles(group))
    assert Chem.MolToSmiles(made) == canonical(f"c1ccccc1{group}")


def test_only_carbons_with_a_hydrogen_to_spare_change() -> None:
    molecule = Chem.MolFromSmiles("C[C@H](F)/C=C/N(C)C(C)(C)C(=O)O")
    assert [atom.GetIdx() for atom in molecule.GetAtoms() if may_change(atom)] == [0, 6, 8, 9]


def test_a_table_is_cut_or_begun_again(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "m.csv", ["smiles"], [["C"], ["CC"], ["CCC"]])
    assert first_rows(data, 3) == data
    assert first_rows(data, 2).read_text().split() == ["smiles", "C", "CC"]
    assert first_rows(data, 5).read_text().split() == ["smiles", "C", "CC", "CCC", "C", "CC"]
