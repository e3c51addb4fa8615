import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdkit import rdBase

from policylearn.data.convert import pack_molecules
from policylearn.data.molecules import featurise
from policylearn.data.packed import GRAPH_ARRAYS, DataError, PackedGraphs
from tests.errors import raises_naming

ROOT = Path(os.environ.get("POLICYLEARN_DATA", "/nowhere"))


@pytest.mark.parametrize("name", ["ogbg-molesol", "ogbg-molbace"])
def test_features_of_stored_smiles_are_the_stored_arrays(name):
    path = ROOT / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"{path} is absent; set POLICYLEARN_DATA")
    stored = PackedGraphs.load(path)
    again = pack_molecules([featurise(text) for text in stored.smiles], stored.y, smiles=stored.smiles)
    for array in GRAPH_ARRAYS:
        np.testing.assert_array_equal(getattr(again, array), getattr(stored, array), err_msg=array)
    np.testing.assert_array_equal(again.extras["smiles"], stored.extras["smiles"])


def test_ethanol_by_hand():
    ethanol = featurise("CCO")
    # atomic number - 1, chirality, degree, charge + 5, hydrogens, radicals, SP3, aromatic, in a ring
    np.testing.assert_array_equal(
        ethanol.x, [[5, 0, 4, 5, 3, 0, 2, 0, 0], [5, 0, 4, 5, 2, 0, 2, 0, 0], [7, 0, 2, 5, 1, 0, 2, 0, 0]]
    )
    np.testing.assert_array_equal(ethanol.edge_index, [[0, 1, 1, 2], [1, 0, 2, 1]])
    np.testing.assert_array_equal(ethanol.edge_attr, np.zeros((4, 3)))


@pytest.mark.parametrize("smiles", ["C", "[Na+]", "*", "[H]"])
def test_single_atoms_have_no_edges(smiles):
    atom = featurise(smiles)
    assert (atom.x.shape, atom.edge_index.shape, atom.edge_attr.shape) == ((1, 9), (2, 0), (0, 3))


@pytest.mark.parametrize(
    ("smiles", "reason"),
    [
        ("CN(C)(C)(C)C", "atom # 1 N, 5"),
        ("c1cncc1", "0 1 2 3 4"),
        ("C1CC", "unclosed ring"),
        ("C(C", "position 2"),
        ("xyz", "position 1"),
        ("", "empty"),
        (" \t", "empty"),
        ("C\nC", "lines"),
        ("\ud800", "not text"),
        ("C1é𐀀" * 40, "character"),
        ("C1CC café", "unclosed ring"),
        ("CC |$oops", "'CC'"),
        ("C" * 3000 + "(", r"C\.\.\."),
    ],
)
def test_rejected_smiles_say_why_and_what_to_do(smiles, reason, capfd):
    with pytest.raises(DataError, match=reason) as caught:
        featurise(smiles)
    assert any(remedy in str(caught.value) for remedy in ("correct", "leave", "give", "use"))
    assert len(str(caught.value)) < 400
    assert capfd.readouterr() == ("", "")  # RDKit's own log stays off the screen


def test_reason_of_chemistry_needs_no_captured_log(monkeypatch):
    monkeypatch.delattr(rdBase, "CaptureErrorLog", raising=False)
    with raises_naming(DataError, "atom # 1"):
        featurise("CN(C)(C)(C)C")
    with pytest.raises(DataError):
        featurise("C1CC")


def test_unknown_bond_stereo_is_refused(monkeypatch):
    from policylearn.data import molecules

    def unknown(bond):
        raise ValueError("'STEREOATROPCW' is not in list")

    tables = molecules.feature_tables()._replace(bonds=molecules.FeatureRows(unknown, molecules.kind_of_bond, np.int8))
    monkeypatch.setattr(molecules, "feature_tables", lambda: tables)
    with raises_naming(DataError, "STEREONONE"):
        featurise("CC")


def test_no_molecules_cannot_be_packed():
    with pytest.raises(DataError):
        pack_molecules([])


def test_targets_default_to_missing():
    packed = pack_molecules([featurise("C"), featurise("CC")])
    assert packed.y.shape == (2, 1)
    assert np.isnan(packed.y).all()


def test_reading_a_molecule_asks_no_network():
    code = (
        "import sys, threading; from policylearn.data.molecules import featurise; assert 'ogb' not in sys.modules;"
        "featurise('CCO'); assert 'outdated' not in sys.modules; assert threading.active_count() == 1"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@given(st.text(max_size=30) | st.text(alphabet="CNOcno()[]=#123+-@/\\.Hl%", max_size=20))
def test_random_text_is_a_graph_or_a_data_error(text):
    try:
        graph = featurise(text)
    except DataError:
        return  # the only way to fail
    assert len(graph.x) > 0
    assert graph.edge_index.shape[1] == len(graph.edge_attr)
