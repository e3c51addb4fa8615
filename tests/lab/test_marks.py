"""What each mark does for molecules with a large ring."""

from __future__ import annotations

import numpy as np

from lab.marks import MarkedRun, large_rings
from tests.molecule_graphs import grid


def test_a_ring_around_two_others_is_not_large() -> None:
    assert large_rings(grid(2, 3).edge_index, 4) == set()
    assert large_rings(grid(2, 3).edge_index, 3) == {0, 1, 2, 3, 4, 5}
    ring = np.array([np.arange(8), np.roll(np.arange(8), -1)])
    assert large_rings(ring, 6) == set(range(8))


def test_errors_are_told_for_each_mark_with_and_without_a_large_ring() -> None:
    edges = [np.array([[0, 1], [1, 0]])] * 3
    answers = np.array([[1.0, 2.0, 5.0], [1.0, 2.0, 3.0]])
    run = MarkedRun("learned-2", edges, 2, np.ones(3), [set(), {1}, {0}], np.array([[0, 0, 0]]), answers)
    assert run.rows() == [
        ("learned-2", "with", "2", "2.500 → 1.500", "50%"),
        ("learned-2", "without", "1", "0.000 → 0.000", ""),
    ]
    (panel,) = run.panels(4)
    assert (panel.title, panel.classes, panel.marks) == ("learned: 2.0 → 2.0\ntarget 1.0", [0, 1], {0: "1"})
