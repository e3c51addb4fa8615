"""The measurement of gradients: that it knows an estimator without bias, and what it leaves behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from lab.__main__ import main
from lab.ledger import LedgerError
from lab.theory import (
    GradientConfig,
    GradientRecord,
    LearningConfig,
    Push,
    gradient_table,
    load_gradients,
    measure,
    measure_all,
)
from lab.theory.gradients import CANDIDATES, gradients, with_undecided_policy

SMALL = GradientConfig(
    LearningConfig(n=13, components=2, layers=3, channels=16, steps=60, bags=32, calibration=4),
    batches=30,
    reference=150,
)
PROJECT = Path(__file__).parents[3]


def test_rloo_has_no_bias_and_every_candidate_is_measured() -> None:
    shares: list[float] = []
    pushes = measure(SMALL, shares.append)
    assert [(push.estimator, push.tau) for push in pushes] == list(CANDIDATES)
    rloo = pushes[0]
    assert abs(rloo.along - 1) < 3 * rloo.error
    assert rloo.error < 0.2
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_only_the_policy_has_gradients_and_nothing_is_moved_by_measuring() -> None:
    model = with_undecided_policy(SMALL.learning, lambda: None)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    for estimator in ("rloo", "straight_through", "gapped"):
        found = list(gradients(model, SMALL.learning, estimator, 1.0, stream=5, batches=2))
        assert all(bool(gradient.isfinite().all()) and float(gradient.norm()) > 0 for gradient in found)
        assert not torch.equal(*found)
        again = list(gradients(model, SMALL.learning, estimator, 1.0, stream=5, batches=2))
        assert all(torch.equal(one, other) for one, other in zip(found, again, strict=True))
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_a_measurement_is_kept_and_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pushes = [Push("rloo", 1.0, 0.9, 0.05, 0.5), Push("gapped", 0.33, -2.0, 0.5, 5.0)]
    monkeypatch.setattr("lab.theory.gradient_records.measure", lambda config, report: pushes)
    made = measure_all([SMALL], tmp_path)
    path = tmp_path / "gradients-13-2-60-0.json"
    assert load_gradients(path) == made[0]
    monkeypatch.setattr("lab.theory.gradient_records.measure", lambda config, report: pytest.fail("again"))
    assert measure_all([SMALL], tmp_path) == made
    with pytest.raises(LedgerError, match=r"gradients-13-2-60-0.json: was run with batches=30, and batches=31"):
        measure_all([replace(SMALL, batches=31)], tmp_path)
    path.write_text("{}")
    with pytest.raises(LedgerError, match=r"gradients-13-2-60-0.json: was run with"):
        measure_all([SMALL], tmp_path)


def test_the_table_counts_directions_that_are_sure() -> None:
    def record(*shares: float) -> GradientRecord:
        return GradientRecord(SMALL, tuple(Push("straight_through", 0.33, share, 0.5, 3.0) for share in shares))

    table = gradient_table([record(1.2), record(-1.2), record(0.9)]).splitlines()
    assert table[2] == (
        "| straight_through | 0.33 | 60 steps | 1.20 ± 0.50, -1.20 ± 0.50, 0.90 ± 0.50 | 1 of 3 | 1 of 3 | 3.0 |"
    )


def test_the_page_says_what_the_stored_measurements_say() -> None:
    found = map(load_gradients, (PROJECT / "results/theory/gradients").glob("*.json"))
    records = {(record.config.learning.steps, record.config.learning.seed): record for record in found}
    assert sorted(records) == [(steps, seed) for steps in (50, 300) for seed in range(5)]
    table = gradient_table(records[place] for place in sorted(records))
    assert table in (PROJECT / "docs" / "theory.md").read_text(encoding="utf-8"), (
        "write the table anew with: python -m lab theory gradients --markdown"
    )


def test_the_command_prints_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = {"n": 13, "l": 2, "layers": 3, "seeds": 1, "steps": 2, "batches": 2, "reference": 2}
    words = [word for name, value in small.items() for word in (f"--{name}", str(value))]
    assert main(["theory", "gradients", *words, "--markdown", "-o", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith("| estimator | tau |")
    assert main(["theory", "gradients", *words[:-1], "1", "-o", str(tmp_path)]) == 2
    assert "'reference' must be >= 2 (got 1)" in capsys.readouterr().err
