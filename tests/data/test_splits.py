"""Splits are sound, and those made again equal the stored ones graph by graph."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policylearn.data import (
    DataError,
    PackedGraphs,
    Split,
    official_splits,
    random_split,
    scaffold_split,
    stratified_folds,
)
from policylearn.data.scaffolds import scaffold
from tests.errors import raises_naming

PARTS = ("train", "valid", "test")
Find = Callable[[str], Path]


LARGE = ["ogbg-molhiv"] if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else []  # 20 seconds


@pytest.mark.parametrize("name", ["ogbg-molesol", "ogbg-molbace", "ogbg-moltox21", *LARGE])
def test_the_scaffold_split_equals_ogbs(stored: Find, name: str) -> None:
    graphs = PackedGraphs.load(stored(f"{name}.npz"))
    assert graphs.smiles is not None
    split = scaffold_split(graphs.smiles)
    for part in PARTS:
        np.testing.assert_array_equal(getattr(split, part), graphs.extras[part])


def test_reddit_folds_equal_the_stored_ones(stored: Find) -> None:
    graphs = PackedGraphs.load(stored("reddit-binary.npz"))
    folds = stratified_folds(graphs.y, k=10, shuffle=True, seed=42)
    np.testing.assert_array_equal([fold.test for fold in folds], graphs.extras["skf42_test"])
    assert all(np.array_equal(fold.valid, fold.test) for fold in folds)


def test_csl_has_its_five_folds(stored: Find) -> None:
    folds = official_splits(PackedGraphs.load(stored("csl.npz")))
    assert [(len(f.train), len(f.valid), len(f.test)) for f in folds] == [(90, 30, 30)] * 5
    assert sorted(np.concatenate([f.test for f in folds])) == list(range(150))


@given(k=st.integers(2, 6), counts=st.lists(st.integers(6, 20), min_size=1, max_size=4), seed=st.integers(0, 99))
def test_folds_cover_every_graph_once_and_keep_the_shares(k: int, counts: list[int], seed: int) -> None:
    labels = np.repeat(np.arange(len(counts)), counts)
    folds = stratified_folds(labels, k=k, seed=seed)
    assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(len(labels)))
    shares = np.array([np.bincount(labels[fold.test], minlength=len(counts)) for fold in folds])
    assert (np.ptp(shares, axis=0) <= 1).all()


def test_too_many_folds_name_the_rarest_class() -> None:
    with pytest.raises(DataError):
        stratified_folds(np.array([0, 0, 0, 0, 1, 1]), k=3)


@given(n=st.integers(3, 200), cut=st.tuples(st.integers(1, 10), st.integers(0, 10), st.integers(0, 10)))
def test_a_random_split_covers_every_graph_once(n: int, cut: tuple[int, int, int]) -> None:
    fractions = (cut[0] / sum(cut), cut[1] / sum(cut), cut[2] / sum(cut))
    if round(fractions[0] * n) == 0:
        return
    split = random_split(n, fractions, np.random.default_rng(0))
    assert sorted(np.concatenate([split.train, split.valid, split.test])) == list(range(n))
    for part, fraction in zip(PARTS, fractions, strict=True):
        assert abs(len(getattr(split, part)) - fraction * n) <= 1
        assert fraction > 0 or not len(getattr(split, part))


def test_a_random_split_comes_from_its_generator() -> None:
    same = [random_split(50, (0.6, 0.2, 0.2), np.random.default_rng(1)).test.tolist() for _ in range(2)]
    assert same[0] == same[1] != random_split(50, (0.6, 0.2, 0.2), np.random.default_rng(2)).test.tolist()


@pytest.mark.parametrize("fractions", [(0.8, 0.1, 0.2), (0.0, 0.5, 0.5), (1.2, -0.1, -0.1)])
def test_fractions_must_make_sense(fractions: tuple[float, float, float]) -> None:
    with raises_naming(DataError, "0.8, 0.1, 0.1"):
        random_split(10, fractions, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([], [1], [2]), "'train'"),
        (([0, 1], [1], [2]), "graph 1.*'valid'"),
        (([0], [1, 2], [2, 3]), "graph 2.*'valid'.*'test'"),
        (([0], [1], [9]), "'test'.*graph 9"),
        (([0, -1], [1], [2]), "'train'.*graph -1"),
        (([0, 0], [1], [2]), "'train'.*graph 0 twice"),
        (([0], [0], [0]), "graph 0.*'valid'"),
    ],
)
def test_an_unsound_split_says_what_is_wrong(parts: tuple[list[int], ...], message: str) -> None:
    arrays = (np.array(part, dtype=np.int64) for part in parts)
    with pytest.raises(DataError, match=message):
        Split(*arrays).validate(5, "mine")


def test_a_mask_is_no_list_of_indices() -> None:
    with pytest.raises(DataError):
        Split(np.array([True, False]), np.array([1]), np.array([0]))


def test_scaffolds_keep_rings_and_linkers() -> None:
    assert scaffold("CCO") == ""
    assert scaffold("Cc1ccccc1") == scaffold("Oc1ccccc1") == "c1ccccc1"
    assert scaffold("c1ccccc1CCc1ccccc1C") == "c1ccc(CCc2ccccc2)cc1"
    with raises_naming(DataError, "row 1", "'C1CC'"):
        scaffold_split(["CC", "C1CC"])
