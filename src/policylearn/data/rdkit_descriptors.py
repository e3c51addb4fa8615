"""RDKit's 2-D descriptors of a molecule, computed by RDKit's own functions.

What several of them need is computed once: the electrotopological indices, the characteristic polynomial and Crippen's
sums. Descriptors that list all paths of a molecule are left out where there are too many paths: a cage of a dozen metal
atoms, each bonded to all others, would keep RDKit busy for minutes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np
from rdkit import Chem
from rdkit.Chem import rdMolDescriptors

from policylearn.data.molecules import count_walks

# RDKit's type stubs leave these modules without types.
Descriptors: Any = import_module("rdkit.Chem.Descriptors")
EState: Any = import_module("rdkit.Chem.EState")
Graphs: Any = import_module("rdkit.Chem.Graphs")
entropy: Any = import_module("rdkit.ML.InfoTheory.entropy")

MOST_WALKS = 20_000
"""Molecules with more walks of a length have no descriptors that list paths of that length; drugs have hundreds."""
PATH_LENGTHS = {
    "Chi2n": 2, "Chi2v": 2, "Kappa2": 2, "Phi": 2, "Chi3n": 3, "Chi3v": 3, "Kappa3": 3, "Chi4n": 4, "Chi4v": 4,
}  # fmt: skip
"""Descriptors that list all paths, with the length of these in bonds."""
ESTATE = ("MaxAbsEStateIndex", "MaxEStateIndex", "MinAbsEStateIndex", "MinEStateIndex")


@cache
def descriptor_functions() -> dict[str, Callable[[Chem.Mol], float]]:
    """RDKit's 2-D descriptors by name, in its order."""
    found = dict(Descriptors.descList)
    # The first of these stores the indices with the molecule, where the others find them.
    return found | {name: partial(getattr(EState, name), force=False) for name in ESTATE}


def descriptor_names() -> list[str]:
    """Their names."""
    return list(descriptor_functions())


def describe_molecule(molecule: Chem.Mol, names: Sequence[str]) -> list[float]:
    """The values of some descriptors; NaN where there is none."""
    functions, shared = descriptor_functions(), shared_values(molecule)
    most = longest_paths(molecule)

    def value(name: str) -> float:
        if PATH_LENGTHS.get(name, 0) > most:
            return math.nan
        try:
            return float(shared[name]) if name in shared else float(functions[name](molecule))
        except (ValueError, RuntimeError, ArithmeticError, LookupError, TypeError):
            return math.nan  # as RDKit's own CalcMolDescriptors does

    return [value(name) for name in names]


def shared_values(molecule: Chem.Mol) -> dict[str, float]:
    """Pairs of descriptors that RDKit computes from the same sums; none where these fail, as RDKit's own then do."""
    try:
        logp, refraction = rdMolDescriptors.CalcCrippenDescriptors(molecule)
        adjacency = Chem.GetDistanceMatrix(molecule) == 1
        polynomial = np.abs(Graphs.CharacteristicPolynomial(molecule, adjacency))  # sizes of its coefficients
    except (ValueError, RuntimeError, ArithmeticError):
        return {}
    information = float(entropy.InfoEntropy(polynomial))
    return {
        "AvgIpc": information,
        "Ipc": float(sum(polynomial)) * information,
        "MolLogP": logp,
        "MolMR": refraction,
    }


def longest_paths(molecule: Chem.Mol) -> int:
    """Up to which length a molecule has few enough walks, and so paths, to list them all."""
    walks = count_walks(molecule, max(PATH_LENGTHS.values()))
    return next((length for length, count in enumerate(walks) if count > MOST_WALKS), len(walks))
