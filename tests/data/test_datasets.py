"""Every named dataset loads with its task and splits; a wrong name finds its neighbour."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from policylearn.data import CATALOG, DataError, PackedGraphs, data_root, load_dataset, load_file
from tests.errors import raises_naming

Find = Callable[[str], Path]


@pytest.mark.parametrize("name", [name for name in CATALOG if name != "alchemy"])
def test_stored_datasets_are_what_the_catalog_says(stored: Find, name: str) -> None:
    entry = CATALOG[name]
    path = stored(entry.file)
    dataset = load_dataset(name, root=path.parent, target=entry.targets[0] if entry.targets else None)
    graphs = dataset.graphs
    assert (len(dataset), len(graphs.x), graphs.edge_index.shape[1]) == (entry.graphs, entry.nodes, entry.edges)
    assert dataset.caveat == entry.caveat
    if dataset.task.kind == "classes":
        assert dataset.task.outputs == len(np.unique(graphs.y))
    else:
        assert dataset.task.outputs == (graphs.y.shape[1] if graphs.y.ndim > 1 else 1)


@pytest.mark.parametrize(
    ("name", "folds", "sizes"),
    [
        ("zinc", 1, (10_000, 1_000, 1_000)),
        ("ogbg-molhiv", 1, (32_901, 4_113, 4_113)),
        ("reddit-binary", 10, (1_800, 200, 200)),
        ("exp", 10, (1_080, 120, 120)),
        ("csl", 5, (90, 30, 30)),
    ],
)
def test_splits(stored: Find, name: str, folds: int, sizes: tuple[int, int, int]) -> None:
    dataset = load_dataset(name, root=stored(CATALOG[name].file).parent)
    assert len(dataset.splits) == folds
    for split in dataset.splits:
        assert (len(split.train), len(split.valid), len(split.test)) == sizes
        assert np.array_equal(split.valid, split.test) == (folds == 10)


def test_sr25_has_no_split(stored: Find) -> None:
    assert load_dataset("sr25", root=stored("sr25.npz").parent).splits == ()


@pytest.mark.parametrize(("name", "seconds"), [("zinc", 1.0), ("ogbg-molhiv", 3.0)])
def test_loading_is_quick(stored: Find, name: str, seconds: float) -> None:
    root = stored(CATALOG[name].file).parent
    times = []
    for _ in range(3):
        start = time.perf_counter()
        load_dataset(name, root=root)
        times.append(time.perf_counter() - start)
    assert min(times) < seconds


@pytest.mark.parametrize(("target", "column"), [("triangle", 0), ("tailed_triangle", 1), ("star", 2), ("cycle4", 3)])
@pytest.mark.parametrize("name", ["counting-er", "counting-rr"])
def test_counting_has_one_task_a_target(stored: Find, name: str, target: str, column: int) -> None:
    path = stored(CATALOG[name].file)
    dataset = load_dataset(name, root=path.parent, target=target)
    stored_counts = PackedGraphs.load(path).y[:, column]
    np.testing.assert_array_equal(dataset.graphs.y[:, 0], stored_counts)
    scaled = dataset.task.scale(torch.from_numpy(dataset.graphs.y))
    assert float(scaled.std(unbiased=False)) == pytest.approx(1)
    assert float(scaled.min()) == stored_counts.min() / stored_counts.std()  # divided, not shifted
    assert not dataset.task.metric_in_data_units


def test_counting_asks_for_its_target(stored: Find) -> None:
    root = stored("counting-er.npz").parent
    with raises_naming(DataError, "tailed_triangle"):
        load_dataset("counting-er", root=root)
    with raises_naming(DataError, "'triangle'"):
        load_dataset("counting-er", root=root, target="triangel")
    with raises_naming(DataError, "target"):
        load_dataset("csl", root=root, target="triangle")


def test_the_fingerprint_is_the_data_and_nothing_else(tmp_path: Path, three_graphs: PackedGraphs) -> None:
    split = {"train": np.array([0]), "valid": np.array([1]), "test": np.array([2])}
    base = replace(three_graphs, extras=split)
    base.save(tmp_path / "a.npz")
    replace(base, x=base.x.astype(np.int32), extras=split | {"notes": np.ones(3)}).save(tmp_path / "b.npz")
    replace(base, y=base.y + 1).save(tmp_path / "c.npz")
    replace(base, extras={}).save(tmp_path / "d.npz")
    a, b, c, d = (load_dataset(tmp_path / f"{name}.npz").fingerprint for name in "abcd")
    assert a == b
    assert len({a, c, d}) == 3
    assert a == "ab0826654a9c25847b136ff749ab4d00f402c477822855c168e38c9f015c8e45"


def test_a_file_of_ones_own(tmp_path: Path, three_graphs: PackedGraphs) -> None:
    three_graphs.save(tmp_path / "numbers.npz")
    numbers = load_dataset(str(tmp_path / "numbers.npz"))
    assert (numbers.name, numbers.task.kind, numbers.splits) == ("numbers", "regression", ())
    yes_no = replace(three_graphs, y=np.array([[0, 1], [np.nan, 1], [1, 0]]), extras={"y_names": np.array(["a", "b"])})
    yes_no.save(tmp_path / "yes_no.npz")
    assert load_file(tmp_path / "yes_no.npz").task.targets == ("a", "b")
    assert load_file(tmp_path / "yes_no.npz", target="b").task.targets == ("b",)
    assert load_file(tmp_path / "yes_no.npz").task.kind == "binary"
    replace(three_graphs, y=np.array([2, 0, 1])).save(tmp_path / "classes.npz")
    assert load_file(tmp_path / "classes.npz").task.outputs == 3
    nodes = replace(three_graphs, y=np.arange(6) % 2)
    nodes.save(tmp_path / "nodes.npz")
    assert load_file(tmp_path / "nodes.npz").task.level == "node"


@pytest.mark.parametrize(
    ("wrong", "right"), [("zink", "zinc"), ("molhiv", "ogbg-molhiv"), ("redit-binary", "reddit-binary")]
)
def test_a_wrong_name_finds_its_neighbour(wrong: str, right: str) -> None:
    with raises_naming(DataError, f"'{right}'"):
        load_dataset(wrong)


def test_synthetic_families_go_by_name_and_seed() -> None:
    one, same, other = (load_dataset("csl-17", seed=seed) for seed in (0, 0, 1))
    assert one.fingerprint == same.fingerprint != other.fingerprint
    assert one.task.outputs == 4
    assert len(one.splits) == 1
    with raises_naming(DataError, "'star'"):
        load_dataset("csl-17", target="star")


def test_the_data_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLICYLEARN_DATA", "/somewhere/data")
    assert data_root() == Path("/somewhere/data")
    monkeypatch.delenv("POLICYLEARN_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert data_root() == Path("/caches/policylearn")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_root() == Path.home() / ".cache" / "policylearn"
