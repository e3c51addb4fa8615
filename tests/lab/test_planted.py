"""The planted benchmark: the statements of its docstring, and a run from end to end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lab.__main__ import main
from lab.planted import NODES_PER_DECOY, RIM, planted_graphs
from lab.theory.wl import refine
from policylearn.bags import Graphs
from policylearn.data import PackedGraphs, make_batch
from policylearn.data.synthetic import join
from policylearn.policies.ranked import RankedPolicy, degree, subgraph_centrality
from tests.errors import raises_naming

N = 150


def pair() -> tuple[PackedGraphs, np.ndarray]:
    """Two graphs that differ in the kind of the keyed wheel alone, and its rim."""
    both = [planted_graphs(np.array([N]), np.random.default_rng(7), np.array([kind])) for kind in (0, 1)]
    return join(both), both[0].extras["decisive"]


def test_only_a_mark_on_the_keyed_rim_tells_the_kinds_apart() -> None:
    graphs, rim = pair()
    assert rim.sum() == RIM
    size = len(rim)
    alike = []
    for node in range(size):
        marks = np.zeros(2 * size, dtype=np.int64)
        marks[[node, size + node]] = 1
        first, second = refine(graphs, marks).kinds()
        alike.append(first == second)
    np.testing.assert_array_equal(np.array(alike), ~rim)
    rest = np.tile(~rim, 2).astype(np.int64)  # all marks outside the rim at once, in one copy
    assert len(set(refine(graphs, rest * np.tile(np.arange(size), 2)).kinds())) == 1


@pytest.mark.parametrize("score", [degree, subgraph_centrality])
def test_central_nodes_are_hubs(score: object) -> None:
    packed = planted_graphs(np.full(20, N), np.random.default_rng(0))
    graphs = Graphs.of(make_batch(packed, range(20)))
    picked = RankedPolicy(score, 5)(graphs).roots.numpy()  # type: ignore[arg-type]
    assert not packed.extras["decisive"][picked].any()
    assert degree(graphs).numpy()[picked].min() == RIM + 1


def test_rims_are_rare_and_look_different_from_all_other_nodes() -> None:
    packed = planted_graphs(np.array([N]), np.random.default_rng(1))
    colours, rim = refine(packed, rounds=2).colours, packed.extras["decisive"]
    assert (np.diff(packed.node_ptr) - N) in (-1, 0)
    assert len(set(colours[rim])) == 1
    assert not set(colours[rim]) & set(colours[~rim])
    assert N // NODES_PER_DECOY > 5, "more decoys than picks"
    with raises_naming(ValueError, "18"):
        planted_graphs(np.array([16]), np.random.default_rng(0))


def test_a_run_is_made_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["planted", "--policies", "learned", "none", "--picks", "1", "--steps", "2", "-o", str(tmp_path)]
    assert main([*words, "--report"]) == 1
    for _ in range(2):
        assert main([*words, "--sizes", "30", "60", "--graphs", "4", "2"]) == 0
    assert len(list(tmp_path.glob("*.json"))) == 2
    out = capsys.readouterr().out
    assert "| learned | 1 | 0 |" in out
    assert "| none | 0 | 0 |" in out
