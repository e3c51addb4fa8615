"""Transforms that travel with a run: fitted on the training part, stored, and applied again wherever it predicts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from policylearn.cli.main import main
from policylearn.data import DataError, PackedGraphs, make_batch, make_data
from policylearn.data.structures import Structure
from policylearn.data.tasks import Task
from policylearn.models import Inputs, build_model
from policylearn.nn import Features
from policylearn.prediction import load
from policylearn.settings import RunConfig, changed, with_setting
from policylearn.settings.flat import differences
from policylearn.settings.schema import RunNote
from policylearn.training import fit, load_run, load_source, train
from policylearn.training.prepared_data import prepare_data
from policylearn.training.reevaluation import reevaluate
from policylearn.training.runs import make_model
from tests.errors import raises_naming
from tests.graphs import batch_of, molecules, small_model
from tests.training.molecules import molesol, read_table, small_run, write_table
from tests.training.tiny import tiny_config, write_graphs

BOTH = {"walk_encoding": {"steps": 4}, "descriptors": {}}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    smiles, values = molesol()
    return write_table(tmp_path_factory.mktemp("table") / "some.csv", ["smiles", "y"], smiles[:80], values[:80])


@pytest.fixture(scope="module")
def run(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder.parent / "cache"))
        changes = {"data": {"transforms": BOTH, "split": "random"}, "descriptor_dropout": 0.2}
        return small_run(folder, table, "y", **changes)


def test_a_run_remembers_its_transforms(run: Path) -> None:
    facts = load_run(run).facts
    walk, descriptors = facts.transforms
    assert walk == {"name": "walk_encoding", "steps": 4, "into": "x_real"}
    assert len(descriptors["columns"]) == facts.columns["descriptors"] > 50
    assert facts.columns["x_real"] == 4
    assert facts.inputs.node_features.real == 4
    assert facts.inputs.learned["descriptors"]["mean"] == tuple(descriptors["mean"])


def test_only_the_training_part_is_learned_from(table: Path) -> None:
    base = {"data": {"name": str(table), "target": ["y"], "transforms": BOTH, "split": "random"}}
    config = changed(RunConfig(), base)
    source = load_source(config.data)
    prepared = prepare_data(config, source)
    split = source.dataset.splits[0]
    cut = replace(source.dataset.graphs, y=source.dataset.graphs.y * 7)  # targets play no part either
    other = replace(source, dataset=replace(source.dataset, graphs=cut, splits=(replace(split, test=split.valid),)))
    assert prepare_data(config, other).transforms == prepared.transforms
    smaller = replace(source, dataset=replace(source.dataset, splits=(replace(split, train=split.train[:20]),)))
    assert prepare_data(config, smaller).transforms != prepared.transforms
    rows = prepared.dataset.graphs.structures["descriptors"].values[split.train]
    assert np.abs(rows.mean(axis=0)).max() < 0.5


def test_every_way_in_gives_the_same_answer(run: Path, table: Path, tmp_path: Path) -> None:
    """SMILES, packed graphs with SMILES and a table."""
    smiles = [row["smiles"] for row in read_table(table)][:12]
    predictor = load(run)
    wanted = predictor.predict(smiles)
    graphs = load_source(load_run(run).config.data).dataset.graphs
    from policylearn.data import take_graphs

    assert predictor.predict(take_graphs(graphs, range(12))) == pytest.approx(wanted, abs=1e-5)
    assert main(["predict", str(run), str(table), "-o", str(tmp_path / "out.csv")]) == 0
    written = [float(row["predicted_y"]) for row in read_table(tmp_path / "out.csv")][:12]
    assert written == pytest.approx(wanted[:, 0].tolist(), abs=1e-5)
    with raises_naming(DataError, "SMILES"):
        predictor.predict([make_data(graphs, 0)])


def test_graphs_without_smiles_get_their_encodings_too(tmp_path: Path) -> None:
    path = write_graphs(tmp_path / "tiny.npz")
    config = tiny_config(path, data={"transforms": {"walk_encoding": {"steps": 3}}}, fit={"epochs": 2})
    fit(config, load_source(config.data), tmp_path / "run")
    predictor, graphs = load(tmp_path / "run"), PackedGraphs.load(path)
    whole = predictor.predict(graphs)
    assert predictor.predict([make_data(graphs, i) for i in range(len(graphs))]) == pytest.approx(whole, abs=1e-5)
    assert predictor.predict(make_batch(graphs, range(5))) == pytest.approx(whole[:5], abs=1e-5)


def test_an_evaluation_gives_the_logged_figure_again(run: Path) -> None:
    result = reevaluate(load_run(run))
    assert result.value == result.logged


def test_a_resumed_run_is_the_same_run(tmp_path: Path) -> None:
    path = write_graphs(tmp_path / "tiny.npz")
    config = tiny_config(path, data={"transforms": {"walk_encoding": {}}}, fit={"epochs": 3})
    source = load_source(config.data)
    whole = fit(config, source, tmp_path / "whole").metrics["test"]
    fit(with_setting(config, "fit.epochs", 2), source, tmp_path / "cut")
    (tmp_path / "cut" / "metrics.json").unlink()
    with pytest.warns(RunNote):
        assert fit(config, source, tmp_path / "cut", resume=True).metrics["test"] == whole


def test_folds_are_fitted_each_by_itself(tmp_path: Path) -> None:
    config = tiny_config(
        "csl",
        data={"name": "csl", "transforms": {"walk_encoding": {"steps": 2}}, "fold": 3},
        fit={"epochs": 1},
    )
    train(config, load_source(config.data), tmp_path / "run")
    assert load_run(tmp_path / "run").facts.fold == 3
    assert load_run(tmp_path / "run").facts.columns == {"x_real": 2}


def test_info_shows_them(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(run)]) == 0
    shown = capsys.readouterr().out
    assert "transform walk_encoding" in shown
    assert "steps 4" in shown
    assert "learned" in shown


def test_callbacks_hear_how_far_it_is(tmp_path: Path) -> None:
    import lightning

    heard: list[tuple[str, int, int]] = []

    class Ear(lightning.Callback):
        def on_transform(self, name: str, done: int, total: int) -> None:
            heard.append((name, done, total))

    path = write_graphs(tmp_path / "tiny.npz")
    config = tiny_config(path, data={"transforms": {"walk_encoding": {}}}, fit={"epochs": 1})
    fit(config, load_source(config.data), tmp_path / "run", callbacks=[Ear()])
    assert heard[-1] == ("walk_encoding", 60, 60)


@pytest.mark.parametrize(
    ("transforms", "message"),
    [
        ({"walk_encodign": {}}, "'walk_encoding'"),
        ({"walk_encoding": {"step": 3}}, "'step'"),
        ({"walk_encoding": 3}, "transforms.walk_encoding"),
        ({"cycle_counts": {"into": "cycles"}}, "'cycles'"),
        ({"descriptors": {}}, "SMILES"),
    ],
)
def test_what_cannot_be_is_said(transforms: dict, message: str, tmp_path: Path) -> None:
    config = tiny_config(write_graphs(tmp_path / "tiny.npz"), data={"transforms": transforms})
    with pytest.raises(DataError, match=message):
        prepare_data(config, load_source(config.data))


def test_settings_are_laid_over_each_other() -> None:
    config = changed(RunConfig(), {"data": {"transforms": {"walk_encoding": {"steps": 4}, "descriptors": {}}}})
    more = with_setting(config, "data.transforms.walk_encoding.steps", 8)
    assert more.data.transforms == {"walk_encoding": {"steps": 8}, "descriptors": {}}
    without = with_setting(more, "data.transforms.descriptors", None)
    assert prepare_names(without) == ["walk_encoding"]


def prepare_names(config: RunConfig) -> list[str]:
    from policylearn.training.prepared_data import chosen_transforms

    return [transform.name for transform in chosen_transforms(config.data)]


def test_a_transform_as_it_comes_is_another_job_than_none() -> None:
    some = changed(RunConfig(), {"data": {"transforms": {"descriptors": {}}}})
    assert differences(some, RunConfig())


def test_descriptors_belong_to_graphs() -> None:
    with raises_naming(ValueError, "descriptors"):
        build_model(inputs=Inputs(Features((21,)), level="node", descriptors=3))
    batch = batch_of(*molecules(4))
    model = small_model("random", descriptors=3, descriptor_dropout=0.5).eval()
    with raises_naming(ValueError, "'descriptors'"):
        model(batch)
    batch.descriptors = torch.randn(batch.num_graphs, 3)
    before = model(batch)
    assert torch.equal(before, model(batch))  # nothing is dropped in evaluation
    batch.descriptors[0] += 1.0
    moved = (model(batch) - before).abs().amax(1)
    assert moved[0] > 1e-4  # its own output moves, and that of no other graph
    assert moved[1:].max() < 1e-6


def test_column_heads_count_half_and_learn_by_themselves() -> None:
    batch = batch_of(*molecules(4))
    batch.descriptors = torch.randn(batch.num_graphs, 3)
    y, terms = torch.randn(batch.num_graphs, 2), Task("regression", "mse", "rmse", targets=("a", "b")).loss_terms
    model = small_model("random", outputs=2, descriptors=3, regression=True, regression_heads=5).eval()
    heads = model.column_heads
    own = heads(batch.descriptors)
    assert own.shape == (5, batch.num_graphs, 2)
    assert (own[0] - own[1]).abs().max() > 1e-3  # each began elsewhere

    together = model(batch)
    model.column_heads = None
    alone = model(batch)
    torch.testing.assert_close(together, (alone + own.mean(0)) / 2)

    # A head's gradient is that of its own loss over H: it does not know what the others predict, nor the network.
    model.column_heads = heads
    model.objective(batch, y, terms).loss.backward()
    weights = list(heads.parameters())
    expected = torch.autograd.grad((heads(batch.descriptors)[0] - y).square().mean() / heads.heads, weights)
    for weight, gradient in zip(weights, expected, strict=True):
        torch.testing.assert_close(weight.grad[0], gradient[0])


def test_heads_are_for_regression_and_for_descriptors_alone() -> None:
    config = changed(RunConfig(), {"regression_heads": 4})
    with_heads = make_model(config, Inputs(Features((21,)), descriptors=3, regression=True))
    assert with_heads.column_heads.heads == 4
    for inputs in (Inputs(Features((21,)), descriptors=3), Inputs(Features((21,)), regression=True)):
        assert make_model(config, inputs).column_heads is None


def test_structures_of_ones_own_file_are_counted_and_asked_for(tmp_path: Path) -> None:
    path = write_graphs(tmp_path / "tiny.npz")
    graphs = PackedGraphs.load(path)
    own = Structure(np.ones((len(graphs.x), 2), dtype=np.float32), "node")
    replace(graphs, structures={"x_real": own}).save(path)
    config = tiny_config(path, fit={"epochs": 1})
    fit(config, load_source(config.data), tmp_path / "run")
    predictor = load(tmp_path / "run")
    assert len(predictor.predict(PackedGraphs.load(path))) == 60
    with raises_naming(DataError, "'x_real'"):
        predictor.predict([Data(x=torch.tensor([[1]]), edge_index=torch.empty(2, 0).long())])
