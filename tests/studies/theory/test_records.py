"""Records of runs: written once, read back the same, made again only where missing; and their table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from policylearn.data import DataError
from policylearn.studies.theory import (
    Evaluation,
    LearningConfig,
    Record,
    learning_table,
    load_record,
    load_records,
    run_all,
    save_record,
    summarise,
)
from policylearn.studies.theory import records as module
from policylearn.studies.theory.records import record_path

CONFIG = LearningConfig(
    n=8, components=1, steps=2, every=1, channels=8, layers=2, calibration=1, test_graphs=5, bags=4, settled=0
)


def point(step: int, accuracy: float, coverage: float = 1.0) -> Evaluation:
    return Evaluation(step, step / 10, step / 20, 0.5, accuracy, coverage, 0.5)


def test_a_record_is_read_back_as_it_was_and_never_replaced(tmp_path: Path) -> None:
    record = Record(CONFIG, (point(1, 0.1234567890123), point(2, 1.0)))
    path = record_path(tmp_path / "deeper", CONFIG)
    save_record(record, path)
    assert load_record(path) == record
    assert path.name == "csl-8-1-rloo-0.json"
    before = path.read_bytes()
    with pytest.raises(DataError, match="exists already and is not overwritten"):
        save_record(replace(record, curve=()), path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_the_goal_counts_only_if_it_is_kept() -> None:
    curve = (point(50, 1.0), point(100, 0.3), point(150, 1.0), point(200, 1.0), point(250, 0.5))
    assert Record(replace(CONFIG, settled=2), curve).reached == curve[2]
    assert Record(replace(CONFIG, settled=1), curve).reached == curve[0]
    assert Record(replace(CONFIG, settled=3), curve).reached is None
    assert Record(replace(CONFIG, settled=2), curve[:1]).reached is None


def test_a_record_says_where_it_comes_from() -> None:
    record = Record(CONFIG, ())
    assert record.versions.keys() >= {"python", "policylearn", "torch"}
    assert record.commit is None or len(record.commit.split()[0]) == 40
    assert "thread" in record.machine


def test_only_missing_runs_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configs = [replace(CONFIG, method=method, seed=seed) for method in ("random", "rloo") for seed in range(2)]
    made: list[tuple[str, int]] = []
    learn = module.learn

    def counted(config: LearningConfig, report: object) -> object:
        if len(made) == 2:
            raise KeyboardInterrupt
        made.append((config.method, config.seed))
        return learn(config, report)

    monkeypatch.setattr(module, "learn", counted)
    with pytest.raises(KeyboardInterrupt):
        run_all(configs, tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["csl-8-1-random-0.json", "csl-8-1-random-1.json"]
    kept = record_path(tmp_path, configs[0]).read_bytes()
    made.clear()
    steps: list[tuple[str, int, int]] = []
    records = run_all(
        configs, tmp_path, lambda config, step, loss, newest: steps.append((config.method, config.seed, step))
    )
    assert made == [("rloo", 0), ("rloo", 1)]
    assert steps == [("rloo", seed, step) for seed in (0, 1) for step in (1, 2)]
    assert [record.config for record in records] == configs
    assert record_path(tmp_path, configs[0]).read_bytes() == kept


def test_other_settings_are_named_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_record(Record(CONFIG, (point(1, 1.0),)), record_path(tmp_path, CONFIG))
    monkeypatch.setattr(module, "learn", None)
    wanted = [replace(CONFIG, seed=7), replace(CONFIG, learning_rate=0.5)]
    with pytest.raises(DataError, match=r"rloo-0.json: was run with learning_rate=0.001, and learning_rate=0.5"):
        run_all(wanted, tmp_path)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": 1}', '{"format": 1, "config": {"colour": 1}, "curve": []}']
)
def test_a_broken_file_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"broken\.json: cannot be read as the record of a run"):
        load_record(path)


def test_the_table_has_mean_and_spread_over_the_seeds() -> None:
    runs = [
        Record(CONFIG, (point(50, 0.5), point(100, 1.0))),
        Record(replace(CONFIG, seed=1), (point(50, 0.99), point(100, 0.98))),
        Record(replace(CONFIG, method="none"), (point(50, 0.25, 0.0),)),
        Record(replace(CONFIG, method="full"), (point(50, 0.5),)),
    ]
    table = learning_table(summarise(runs)).splitlines()
    assert len(table) == 2 + 3
    assert table[2] == (
        "| (8, 1) | rloo | 1 | 99.0 ± 1.4 % | 100.0 ± 0.0 % | 50.0 ± 0.0 % | 2 of 2 | 75 ± 35 | 4 ± 2 |"
    )
    assert table[3] == "| (8, 1) | none | 0 | 25.0 % | 0.0 % | 50.0 % | 0 of 1 | not in 2 |  |"
    assert table[4].startswith("| (8, 1) | full | 8 | 50.0")


PROJECT = Path(__file__).parents[3]
FOLDERS = sorted({path.parent for path in (PROJECT / "results" / "theory").glob("*/csl-*.json")})


@pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])
def test_the_page_says_what_the_stored_runs_say(folder: Path) -> None:
    page = (PROJECT / "docs" / "theory.md").read_text(encoding="utf-8")
    assert learning_table(summarise(load_records(folder))) in page, (
        f"write the table anew with: policylearn theory results {folder.relative_to(PROJECT)} --markdown"
    )


def test_rloo_learns_to_cover_for_every_seed() -> None:
    runs = [run for run in load_records(PROJECT / "results" / "theory" / "17-3") if run.config.method == "rloo"]
    assert sorted(run.config.seed for run in runs) == [0, 1, 2, 3, 4]
    assert all(run.curve[-1].accuracy >= 0.99 and run.curve[-1].coverage >= 0.99 for run in runs)
