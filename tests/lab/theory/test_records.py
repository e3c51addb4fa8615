"""Records of runs: written once, read back the same, made again only where missing; and their table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lab.ledger import LedgerError, read_record
from lab.theory import records as module
from lab.theory.records import LearningRecord, learning_table, load_records, open_ledger, run_all
from policylearn.demo.learning import Evaluation, LearningConfig

CONFIG = LearningConfig(
    n=8, components=1, steps=2, every=1, channels=8, layers=2, calibration=1, test_graphs=5, bags=4, settled=0
)


def point(step: int, accuracy: float, coverage: float = 1.0) -> Evaluation:
    return Evaluation(step, step / 10, step / 20, 0.5, accuracy, coverage, 0.5)


def test_a_record_is_read_back_as_it_was(tmp_path: Path) -> None:
    record = LearningRecord(CONFIG, (point(1, 0.1234567890123), point(2, 1.0)))
    path = open_ledger(tmp_path / "deeper").add(CONFIG, record)
    assert path.name == "csl-8-1-reinforce-0.json"
    assert read_record(path, LearningRecord) == record


def test_the_goal_counts_only_if_it_is_kept() -> None:
    curve = (point(50, 1.0), point(100, 0.3), point(150, 1.0), point(200, 1.0), point(250, 0.5))
    assert LearningRecord(replace(CONFIG, settled=2), curve).reached == curve[2]
    assert LearningRecord(replace(CONFIG, settled=1), curve).reached == curve[0]
    assert LearningRecord(replace(CONFIG, settled=3), curve).reached is None
    assert LearningRecord(replace(CONFIG, settled=2), curve[:1]).reached is None


def test_a_record_says_where_it_comes_from() -> None:
    record = LearningRecord(CONFIG, ())
    assert record.versions.keys() >= {"policylearn", "torch"}
    assert record.commit == "unknown" or len(str(record.commit).split()[0]) == 40
    assert set(record.machine) == {"processor", "cores", "threads", "system"}


def test_only_missing_runs_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configs = [replace(CONFIG, method=method, seed=seed) for method in ("random", "reinforce") for seed in range(2)]
    made: list[tuple[str, int]] = []
    learn = module.learn

    def counted(config: LearningConfig) -> object:
        if len(made) == 2:
            raise KeyboardInterrupt
        made.append((config.method, config.seed))
        return learn(config)

    monkeypatch.setattr(module, "learn", counted)
    with pytest.raises(KeyboardInterrupt):
        run_all(configs, tmp_path)
    assert sorted(file.name for file in tmp_path.glob("*.json")) == ["csl-8-1-random-0.json", "csl-8-1-random-1.json"]
    kept = open_ledger(tmp_path).path(configs[0]).read_bytes()
    made.clear()
    records = run_all(configs, tmp_path)
    assert made == [("reinforce", 0), ("reinforce", 1)]
    assert [record.config for record in records] == configs
    assert open_ledger(tmp_path).path(configs[0]).read_bytes() == kept


def test_other_settings_are_named_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_ledger(tmp_path).add(CONFIG, LearningRecord(CONFIG, (point(1, 1.0),)))
    monkeypatch.setattr(module, "learn", None)
    wanted = [replace(CONFIG, seed=7), replace(CONFIG, learning_rate=0.5)]
    with pytest.raises(LedgerError):
        run_all(wanted, tmp_path)


@pytest.mark.parametrize("text", ['{"format": 1}', '{"format": 1, "config": {"colour": 1}, "curve": []}'])
def test_a_broken_file_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "csl-broken.json").write_text(text)
    with pytest.raises(LedgerError):
        load_records(tmp_path)


def test_the_table_has_mean_and_spread_over_the_seeds() -> None:
    runs = [
        LearningRecord(CONFIG, (point(50, 0.5), point(100, 1.0))),
        LearningRecord(replace(CONFIG, seed=1), (point(50, 0.99), point(100, 0.98))),
        LearningRecord(replace(CONFIG, method="none"), (point(50, 0.25, 0.0),)),
        LearningRecord(replace(CONFIG, method="full"), (point(50, 0.5),)),
    ]
    table = learning_table(runs).splitlines()
    assert len(table) == 2 + 3
    assert table[2] == (
        "| (8, 1) | reinforce | 1 | 99.0 ± 1.4 % | 100.0 ± 0.0 % | 50.0 ± 0.0 % | 2 of 2 | 75 ± 35 | 4 ± 2 |"
    )
    assert table[3] == "| (8, 1) | none | 0 | 25.0 % | 0.0 % | 50.0 % | 0 of 1 | not in 2 |  |"
    assert table[4].startswith("| (8, 1) | full | 8 | 50.0")


PROJECT = Path(__file__).parents[3]
FOLDERS = sorted({path.parent for path in (PROJECT / "results" / "theory").glob("*/csl-*.json")})
FOLDERS = [folder for folder in FOLDERS if folder.name != "systems"]  # records of another study


@pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])
def test_the_page_says_what_the_stored_runs_say(folder: Path) -> None:
    page = (PROJECT / "docs" / "learned-from-scratch.md").read_text(encoding="utf-8")
    assert learning_table(load_records(folder)) in page, (
        f"write the table anew with: python -m lab theory results {folder.relative_to(PROJECT)}"
    )


def test_reinforce_learns_to_cover_for_every_seed() -> None:
    runs = [run for run in load_records(PROJECT / "results" / "theory" / "17-3") if run.config.method == "reinforce"]
    assert sorted(run.config.seed for run in runs) == [0, 1, 2, 3, 4]
    assert all(run.curve[-1].accuracy >= 0.99 and run.curve[-1].coverage >= 0.99 for run in runs)
