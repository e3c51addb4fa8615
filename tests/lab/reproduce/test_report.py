"""RESULTS.md is made from the ledger alone: the committed one is what the committed records give."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from lab.__main__ import main
from lab.compare.strata import StrataPlan, stratified
from lab.reproduce.comparisons import take_over
from lab.reproduce.declaration import Measure, Protocol
from lab.reproduce.picks import picks_table
from lab.reproduce.plan import plan
from lab.reproduce.records import Record, load_records
from lab.reproduce.report import make_report, write_report
from lab.reproduce.runner import run_table
from lab.reproduce.summary import group_records, paired_runs
from lab.reproduce.tables import TABLES
from lab.reproduce.wish import Wish
from lab.settings import open_ledger
from lab.verbs import VERBS
from lab.verbs.reproduce import find_table
from policylearn.cli.main import make_app
from policylearn.data import DataError
from policylearn.settings import ConfigError
from tests.lab.reproduce.tiny import SMALL, tiny_table, tiny_wish

PROJECT = Path(__file__).parents[3]


def test_the_committed_report_is_what_the_committed_records_give() -> None:
    ledger = open_ledger(PROJECT / "results")
    records = [*load_records(ledger), *take_over(ledger.root, TABLES)]
    again = make_report(records, TABLES, "results")
    assert (PROJECT / "RESULTS.md").read_text(encoding="utf-8") == again, "run 'python -m lab reproduce --report'"
    picks = picks_table({table.name: table for table in TABLES}, group_records(records))
    assert picks in (PROJECT / "README.md").read_text(encoding="utf-8"), "run 'python -m lab reproduce --report'"
    assert len(again.encode()) < 45_000
    names = {table.name for table in TABLES}
    assert all(name in names for name in re.findall(r"\]\(#([\w-]+)\)", again)), "links lead somewhere"


def test_commands_of_the_report_find_their_records() -> None:
    """Also those of versions 0.1 and 0.2, whose settings had other names."""
    ledger, app, commands = open_ledger(PROJECT / "results"), make_app("lab", "", VERBS), 0
    for line in (PROJECT / "RESULTS.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("python -m lab reproduce"):
            _, bound, _ = app.parse_args(shlex.split(line)[3:], exit_on_error=False, print_error=False)
            jobs = plan(find_table(bound.args[0], TABLES), bound.kwargs.get("wish") or Wish())
            assert jobs, line
            assert all(ledger.find(job) for job in jobs), line
            commands += 1
    assert commands > 10


def test_runs_with_options_that_are_gone_are_shown_by_their_names() -> None:
    records = load_records(open_ledger(PROJECT / "results"))
    gone = [record for record in records if record.estimator == "rloo"]
    assert gone
    text = make_report(gone, TABLES, "results")
    assert re.search(r"\| Policy-learn T=2 \|.*\| rloo", text)
    assert re.search(r"^# an option is gone; at commit \w{7}: policylearn reproduce", text, re.M)


def test_a_report_of_a_tiny_table(tiny_data: Path, tmp_path: Path) -> None:
    table, ledger = tiny_table(tiny_data), open_ledger(tmp_path / "results")
    run_table(plan(table, tiny_wish(20, rows=("random-t2", "learned-t2"))), ledger)
    path = write_report(ledger, (table,))
    text = path.read_text(encoding="utf-8")
    assert path == tmp_path / "RESULTS.md"
    assert "Not run: GIN." in text, "OSAN has no figure in the paper"
    assert re.search(
        r"\| Policy-learn T=2 \| 0.30±0.05 \| \d\.\d\d±\d\.\d\d \| 2 of 2 seeds \| 20 of 100"
        r" \| reinforce, batch_size 12†, channels 4†, layers 1† \| reduced budget: \w[\w ]* so far \|",
        text,
    )
    command = r"^python -m lab reproduce tiny --columns tiny --rows random-t2 learned-t2 --only 0 1 --epochs 20"
    assert re.search(command, text, re.M)
    assert make_report(reversed(load_records(ledger)), (table,), "results") == text, "whatever the order"
    runs = paired_runs(table, Wish(), group_records(load_records(ledger)))
    told = stratified(runs, "random-t2", [StrataPlan.read("nodes:5")])
    assert "| tiny | learned-t2 reinforce | test | all |" in told
    assert "| 5 < nodes |" in told
    with pytest.raises(ConfigError):
        stratified(runs, "random-t5", [])
    with pytest.raises(DataError):
        stratified([one for one in runs if one.variant == "random-t2"], "random-t2", [])


def test_times_are_measured_and_compare_with_each_other_only(tiny_data: Path, tmp_path: Path) -> None:
    base, ledger = tiny_table(tiny_data), open_ledger(tmp_path / "results")
    measures: tuple[Measure, ...] = ("train_ms", "test_ms", "test_ms_deterministic")
    columns = tuple(
        replace(base.columns[0], slug=name, metric="milliseconds", measure=name, protocol=Protocol("round", 2))
        for name in measures
    )
    rows = tuple(replace(found, cells=found.cells * 3) for found in base.rows)
    table = replace(base, columns=columns, rows=rows)
    jobs = plan(table, Wish(rows=("learned-t2",), settings=SMALL))
    assert [job.cell.column.slug for job in jobs] == [*measures, *measures], "rounds take turns"
    assert run_table(jobs, ledger).done == tuple(jobs)
    records = load_records(ledger)
    assert len(records) == 6
    assert all(record.test > 0 and record.valid is None and record.curve == {} for record in records)
    text = write_report(ledger, (table,)).read_text(encoding="utf-8")
    assert text.count("2 of 2 rounds") == text.count("| another machine |") == 3


def test_one_line_per_method_and_all_others_below(tiny_data: Path, tiny_record: Record) -> None:
    dataset = tiny_record.dataset | {"caveat": "rebuilt by hand"}
    first = replace(tiny_record, dataset=dataset, valid=0.25)
    longer = replace(first, epochs=2, config=first.config | {"fit": first.config["fit"] | {"epochs": 2}})
    text = make_report([first, longer], (tiny_table(tiny_data),), "results")
    above, below = text.split("<details>")
    assert "rebuilt by hand." in below
    assert [line.count("2 of 100") for line in above.splitlines() if "Policy-learn T=2" in line] == [1]
    assert [line.count("1 of 100") for line in below.splitlines() if "Policy-learn T=2" in line] == [1]


def test_runs_of_a_comparison_are_those_of_a_cell_too(tiny_data: Path, tmp_path: Path) -> None:
    table = tiny_table(tiny_data)
    file = tmp_path / "mine.yaml"
    file.write_text(
        "reference: random\nseeds: 2\nrecipe: modern\n"
        f"settings: {{fit.epochs: 1, fit.batch_size: 12, prediction.channels: 4, prediction.layers: 1}}\n"
        f"data:\n  {table.columns[0].dataset}: {{}}\n"
        "variants:\n  random: {policy: random, picks: 2}\n  learned: {policy: learned, picks: 2}\n"
        "  degree: {policy: degree, picks: 2}\n"
    )
    root = tmp_path / "results"
    assert main(["compare", str(file), "-o", str(root / "compare" / "mine"), "--runs", str(tmp_path / "runs")]) == 0
    found = take_over(root, (table,))
    assert sorted((record.row, record.number) for record in found) == [
        ("learned-t2", 0), ("learned-t2", 1), ("random-t2", 0), ("random-t2", 1),
    ], "the paper has no row of degrees"  # fmt: skip
    learned = found[0]
    assert (learned.estimator, learned.epochs, learned.paper_epochs) == ("reinforce", 1, 100)
    assert learned.changed["recipe"] == "modern"
    assert learned.changed["readout"] == "both"
    assert "fit.seed" not in learned.changed
    text = write_report(open_ledger(root), (table,)).read_text(encoding="utf-8")
    assert re.search(r"\| Policy-learn T=2 \| 0.30±0.05 \| \d\.\d\d±\d\.\d\d \| 2 of 2 seeds \| 1 of 100 \|", text)
    assert "recipe modern†" in text
    assert "readout both†" not in text, "the recipe says it"
    assert re.search(r"^python -m lab compare lab/comparisons/mine\.yaml$", text, re.M)
