"""How far a mark is seen."""

from __future__ import annotations

import numpy as np
import pytest

from lab.theory.depth import diameters, layers_needed, mark_is_seen
from lab.theory.graphs import union_family
from policylearn.data.synthetic import csl_members
from tests.molecule_graphs import path


@pytest.mark.parametrize(("n", "least", "most"), [(13, 2, 3), (17, 3, 4), (29, 4, 7)])
def test_the_diameters_of_csl_graphs(n: int, least: int, most: int) -> None:
    members = csl_members(n)
    found = diameters(members)
    assert (found.min(), found.max()) == (least, most)
    assert (layers_needed(members) == found).all()
    assert mark_is_seen(members, n // 2).all()
    assert not mark_is_seen(members, least - 1).any()


def test_the_diameter_of_a_path() -> None:
    assert diameters(path(7)).tolist() == [6]


def test_a_mark_never_leaves_its_component() -> None:
    pieces = union_family(csl_members(13), 2)
    assert (layers_needed(pieces) == -1).all()
    assert not np.any(mark_is_seen(pieces, 26))
