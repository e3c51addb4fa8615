"""Graphs that come from RDKit's binary form are those that come atom by atom."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem, rdBase

from policylearn.data import atom_kinds, molecules
from policylearn.data.atom_kinds import KnownKinds, featurise_molecules, known_kinds
from policylearn.data.binary_form import Forms
from policylearn.data.molecules import featurise_molecule
from policylearn.data.packed import DataError, PackedGraphs

ROOT = Path(os.environ.get("POLICYLEARN_DATA", "/nowhere"))
PLAIN = (
    "C", "CC", "C=C", "C#N", "c1ccccc1", "c1cc[nH]c1", "[NH4+]", "[O-][N+](=O)c1ccccc1", "[Fe+2]", "[13CH4]", "[2H]C",
    "C[C@H](F)Cl", "C[C@@H](F)Cl", "C[S@](=O)CC", "F/C=C/F", "F/C=C\\F", "C/C=C/C=C", "[CH3]", "[CH]", "[C]",
    "[Na+].[Cl-]",
    "C1CC1", "C1CC2CC1CC2", "N->B", "F[P-](F)(F)(F)(F)F", "[U]", "[Pt@SP1](F)(Cl)(Br)I", "[B-]1(F)(F)OC=CC=[O+]1",
    "[H][H]", "C[N+](C)(C)CC([O-])=O", "C" * 255,
)  # fmt: skip
NOT_UNDERSTOOD = ("[CH3:7]C", "*C", "C" * 256)


@pytest.fixture(autouse=True)
def nothing_known() -> None:
    known_kinds.cache_clear()


def read(smiles: list[str]) -> list[Chem.Mol]:
    with rdBase.BlockLogs():
        found = [Chem.MolFromSmiles(text) for text in smiles]
    return [molecule for molecule in found if molecule is not None and molecule.GetNumAtoms()]


def assert_as_atom_by_atom(some: list[Chem.Mol]) -> None:
    for molecule, graph in zip(some, featurise_molecules(some), strict=True):
        expected = featurise_molecule(molecule)
        assert not isinstance(graph, DataError)
        for name in ("x", "edge_index", "edge_attr"):
            ours, theirs = getattr(graph, name), getattr(expected, name)
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs, err_msg=f"{name} of {Chem.MolToSmiles(molecule)}")


def test_all_kinds_of_molecules_in_any_order() -> None:
    some = read([*PLAIN, *NOT_UNDERSTOOD])
    assert len(some) == len(PLAIN) + len(NOT_UNDERSTOOD)
    for order in (some, some[::-1]):
        known_kinds.cache_clear()
        assert_as_atom_by_atom(order)
        assert_as_atom_by_atom(order)  # now all kinds are known


def test_what_is_not_understood_is_said_to_be() -> None:
    assert Forms.of(read(list(PLAIN))).understood.all()
    assert not Forms.of(read(list(NOT_UNDERSTOOD))).understood.any()
    assert list(featurise_molecules([])) == []


@pytest.mark.parametrize("name", ["ogbg-molesol", "ogbg-molbace"])
def test_real_molecules(name: str) -> None:
    path = ROOT / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"{path} is absent; set POLICYLEARN_DATA")
    some = read(PackedGraphs.load(path).smiles or [])
    assert Forms.of(some).understood.all()
    assert_as_atom_by_atom(some)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text(alphabet="CNOSPFcnos()[]=#123+-@/\\.Hl%:", max_size=25), max_size=5))
def test_random_text(texts: list[str]) -> None:
    assert_as_atom_by_atom(read(texts))


def test_atoms_are_asked_for_only_where_their_kind_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(atom_kinds, "featurise_molecule", lambda one: asked.append(one) or featurise_molecule(one))
    some = read(["CCO", "CCO", "CCCO", "CCCCO", "CCN"])
    assert_as_atom_by_atom(some)
    assert asked == [some[0], some[4]]  # propanol has no kind that ethanol has not


def test_an_error_is_that_of_its_molecule_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = molecules.feature_tables()

    def look_up(bond: Chem.Bond) -> list[int]:
        if bond.GetBondType() == Chem.BondType.TRIPLE:
            raise ValueError
        return tables.bonds.look_up(bond)

    monkeypatch.setattr(molecules, "feature_tables", lambda: tables._replace(bonds=molecules.BondRows(look_up)))
    good, bad, again = featurise_molecules(read(["CC", "C#C", "CC"]))
    assert isinstance(bad, DataError)
    assert "remove that label" in str(bad)
    assert not isinstance(good, DataError)
    assert not isinstance(again, DataError)


def test_another_version_is_not_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        def __init__(self, molecule: Chem.Mol) -> None:
            self.form = bytearray(molecule.ToBinary())
            self.form[12] += 1

        def ToBinary(self) -> bytes:  # noqa: N802 - RDKit's name
            return bytes(self.form)

    some = read(["CC", "CCO"])
    assert not Forms.of([Other(one) for one in some]).understood.any()  # type: ignore[misc]


def test_a_form_that_is_cut_short_is_not_understood() -> None:
    class Cut:
        def __init__(self, form: bytes) -> None:
            self.form = form

        def ToBinary(self) -> bytes:  # noqa: N802 - RDKit's name
            return self.form

    whole = read(["c1ccccc1[C@H](F)/C=C/Cl"])[0].ToBinary()
    rings = whole.rindex(b"\x42\x01\x00\x00\x00\x06") + 12
    cut = Forms.of([Cut(whole[:end]) for end in range(len(whole))])  # type: ignore[misc]
    assert not cut.understood[:rings].any()


def test_kinds_that_contradict_each_other_are_an_error() -> None:
    kinds = KnownKinds(2, np.int8)
    kinds.learn(np.array([5, 7]), np.array([[1, 2], [3, 4]], np.int8))
    features, known = kinds.find(np.array([7, 6, 5]))
    assert known.tolist() == [True, False, True]
    assert features[[0, 2]].tolist() == [[3, 4], [1, 2]]
    with pytest.raises(RuntimeError, match="cannot be told apart"):
        kinds.learn(np.array([7]), np.array([[3, 5]], np.int8))
