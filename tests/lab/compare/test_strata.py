"""Properties of graphs by which differences are told apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lab.compare.strata import PROPERTIES, StrataPlan, largest_ring
from policylearn.data import DataError, Dataset, Split, Task
from policylearn.data.synthetic import csl_graph, join
from policylearn.settings import ConfigError, DataConfig
from policylearn.training import load_source
from tests.molecule_graphs import grid, path


def test_properties_of_known_graphs() -> None:
    graphs = join([path(4), grid(2, 3), csl_graph(7, 2)], y=np.array([0.5, 1.0, 2.0]))
    ids = np.arange(3)
    dataset = Dataset("three", graphs, Task("regression", "l1", "mae"), (Split(ids[:1], ids, ids),))
    expected = {"nodes": [4, 6, 7], "degree": [2, 3, 4], "rings": [0, 2, 8], "target": [0.5, 1.0, 2.0]}
    for name, values in expected.items():
        np.testing.assert_array_equal(PROPERTIES[name](dataset), values)
    assert largest_ring(dataset)[:2].tolist() == [0, 4], "two squares side by side are no ring of six"
    with pytest.raises(DataError):
        PROPERTIES["scaffold_seen"](dataset)


def test_every_value_is_in_one_stratum() -> None:
    values = np.array([0, 6, 7, 8, 9])
    found = dict(StrataPlan.read("largest_ring:8,6").strata(values, values))
    assert {name: values[chosen].tolist() for name, chosen in found.items()} == {
        "largest_ring <= 6": [0, 6],
        "6 < largest_ring <= 8": [7, 8],
        "8 < largest_ring": [9],
    }


def test_a_column_of_the_table_has_a_stratum_per_value() -> None:
    values = np.array(["a", "b", "a"])
    found = dict(StrataPlan.read("group").strata(values, np.array(["a", "b", "c"])))
    assert {name: chosen.tolist() for name, chosen in found.items()} == {
        "group = a": [True, False, True],
        "group = b": [False, True, False],
        "group = c": [False, False, False],
    }
    with pytest.raises(ConfigError, match="group"):
        list(StrataPlan.read("group:1").strata(values, values))
    years = dict(StrataPlan.read("group:1999").strata(np.array(["1990", "2004"]), values))
    assert [chosen.tolist() for chosen in years.values()] == [[True, False], [False, True]], (
        "a column of numbers is text"
    )
    many = np.arange(100)
    with pytest.raises(ConfigError, match="nodes:"):
        list(StrataPlan.read("nodes").strata(many, many))


def test_groups_are_read_from_the_named_column(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("smiles,y,made_by\n" + "".join(f"{'C' * n},{n},{'xy'[n % 2]}\n" for n in range(1, 13)))
    config = DataConfig(name=str(file), target=("y",), group_column="made_by", split="random")
    assert set(PROPERTIES["group"](load_source(config).dataset)) == {"x", "y"}
    with pytest.raises(DataError, match="group_column"):
        PROPERTIES["group"](load_source(config.replace(group_column=None)).dataset)
