"""``policylearn systems`` and ``policylearn settings``."""

from __future__ import annotations

import re

import pytest

from policylearn.cli import main
from policylearn.models import SYSTEMS


def test_every_system_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["systems"]) == 0
    said = capsys.readouterr().out
    for name in SYSTEMS:
        assert re.search(rf"│ {re.escape(name)} +│", said), name


def test_the_settings_of_a_run_and_of_a_model_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings"]) == 0
    every_run = capsys.readouterr().out
    assert "fit.epochs" in every_run
    assert "bag.hops" not in every_run
    assert main(["settings", "policy-learn"]) == 0
    said = capsys.readouterr().out
    for name in ("fit.epochs", "prediction.channels", "selection.picks", "selection.tau", "bag.hops"):
        assert name in said
    assert main(["settings", "sunn"]) == 2
    assert "'sun'" in capsys.readouterr().err
