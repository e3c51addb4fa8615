"""Intervals that have no ends say why."""

import math
from types import SimpleNamespace

import pytest

from policylearn.cli.verbs.train import coverage_lines


@pytest.mark.parametrize(("size", "lines"), [(2.0, 1), (math.inf, 2)])
def test_an_interval_without_ends_names_the_labels_that_it_needs(size: float, lines: int) -> None:
    coverage = SimpleNamespace(level=0.9, share=1.0, labels=6, size=size)
    calibration = SimpleNamespace(kind="interval", coverage=coverage)
    outcome = SimpleNamespace(predictor=SimpleNamespace(calibration=calibration))
    said = list(coverage_lines([outcome]))
    assert len(said) == lines
    if math.isinf(size):
        assert said[1].endswith("90% needs 9 or more")
