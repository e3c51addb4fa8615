"""Parts of one's own, from the files in docs/examples: each trains, is saved, loaded and predicts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from policylearn.cli import main
from policylearn.data import CATALOG
from policylearn.registry import import_file

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
SMALL = ["--prediction.channels", "8", "--prediction.layers", "2"]
PARTS = {
    "my_policy.py": [*SMALL, "--selection.name", "remote", "--selection.steps", "1"],
    "my_estimator.py": [*SMALL, "--selection.estimator", "plain_reinforce", "--selection.scale", "0.5"],
    "my_rule.py": [*SMALL, "--bag.rule", "neighbours", "--bag.share", "0.25"],
    "my_system.py": ["--model", "deep-set", "--channels", "8"],
    "my_transform.py": [*SMALL, "--data.transforms", "{degrees: {divisor: 2}}", "--data.workers", "2"],
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Chains and rings of carbon, and how many atoms they have."""
    path = tmp_path / "table.csv"
    sizes = range(3, 15)
    rows = [f"{'C' * n},{n}" for n in sizes] + [f"C1{'C' * (n - 2)}C1,{n}" for n in sizes]
    path.write_text("\n".join(["smiles,atoms", *rows]) + "\n")
    return path


@pytest.mark.parametrize("example", PARTS)
def test_a_part_trains_and_predicts(
    example: str, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, predicted, plugin = tmp_path / "run", tmp_path / "out.csv", ["--plugin", str(EXAMPLES / example)]
    words = ["train", str(table), "--target", "atoms", "-o", str(run), "--fit.epochs", "2", "--recipe", "paper"]
    assert main([*plugin, *words, "--data.split", "random", *PARTS[example]]) == 0, capsys.readouterr().err
    assert json.loads((run / "run.json").read_text())["plugins"] == [str(EXAMPLES / example)]
    assert main([*plugin, "predict", str(run), str(table), "-o", str(predicted)]) == 0, capsys.readouterr().err
    assert "predicted_atoms" in predicted.read_text()
    if example == "my_policy.py":
        capsys.readouterr()
        assert main(["--plugin", str(EXAMPLES / "my_verb.py"), "size", str(run)]) == 0
        assert int(capsys.readouterr().out) > 0


def test_a_dataset_is_found_by_its_name() -> None:
    import_file(EXAMPLES / "my_dataset.py")
    assert CATALOG["alcohols"].task.targets == ("boiling_point",)


def test_every_example_is_tried() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*PARTS, "my_verb.py", "my_dataset.py"}
