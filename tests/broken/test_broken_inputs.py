"""Some hundreds of the 10,000 broken inputs; ``python -m tests.broken.trials`` runs all."""

from __future__ import annotations

import pytest

from tests.broken.inputs import setting_names
from tests.broken.trials import KINDS, Bench, make_bench, run_trials

TRIALS = {"tables": 60, "smiles": 8, "settings": 40, "packed": 40, "requests": 8}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return make_bench(tmp_path_factory.mktemp("broken"))


@pytest.mark.parametrize("kind", KINDS)
def test_no_traceback_no_hang_nothing_lost(bench: Bench, kind: str) -> None:
    if kind == "requests":
        pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")
        pytest.importorskip("httpx", reason="httpx is not installed")
    faults = [
        f"{kind}, seed {seed}:\n{outcome}"
        for seed, outcome in run_trials(bench, kind, range(TRIALS[kind]))
        if isinstance(outcome, str)
    ]
    assert not faults, "\n".join(faults)


def test_every_setting_is_among_those_that_are_broken() -> None:
    assert {"fit.batch_size", "selection.picks", "prediction.channels", "optim.learning_rate"} <= set(setting_names())
