"""``python -m lab sweep``: from the command line to a YAML with the best settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.__main__ import main
from lab.verbs.sweep import combinations
from policylearn.settings import ConfigError, read_config
from policylearn.training import run_config

SMALL = ["--prediction.channels", "8", "--prediction.layers", "2", "--epochs", "1", "--fit.threads", "1"]


def test_a_dataset_is_swept_in_two_goes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grid = "{selection.tau: [1.0, 2.0], optim.learning_rate: [0.01, 0.001]}"
    words = ["sweep", "csl-13", "--policy", "learned", "--picks", "1", *SMALL, "--grid", grid, "-o", str(tmp_path)]
    assert main([*words, "--trials", "1"]) == 0
    captured = capsys.readouterr()
    assert "1 of 2 done" in captured.out
    assert "'selection.tau' has no effect" in captured.err
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "2 of 2 done" in out
    best = tmp_path / "best.yaml"
    assert f"policylearn train csl-13 --config {best}" in out
    config = read_config(best)
    assert (config.data.name, config.system["selection"]["picks"], config.grid) == ("csl-13", 1, {})
    assert config.optim.learning_rate in (0.01, 0.001)
    assert len(list((tmp_path / "trials").glob("*/metrics.json"))) == 2


def test_a_yaml_is_swept_with_what_the_user_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("data: {name: csl-13}\nselection: {name: none}\ngrid: {prediction.layers: [1, 2]}\n")
    words = ["sweep", str(path), *SMALL, "-o", str(tmp_path / "out")]
    assert main([*words, "--policy", "random", "--trials", "1"]) == 0
    assert "csl-13, random-t2: 1 of 2 done" in capsys.readouterr().out
    assert read_config(tmp_path / "out" / "best.yaml").system["selection"]["name"] == "random"


@pytest.mark.parametrize(("estimator", "count"), [("reinforce", 3), ("straight_through", 12)])
def test_settings_of_other_estimators_are_left_out(estimator: str, count: int) -> None:
    config = run_config("zinc", {"selection.estimator": estimator})
    assert len(combinations(config)) == count
    both = config.replace(grid={"selection.estimator": ["reinforce", "straight_through"], "selection.tau": [1.0, 2.0]})
    assert list(combinations(both)) == [
        "selection.estimator=reinforce",
        "selection.estimator=straight_through,selection.tau=1.0",
        "selection.estimator=straight_through,selection.tau=2.0",
    ]
    modern = run_config("zinc", {"recipe": "modern"})  # which brings an entropy bonus for reinforce
    first, second, _ = combinations(modern.replace(grid=both.grid)).values()
    assert first.system["selection"]["entropy"] > 0
    assert "entropy" not in second.system["selection"]


@pytest.mark.parametrize(
    ("grid", "named"),
    [({"selection.tua": [1.0]}, "tua"), ({"selection.tau": []}, "tau"), ({"data.target": [[1]]}, "1")],
)
def test_a_grid_must_fit_the_settings(grid: dict, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        combinations(run_config("zinc", {"selection.name": "learned"}).replace(grid=grid))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["csl-13"], "there is nothing to sweep over"),
        (["zinc", "--trials", "0"], "'--trials' must be >= 1 (got 0)"),
        (["zinc", "--devices", "2"], "a sweep trains each trial on one device (got 2)"),
        (["nowhere.yaml"], "nowhere.yaml: no such configuration"),
        (["zink"], "there is no dataset 'zink'; did you mean 'zinc'?"),
    ],
)
def test_bad_input_is_one_line(words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", *words]) == 2
    captured = capsys.readouterr().err
    assert captured.startswith(f"error: {complaint}")
    assert captured.count("\n") == 1
