"""Run folders that version 0.1 wrote answer as they did then."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from policylearn.prediction import BatchWarning, load

RUNS = sorted((Path(__file__).parent / "runs_of_0_1").iterdir())


@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: folder.name)
def test_a_run_of_0_1_answers_as_it_did(folder: Path) -> None:
    then = json.loads((folder / "answers.json").read_text())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BatchWarning)
        predictor = load(folder)
    np.testing.assert_allclose(predictor.predict(then["smiles"]), then["values"], rtol=1e-4)
    assert predictor.picks(then["smiles"]) == then["picks"]


def test_there_are_runs_of_every_kind() -> None:
    policies = {json.loads((folder / "metrics.json").read_text())["policy"] for folder in RUNS}
    assert policies == {"learned", "random", "full", "none"}
