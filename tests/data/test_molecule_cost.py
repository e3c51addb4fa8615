"""What counts as quick is quick, and molecules as chemists know them count as quick."""

from __future__ import annotations

import random
import time

import pytest
from rdkit import Chem, rdBase

from policylearn.data.preparation import EveryRDKitFeature, is_quick, prepare_molecules
from tests.data.test_rdkit_descriptors import SMILES, clique

C60 = (
    "c12c3c4c5c1c6c7c8c2c9c1c3c2c3c4c4c%10c5c5c6c6c7c7c%11c8c9c8c9c1c2c1c2c3c4c3c4c%10c5c5c6c6c7c7c%11c8c8c9c1c1c2c3"
    "c2c4c5c6c3c7c8c1c23"
)


@pytest.mark.parametrize("smiles", [*SMILES, C60, "", "C1", "\ud800", "xyz"], ids=lambda text: ascii(text)[:20])
def test_usual_molecules_are_quick(smiles):
    assert is_quick(smiles)


@pytest.mark.parametrize("smiles", [clique(8), clique(20), "[U]" + "(C)" * 40 + "C", "C" * 1001], ids=len)
def test_others_may_take_long(smiles):
    assert not is_quick(smiles)


def random_cage(draw, atoms, degree):
    """Atoms that each have about so many bonds to any others."""
    cage = Chem.RWMol()
    for _ in range(atoms):
        cage.AddAtom(Chem.Atom(draw.choice(["U", "W", "Si", "C", "N", "Pt"])))
    for _ in range(atoms * degree // 2):
        one, other = draw.sample(range(atoms), 2)
        if cage.GetBondBetweenAtoms(one, other) is None:
            cage.AddBond(one, other, Chem.BondType.SINGLE)
    return Chem.MolToSmiles(cage)


def test_no_random_cage_within_the_bound_takes_long():
    draw, tried = random.Random(0), 0
    with rdBase.BlockLogs():
        while tried < 12:
            smiles = random_cage(draw, draw.randint(6, 120), draw.randint(2, 6))
            if not is_quick(smiles) or Chem.MolFromSmiles(smiles) is None:
                continue
            graphs = prepare_molecules([smiles], ()).graphs
            assert graphs is not None
            started = time.process_time()
            EveryRDKitFeature().compute(graphs)
            assert time.process_time() - started < 3
            tried += 1
