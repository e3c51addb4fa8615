"""Molecules for measurements: all different, always the same."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from rdkit import Chem

from lab.bench.molecules import ELEMENTS, different_molecules
from lab.bench.table_to_table import first_rows, write_rows

SMALL = ("ogbg-molesol",)


def test_all_differ_and_have_the_usual_elements() -> None:
    found = list(different_molecules(SMALL))
    molecules = [Chem.MolFromSmiles(smiles) for smiles in found]
    assert len({Chem.MolToSmiles(molecule) for molecule in molecules}) == len(found) > 900
    assert all(atom.GetAtomicNum() in ELEMENTS for molecule in molecules for atom in molecule.GetAtoms())
    assert found[:100] == list(islice(different_molecules(SMALL), 100))


def test_a_table_is_cut_or_begun_again(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "m.csv", ["smiles"], [["C"], ["CC"], ["CCC"]])
    assert first_rows(data, 3) == data
    assert first_rows(data, 2).read_text().split() == ["smiles", "C", "CC"]
    assert first_rows(data, 5).read_text().split() == ["smiles", "C", "CC", "CCC", "C", "CC"]
