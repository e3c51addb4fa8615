"""Comparisons: what is paired, what is counted, and that nothing is trained twice."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from lab.__main__ import main
from lab.compare.plan import jobs_of, read_comparison
from lab.compare.runner import CompareRecord, load_records
from lab.compare.summary import summarise, to_markdown
from lab.settings import open_ledger, selection_of
from policylearn.settings import ConfigError
from tests.training.tiny import write_graphs

YAML = """
reference: random
seeds: 2
recipe: modern
settings: {{fit.epochs: 1, fit.batch_size: 8, prediction.channels: 4, prediction.layers: 1, data.split: random}}
data:
  {data}: {{}}
variants:
  random: {{policy: random, picks: 1}}
  learned: {{policy: learned, picks: 1, recipe: paper, selection.estimator: imle, selection.strength: 2.0}}
"""


@pytest.fixture
def comparison(tmp_path: Path) -> Path:
    data = write_graphs(tmp_path / "tiny.npz")
    path = tmp_path / "policies.yaml"
    path.write_text(YAML.format(data=data))
    return path


def record(variant: str, seed: int, test: float, *, higher: bool = False) -> CompareRecord:
    return CompareRecord(
        data="molesol",
        variant=variant,
        seed=seed,
        metric="rmse",
        higher_is_better=higher,
        valid=0.5,
        test=test,
        best_epoch=3,
        epochs=10,
        cpu_seconds=20.0,
        parameters={},
        dataset={},
        config={},
    )


def test_differences_are_paired_by_seed_and_count_for_the_better() -> None:
    records = [record("random", seed, 1.0 + seed) for seed in range(3)]
    records += [record("learned", seed, 0.8 + seed + 0.03 * (seed - 1)) for seed in range(3)]
    random, learned = summarise(records, "random")
    assert random.difference is None
    assert learned.difference == pytest.approx(0.2)
    assert learned.difference_error == pytest.approx(0.03 / math.sqrt(3))
    assert learned.clear
    higher = [record("random", 0, 0.7, higher=True), record("learned", 0, 0.8, higher=True)]
    assert summarise(higher, "random")[1].difference == pytest.approx(0.1)
    assert not summarise(higher, "random")[1].clear, "one pair tells nothing"


def test_a_single_run_is_told_without_an_error() -> None:
    own = to_markdown(
        summarise([record("random", 0, 1.0), record("learned", 0, 0.75)], "random"), "random"
    ).splitlines()[-1]
    assert own.startswith("| molesol | learned | 1 | 0.7500 rmse | 0.5000 | +0.2500 (1) | no |")


def test_the_share_of_the_gain_of_all_marks_is_of_shared_seeds() -> None:
    runs = {"none": [1.0, 1.2], "learned": [0.7, 0.9, 5.0], "full": [0.6, 0.8]}
    records = [record(name, seed, test) for name, tests in runs.items() for seed, test in enumerate(tests)]
    found = {row.records[0].variant: row.recovered for row in summarise(records, "none")}
    assert found == {"none": None, "learned": pytest.approx(0.75), "full": None}
    assert "| 75% | 20 |" in to_markdown(summarise(records, "none"), "none")
    assert summarise(records[2:], "learned")[0].recovered is None


def test_few_pairs_need_more_standard_errors() -> None:
    def gains(spread: float, pairs: int) -> list[CompareRecord]:
        own = [record("learned", seed, 0.9 + spread * (-1) ** seed) for seed in range(pairs)]
        return [record("random", seed, 1.0) for seed in range(pairs)] + own

    few, many = (summarise(gains(spread, pairs), "random")[1] for spread, pairs in ((0.03, 2), (0.18, 20)))
    assert few.difference / few.difference_error > many.difference / many.difference_error > 2
    assert not few.clear
    assert many.clear


@pytest.mark.parametrize("name", ["tables_mean", "tables_plain", "zinc", "molhiv", "heads"])
def test_records_of_older_versions_are_found(name: str) -> None:
    """Settings have other names today, and so have the records of new trainings."""
    root = Path(__file__).parents[3]
    jobs = jobs_of(read_comparison(root / "lab" / "comparisons" / f"{name}.yaml"))
    ledger = open_ledger(root / "results" / "compare" / name)
    records = set(ledger.root.glob("*/*.json"))
    assert records
    assert {ledger.find(job) for job in jobs} == records


def test_seeds_that_only_one_side_has_are_not_compared() -> None:
    records = [record("random", 0, 1.0), record("learned", 0, 0.9), record("learned", 1, 5.0)]
    learned = summarise(records, "random")[1]
    assert (len(learned.records), len(learned.pairs)) == (2, 1)
    assert learned.difference == pytest.approx(0.1)
    assert "| learned | 2 |" in to_markdown([learned], "random")


def test_variants_share_seed_and_data_and_have_their_own_settings(comparison: Path) -> None:
    jobs = jobs_of(read_comparison(comparison))
    assert [(job.seed, job.variant) for job in jobs] == [(0, "random"), (0, "learned"), (1, "random"), (1, "learned")]
    assert jobs[0].config.optim.schedule == "cosine"
    assert jobs[1].config.optim.schedule == "step"
    assert selection_of(jobs[1].settings)["estimator"] == "imle"
    assert {job.config.fit.seed for job in jobs} == {0, 1}
    assert len({job.record for job in jobs}) == 4


def test_seeds_can_be_named(comparison: Path) -> None:
    comparison.write_text(comparison.read_text().replace("seeds: 2", "seeds: [3, 5]"))
    assert [job.seed for job in jobs_of(read_comparison(comparison))] == [3, 3, 5, 5]


def test_every_training_is_made_once(comparison: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", str(comparison), "-o", str(tmp_path / "records"), "--runs", str(tmp_path / "runs")]
    assert main([*words, "--report"]) == 1
    assert main(words) == 0
    first = load_records(tmp_path / "records")
    assert {(one.variant, one.seed) for one in first} == {(v, s) for v in ("random", "learned") for s in (0, 1)}
    assert all(one.cpu_seconds > 0 for one in first)
    out = capsys.readouterr().out
    assert "| tiny | learned | 2 |" in out
    assert "| over graphs |" in out
    assert main(words) == 0
    assert load_records(tmp_path / "records") == first
    capsys.readouterr()
    assert main([*words, "--report", "--against", "learned"]) == 0
    assert "better than learned by" in capsys.readouterr().out
    assert "better than random by" in (tmp_path / "records" / "summary.md").read_text()
    assert main([*words, "--report", "--strata", "nodes:5", "rings:0,1"]) == 0
    out = capsys.readouterr().out
    assert "| tiny | learned | valid | all |" in out
    assert "| 5 < nodes |" in out
    assert "| 1 < rings |" in out
    assert main([*words, "--report", "--strata", "nodes:x"]) == 2
    assert "such as nodes:6" in capsys.readouterr().err
    assert main([*words, "--report", "--strata", "node:6"]) == 2
    assert "did you mean 'nodes'" in capsys.readouterr().err
    assert main([*words, "--report", "--against", "lerned"]) == 2
    assert "did you mean 'learned'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed: 3\ndata: {a: {}}\nvariants: {b: {}}", "'seed'.*'seeds'"),
        ("data: {a: {}}", "'variants'"),
        ("data: {a: {}}\nvariants: 3", "'variants'"),
        ("data: {a: {}}\nvariants: {b: {}}\nreference: c", "'c'"),
        ("data: {a: {}}\nvariants: {b: {}}\nseeds: 0", "'seeds'"),
        ("data: {a: {}}\nvariants: {b: {}}\nseeds: [2, x]", "'seeds'"),
        ("[1, 2]", "not a list"),
    ],
)
def test_what_is_wrong_is_said(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_comparison(path)
