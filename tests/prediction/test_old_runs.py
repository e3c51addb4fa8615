"""Run folders that versions 0.1 and 0.2 wrote answer as they did then."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from policylearn.prediction import BatchWarning, load
from policylearn.settings.run_files import RunError
from tests.errors import raises_naming

HERE = Path(__file__).parent
RUNS = sorted(path.parent for path in HERE.glob("runs_of_0_*/*/answers.json"))


@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def test_an_old_run_answers_as_it_did(folder: Path) -> None:
    then = json.loads((folder / "answers.json").read_text())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BatchWarning)
        predictor = load(folder)
    np.testing.assert_allclose(predictor.predict(then["smiles"]), then["values"], rtol=1e-4)
    assert predictor.picks(then["smiles"]) == then["picks"]


def test_there_are_runs_of_every_kind() -> None:
    assert {folder.name for folder in RUNS} >= {"full", "none", "learned-rloo", "learned-table", "sun", "ensemble"}


def test_a_run_with_an_option_that_is_gone_says_so() -> None:
    with raises_naming(RunError, "selection.shared"):
        load(HERE / "runs_of_0_2" / "shared")
