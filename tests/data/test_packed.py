"""Broken packed data is refused with place, value and remedy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policylearn.data import DataError, PackedGraphs
from policylearn.data.packed import GRAPH_ARRAYS, smiles_bytes
from tests.errors import raises_naming

quick = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def packed(draw: st.DrawFn) -> PackedGraphs:
    """Any sound collection: empty graphs, graphs without edges, self loops and doubles included."""
    nodes = draw(st.lists(st.integers(0, 5), min_size=1, max_size=6))
    nodes[0] = max(nodes[0], 1)
    edges = [draw(st.integers(0, 6)) if n else 0 for n in nodes]
    ends = [[draw(st.integers(0, n - 1)) for _ in range(2 * e)] for n, e in zip(nodes, edges, strict=True)]
    pairs = [np.array(e, dtype=np.int16).reshape(2, -1) for e in ends]
    return PackedGraphs(
        x=np.linspace(0, 1, sum(nodes), dtype=np.float32).reshape(-1, 1),
        edge_index=np.concatenate(pairs, axis=1),
        edge_attr=np.ones((sum(edges), 2), dtype=np.float32),
        node_ptr=np.concatenate([[0], np.cumsum(nodes)]),
        edge_ptr=np.concatenate([[0], np.cumsum(edges)]),
        y=np.zeros(len(nodes)),
    )


@quick
@given(packed())
def test_a_sound_file_comes_back_as_it_was(tmp_path: Path, graphs: PackedGraphs) -> None:
    graphs.save(tmp_path / "a.npz")
    again = PackedGraphs.load(tmp_path / "a.npz")
    for name in GRAPH_ARRAYS:
        np.testing.assert_array_equal(getattr(again, name), getattr(graphs, name))
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]


@quick
@given(graphs=packed(), data=st.data())
def test_an_edge_to_a_node_that_is_not_there_names_file_graph_and_ids(
    tmp_path: Path, graphs: PackedGraphs, data: st.DataObject
) -> None:
    if not graphs.edge_index.shape[1]:
        return
    edge = data.draw(st.integers(0, graphs.edge_index.shape[1] - 1))
    graph = int(np.searchsorted(graphs.edge_ptr, edge, side="right")) - 1
    count = int(graphs.num_nodes[graph])
    wrong = data.draw(st.one_of(st.integers(count, 300), st.integers(-300, -1)))
    edges = graphs.edge_index.copy()
    edges[data.draw(st.integers(0, 1)), edge] = wrong
    replace(graphs, edge_index=edges).save(tmp_path / "edges.npz")
    with pytest.raises(DataError) as caught:
        PackedGraphs.load(tmp_path / "edges.npz")
    message = str(caught.value)
    assert "edges.npz" in message
    assert f"graph {graph}," in message
    assert str(wrong) in message
    assert f"{count} nodes" in message
    assert "local" in message


@quick
@given(graphs=packed(), data=st.data())
def test_a_feature_that_is_no_number_names_graph_and_row(
    tmp_path: Path, graphs: PackedGraphs, data: st.DataObject
) -> None:
    which = data.draw(st.sampled_from(["x", "edge_attr"]))
    values = getattr(graphs, which).copy()
    if not len(values):
        return
    row = data.draw(st.integers(0, len(values) - 1))
    value = data.draw(st.sampled_from([np.nan, np.inf, -np.inf]))
    values[row, 0] = value
    pointer = graphs.node_ptr if which == "x" else graphs.edge_ptr
    graph = int(np.searchsorted(pointer, row, side="right")) - 1
    replace(graphs, **{which: values}).save(tmp_path / "nan.npz")
    with raises_naming(DataError, f"graph {graph}, {which}"):
        PackedGraphs.load(tmp_path / "nan.npz")


@quick
@given(graphs=packed(), which=st.sampled_from(GRAPH_ARRAYS), extra=st.integers(1, 3))
def test_an_array_of_wrong_length_is_named_with_both_numbers(graphs: PackedGraphs, which: str, extra: int) -> None:
    values = getattr(graphs, which)
    axis = 1 if which == "edge_index" else 0
    tail = np.zeros_like(values.take([0] * extra, axis=axis)) if values.shape[axis] else np.zeros((extra, 2))
    if which == "edge_index" and not values.shape[axis]:
        tail = np.zeros((2, extra), dtype=np.int16)
    longer = np.concatenate([values, tail + (values[-1] if which.endswith("ptr") else 0)], axis=axis)
    if which == "y" and len(longer) == len(graphs.x):  # then it is a sound list of node targets
        return
    with pytest.raises(DataError) as caught:
        replace(graphs, **{which: longer}).validate("mine.npz")
    assert "mine.npz" in str(caught.value)
    assert which in str(caught.value)


@quick
@given(graphs=packed(), share=st.floats(0.0, 0.98))
def test_a_truncated_file_is_refused(tmp_path: Path, graphs: PackedGraphs, share: float) -> None:
    graphs.save(tmp_path / "whole.npz")
    raw = (tmp_path / "whole.npz").read_bytes()
    cut = tmp_path / "cut.npz"
    cut.write_bytes(raw[: int(len(raw) * share)])
    with pytest.raises(DataError):
        PackedGraphs.load(cut)


@quick
@given(graphs=packed(), data=st.data())
def test_a_file_with_bytes_changed_is_refused_or_sound(
    tmp_path: Path, graphs: PackedGraphs, data: st.DataObject
) -> None:
    graphs.save(tmp_path / "whole.npz")
    raw = bytearray((tmp_path / "whole.npz").read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    (tmp_path / "changed.npz").write_bytes(raw)
    try:
        PackedGraphs.load(tmp_path / "changed.npz").validate()
    except DataError as error:
        refusal = str(error)
    else:
        refusal = None
    assert refusal is None or "changed.npz" in refusal


def test_a_foreign_npz_lists_what_it_lacks_and_holds(tmp_path: Path) -> None:
    np.savez(tmp_path / "foreign.npz", weights=np.ones(3), x=np.ones(3))
    with raises_naming(DataError, "edge_index"):
        PackedGraphs.load(tmp_path / "foreign.npz")


def test_a_lone_array_is_no_packed_file(tmp_path: Path) -> None:
    with (tmp_path / "array.npz").open("wb") as file:
        np.save(file, np.ones(3))
    with pytest.raises(DataError):
        PackedGraphs.load(tmp_path / "array.npz")


def test_pickled_objects_are_never_opened(tmp_path: Path, three_graphs: PackedGraphs) -> None:
    arrays = {name: getattr(three_graphs, name) for name in GRAPH_ARRAYS}
    np.savez(tmp_path / "pickled.npz", **arrays, notes=np.array([{"a": 1}], dtype=object))
    with pytest.raises(DataError):
        PackedGraphs.load(tmp_path / "pickled.npz")


def test_a_missing_file_says_where_to_look(tmp_path: Path) -> None:
    with raises_naming(DataError, "POLICYLEARN_DATA"):
        PackedGraphs.load(tmp_path / "none.npz")


@pytest.mark.parametrize("which", ["x", "edge_index", "y"])
def test_words_for_numbers_are_refused(three_graphs: PackedGraphs, which: str) -> None:
    words = getattr(three_graphs, which).astype("U5")
    with raises_naming(DataError, f"'{which}'"):
        replace(three_graphs, **{which: words}).validate("mine.npz")


def test_edge_ids_must_be_whole(three_graphs: PackedGraphs) -> None:
    with pytest.raises(DataError):
        replace(three_graphs, edge_index=three_graphs.edge_index + 0.5).validate("mine.npz")


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        (np.frombuffer(b"C\nCC", dtype=np.uint8), "2 lines"),
        (np.frombuffer(b"C\nCC\nO\nN", dtype=np.uint8), "4 lines"),
        (np.frombuffer(b"C\nCC\n\xff", dtype=np.uint8), "byte 5"),
        (np.array(["C", "CC", "O"]), "bytes"),
        (np.array([67, 10, 67, 10, 67]), "bytes"),
    ],
)
def test_smiles_that_are_not_one_per_graph_are_refused(
    three_graphs: PackedGraphs, stored: np.ndarray, reason: str
) -> None:
    with pytest.raises(DataError, match=f"'smiles'.*{reason}"):
        replace(three_graphs, extras={"smiles": stored}).validate("mine.npz")
    good = replace(three_graphs, extras={"smiles": smiles_bytes(["C", "CC", "O"])})
    assert good.validate().smiles == ["C", "CC", "O"]


def test_a_failed_write_leaves_nothing(tmp_path: Path, three_graphs: PackedGraphs) -> None:
    broken = replace(three_graphs, extras={"objects": np.array([{}], dtype=object)})
    with raises_naming(ValueError):
        broken.save(tmp_path / "a.npz")
    assert not list(tmp_path.iterdir())
