"""A table whose split leaves a part without rows is refused before anything is trained."""

from __future__ import annotations

from pathlib import Path

import pytest

from policylearn.data import DataError
from policylearn.settings.run_config import DataConfig
from policylearn.training import load_source


def chain(path: Path, rows: int, column: str = "") -> str:
    """A table of alkanes, which share one scaffold: none."""
    lines = [f"{'C' * (size + 1)},{size},{column}" for size in range(rows)]
    path.write_text("smiles,y,part\n" + "\n".join(lines) + "\n")
    return str(path)


@pytest.mark.parametrize(
    ("rows", "column", "changes", "message"),
    [
        (5, "", {"split": "random"}, "5 rows .* 'valid'"),
        (40, "train", {"split_column": "part"}, "40 rows .* 'test'"),
        (40, "", {}, "'train'"),
    ],
)
def test_an_empty_part_is_named_with_a_way_out(
    tmp_path: Path, rows: int, column: str, changes: dict[str, str], message: str
) -> None:
    name = chain(tmp_path / "few.csv", rows, column)
    with pytest.raises(DataError, match=message):
        load_source(DataConfig(name, target=("y",), **changes))


def test_enough_rows_are_split(tmp_path: Path) -> None:
    name = chain(tmp_path / "enough.csv", 40)
    (split,) = load_source(DataConfig(name, target=("y",), split="random")).dataset.splits
    assert [len(part) for part in (split.train, split.valid, split.test)] == [32, 4, 4]
