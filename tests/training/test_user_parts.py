"""Parts of a user's own files, from training to prediction in another process: policy, rule, system, and so on."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from policylearn import load
from policylearn.data import DataError, read_table
from policylearn.settings.run_files import RunError
from policylearn.training import load_run, reevaluate
from tests.errors import raises_naming
from tests.training.molecules import read_table as read_rows
from tests.training.molecules import write_table
from tests.warm import run_warm

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
PLUGINS = sorted(EXAMPLES.glob("my_*.py"))
SMALL = ["--data.split", "random", "--epochs", "1", "--network-only", "--prediction.channels", "8"]
RUNS = {
    "policy": [
        "--policy",
        "remote",
        "--bag.rule",
        "neighbours",
        "--data.transforms",
        "{degrees: {divisor: 2}}",
        "--data.workers",
        "2",
        *SMALL,
    ],
    "estimator": ["--estimator", "plain_reinforce", "--selection.scale", "0.5", *SMALL],
    "system": ["--model", "deep-set", "--channels", "8", *SMALL[:-2]],
}
"""A run with parts of one's own in each place that takes some; all learn from a dataset of one's own."""
SCRIPT = "import json, sys; from policylearn.cli import main; print([main(words) for words in json.loads(sys.argv[1])])"


def run_commands(commands: list[list[str]], folder: Path, **environment: str) -> str:
    """Run commands one after the other in a new process; what they print, if all end well."""
    own = {"POLICYLEARN_DATA": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    done = run_warm(SCRIPT, json.dumps(commands), env=os.environ | own | environment, cwd=folder)
    assert done.stdout.endswith(f"{[0] * len(commands)}\n"), done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with the user's dataset and the runs, each begun with ``--plugin``."""
    folder = tmp_path_factory.mktemp("user")
    smiles = [f"{'C' * left}C(O){'C' * right}" for left in range(1, 9) for right in range(1, 6)]
    table = write_table(folder / "alcohols.csv", ("smiles", "boiling_point"), smiles, [60.0 + len(s) for s in smiles])
    read_table(table, "smiles", ["boiling_point"]).graphs.save(folder / "alcohols.npz")
    named = [word for path in PLUGINS for word in ("--plugin", str(path))]
    run_commands([[*named, "train", "alcohols", "-o", name, *words] for name, words in RUNS.items()], folder)
    return folder


def test_a_new_process_predicts_with_them(folder: Path) -> None:
    predict = [["predict", name, "alcohols.csv", "-o", f"{name}.csv"] for name in RUNS]
    said = run_commands([*predict, ["size", "system"]], folder, POLICYLEARN_PLUGINS=os.pathsep.join(map(str, PLUGINS)))
    assert int(said.splitlines()[-2]) == sum(
        json.loads((folder / "system" / "metrics.json").read_text())["parameters"].values()
    )
    for name in RUNS:
        rows = [float(row["predicted_boiling_point"]) for row in read_rows(folder / f"{name}.csv")]
        held_out = read_rows(folder / name / "predictions.csv")
        expected = [float(row["predicted_boiling_point"]) for row in held_out]
        found = [rows[int(row["graph"])] for row in held_out]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6, err_msg=name)  # some outputs are near zero
    facts = json.loads((folder / "policy" / "run.json").read_text())
    assert facts["plugins"] == [str(path) for path in PLUGINS]


@pytest.mark.parametrize(("name", "missing"), [("policy", "degrees"), ("estimator", "plain_reinforce")])
def test_a_process_without_them_says_what_is_missing(folder: Path, name: str, missing: str) -> None:
    with raises_naming(RunError, f"'{missing}'") as error:
        load(folder / name)
    assert str(PLUGINS[0]) in str(error.value)


def test_an_evaluation_without_the_dataset_names_its_file(folder: Path) -> None:
    with pytest.raises(DataError, match="there is no dataset 'alcohols'") as error:
        reevaluate(load_run(folder / "policy"))
    assert str(PLUGINS[0]) in str(error.value)
