"""A loaded run answers the same whatever the form of the input and the batch it comes in."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

import policylearn
from policylearn.data import DataError, PackedGraphs, make_batch, make_data, pack_molecules
from policylearn.data.molecules import featurise
from policylearn.prediction import Predictor, load
from policylearn.prediction.input_graphs import pack_items
from policylearn.prediction.predictor import BatchWarning
from policylearn.settings.run_files import RunError
from tests.errors import raises_naming
from tests.training.molecules import molesol, small_run, write_table
from tests.training.tiny import write_graphs

CLOSE = {"rtol": 0, "atol": 1e-5}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    smiles, values = molesol()
    return write_table(tmp_path_factory.mktemp("data") / "m.csv", ("smiles", "logS"), smiles[:60], values[:60])


@pytest.fixture(scope="module")
def run(table: Path) -> Path:
    return small_run(table.parent / "run", table, "logS")


@pytest.fixture(scope="module")
def predictor(run: Path) -> Predictor:
    return policylearn.load(run)


@pytest.fixture(scope="module")
def unseen() -> list[str]:
    return molesol()[0][60:120]


def test_the_batch_size_plays_no_part(predictor: Predictor, unseen: list[str]) -> None:
    alone = predictor.answer(unseen, batch_size=1)
    assert alone.values.shape == (len(unseen), 1)
    assert alone.values.std() > 0
    for size in (7, 512):
        together = predictor.answer(unseen, batch_size=size)
        np.testing.assert_allclose(together.values, alone.values, **CLOSE)
        assert together.picks == alone.picks
    np.testing.assert_allclose(predictor.predict(unseen[::-1], batch_size=7), alone.values[::-1], **CLOSE)


def test_every_form_of_input_agrees(predictor: Predictor, unseen: list[str]) -> None:
    packed = pack_molecules([featurise(text) for text in unseen])
    each = [make_data(packed, graph) for graph in range(len(packed))]
    batch = Batch.from_data_list(each)
    by_hand = Batch(
        x=batch.x, edge_index=batch.edge_index.flip(1), edge_attr=batch.edge_attr.flip(0), batch=batch.batch
    )
    expected = predictor.predict(unseen)
    for items in (tuple(unseen), iter(unseen), np.array(unseen), packed, each, batch, by_hand):
        np.testing.assert_allclose(predictor.predict(items), expected, **CLOSE)
    for single in (unseen[3], each[3], [unseen[3]]):
        np.testing.assert_allclose(predictor.predict(single), expected[3:4], **CLOSE)
    for data in each[::2]:
        data.y = None  # targets play no part, and need not be there
    np.testing.assert_allclose(predictor.predict(each), expected, **CLOSE)
    assert predictor.predict([]).shape == (0, 1)
    assert predictor.picks([]) == []


def test_answers_are_the_models_own_in_the_units_of_the_data(predictor: Predictor, unseen: list[str]) -> None:
    batch = make_batch(pack_molecules([featurise(text) for text in unseen]), range(len(unseen)))
    with torch.inference_mode():
        output = predictor.model(batch)
        roots = predictor.model.select(batch).roots
    scaling = predictor.task.scaling
    expected = output.numpy() * scaling.scale[0] + scaling.shift[0]
    np.testing.assert_allclose(predictor.predict(unseen), expected, **CLOSE)
    assert predictor.picks(unseen) == (roots - batch.ptr[:-1]).t().tolist()
    assert repr(predictor).endswith("regression of logS, trained on m.csv with learned-t2)")


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["CCO", "C1"], "molecule 1.*'C1'"),
        (["CCO", " "], "molecule 1.*empty"),
        (["CCO", None], "1 is a NoneType"),
        ([Batch.from_data_list([Data(edge_index=torch.zeros(2, 0, dtype=torch.long), num_nodes=1)])], "entry 0"),
        (Data(x=torch.zeros(2, 9), edge_index=torch.zeros(2, 0, dtype=torch.long)), "'x'.*category"),
        (Data(x=torch.zeros(2, 3).long(), edge_index=torch.zeros(2, 0).long()), " 3 columns.* 9"),
        (Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2), " 0 columns.* 3"),
        (
            [
                Data(x=torch.zeros(1, 9).long(), edge_index=torch.zeros(2, 0).long()),
                Data(x=torch.tensor([[0, 9] + [0] * 7]), edge_index=torch.zeros(2, 0).long()),
            ],
            "graph 1 .*category 9",
        ),
        (
            Batch(x=torch.zeros(2, 9).long(), edge_index=torch.tensor([[0], [2]]), batch=torch.tensor([0, 1])),
            "0 to 1",
        ),
        (
            Batch(x=torch.zeros(2, 9).long(), edge_index=torch.tensor([[0], [1]]), batch=torch.tensor([0, 1])),
            "graph 0, edge 0",
        ),
        (
            Batch(x=torch.zeros(2, 9).long(), edge_index=torch.zeros(2, 0).long(), batch=torch.tensor([1, 0])),
            "rising",
        ),
        (
            Batch(x=torch.zeros(1, 9).long(), edge_index=torch.zeros(2, 0).long(), batch=torch.tensor([1])),
            "graph 0.*no nodes",
        ),
    ],
)
def test_what_cannot_be_used_is_named(predictor: Predictor, items: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        predictor.predict(items)


@pytest.mark.parametrize("policy", ["random", "none", "full"])
def test_other_policies_predict_too(policy: str, table: Path, unseen: list[str], tmp_path: Path) -> None:
    other = load(small_run(tmp_path / "run", table, "logS", selection={"name": policy}))
    alone = other.answer(unseen, batch_size=1)
    together = other.answer(unseen, batch_size=50)
    np.testing.assert_allclose(together.values, alone.values, **CLOSE)
    assert together.picks == alone.picks
    assert {len(picks) for picks in alone.picks} == {"random": {2}, "none": {0}}.get(
        policy, {len(graph.x) for graph in map(featurise, unseen)}
    )


def test_paper_mode_warns_and_fixes_the_batch_size(table: Path, unseen: list[str], tmp_path: Path) -> None:
    folder = small_run(tmp_path / "run", table, "logS", selection={"mode": "paper"}, fit={"evaluation_batch_size": 20})
    with pytest.warns(BatchWarning, match="20 graphs") as caught:
        paper = load(folder)
    assert len(caught) == 1
    assert caught[0].filename == __file__, "the warning points at the caller"
    values = paper.predict(unseen)
    np.testing.assert_array_equal(paper.predict(unseen, batch_size=1), values)
    by_hand = [paper.predict(unseen[start : start + 20]) for start in range(0, len(unseen), 20)]
    np.testing.assert_array_equal(np.concatenate(by_hand), values)


@pytest.mark.parametrize("kind", ["binary", "classes"])
def test_classes_get_probabilities(kind: str, unseen: list[str], tmp_path: Path) -> None:
    smiles, values = molesol()
    labels = ["low" if value < -3 else "mid" if kind == "classes" and value < -2 else "high" for value in values[:60]]
    data = write_table(tmp_path / "m.csv", ("smiles", "level"), smiles[:60], labels)
    probabilities = load(small_run(tmp_path / "run", data, "level", data={"split": "random"})).predict(unseen)
    assert probabilities.shape == (len(unseen), {"binary": 1, "classes": 3}[kind])
    assert probabilities.min() > 0
    assert probabilities.max() < 1
    if kind == "classes":
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("node_level", [False, True])
def test_runs_on_graphs(node_level: bool, tmp_path: Path) -> None:
    path = write_graphs(tmp_path / "g.npz", node_level=node_level)
    graphs = PackedGraphs.load(path)
    predictor = load(small_run(tmp_path / "run", path))
    rows = len(graphs.x) if node_level else len(graphs)
    values = predictor.predict(graphs, batch_size=1)
    assert values.shape == (rows, 1)
    np.testing.assert_allclose(predictor.predict(graphs, batch_size=50), values, **CLOSE)
    np.testing.assert_allclose(predictor.predict(make_batch(graphs, range(len(graphs)))), values, **CLOSE)
    with raises_naming(DataError, "graphs"):
        predictor.predict(["CCO"])


def test_a_newer_format_is_refused(run: Path, tmp_path: Path) -> None:
    folder = copied(run, tmp_path)
    facts = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(facts | {"format": facts["format"] + 1}))
    with raises_naming(RunError, f"format {facts['format'] + 1}"):
        load(folder)


@pytest.mark.parametrize("keep", [0, 7, 1000, None])
def test_damaged_weights_are_named(keep: int | None, run: Path, tmp_path: Path) -> None:
    folder = copied(run, tmp_path)
    weights = folder / "model.safetensors"
    content = weights.read_bytes()
    weights.unlink()
    if keep is not None:
        weights.write_bytes(content[:keep])
    with pytest.raises(RunError):
        load(folder)


def test_no_such_run(tmp_path: Path) -> None:
    with pytest.raises(RunError):
        policylearn.load(str(tmp_path / "nowhere"))


def copied(run: Path, parent: Path) -> Path:
    """A copy of a run to break."""
    folder = parent / "copy"
    folder.mkdir()
    for file in run.iterdir():
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    return folder


class Named(Data):  # type: ignore[misc]
    """A graph whose class wants more than its tensors."""

    def __init__(self, name: str, **tensors: Tensor) -> None:
        super().__init__(**tensors)
        self.name = name


def test_a_graph_of_a_class_of_ones_own_is_as_good() -> None:
    tensors = {"x": torch.zeros(2, 1), "edge_index": torch.tensor([[0, 1], [1, 0]])}
    own = pack_items(Named("a pair", **tensors), molecules=False)
    plain = pack_items(Data(**tensors), molecules=False)
    assert own is not None
    assert plain is not None
    assert np.array_equal(own.edge_index, plain.edge_index)
    assert np.array_equal(own.x, plain.x)
