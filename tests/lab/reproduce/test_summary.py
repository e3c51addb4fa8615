"""Figures, verdicts, and which configuration stands for a cell."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab.reproduce.claims import budget
from lab.reproduce.declaration import Cell, Column, Printed, Protocol, row
from lab.reproduce.records import Record
from lab.reproduce.summary import RunGroup, alike, difference, group_records, verdict
from lab.reproduce.tables import METHODS

SEEDS = Protocol("seed", 2)


def cell(text: str, *, higher: bool = False, **changes: Any) -> Cell:
    column = Column("x", "x", "csl", "accuracy" if higher else "mae", higher, SEEDS, **changes)
    return Cell("x", row(METHODS["learned"], 2, text), column, Printed(text))


def group(record: Record, tests: list[float], **changes: Any) -> RunGroup:
    return RunGroup(
        tuple(
            replace(record, number=n, test=value, epochs=10, paper_epochs=10, **changes)
            for n, value in enumerate(tests)
        )
    )


@pytest.mark.parametrize(
    ("text", "higher", "values", "expected"),
    [
        ("0.120±0.003", False, [0.121, 0.125], "within one deviation of the paper"),
        ("0.120±0.003", False, [0.117, 0.117], "within one deviation of the paper"),
        ("0.120±0.003", False, [0.110, 0.112], "better"),
        ("0.120±0.003", False, [0.130, 0.128], "worse"),
        ("93.0±0.9", True, [0.95, 0.95], "better"),
        ("93.0±0.9", True, [0.90, 0.92], "worse"),
        ("100.00±0.0", True, [1.0, 1.0], "within one deviation of the paper"),
        ("100.00±0.0", True, [1.0, 0.99], "worse"),
        ("0.3569", False, [0.30, 0.42], "within one deviation of the paper"),
        ("0.3569", False, [0.30, 0.31], "better"),
        ("OOM", True, [0.9, 0.9], "no figure in the paper"),
    ],
)
def test_verdicts(text: str, higher: bool, values: list[float], expected: str, tiny_record: Record) -> None:
    declared = cell(text, higher=higher, factor=100.0 if higher else 1.0)
    assert verdict(declared, group(tiny_record, values)) == expected


def test_a_smaller_budget_is_said(tiny_record: Record) -> None:
    whole = group(tiny_record, [0.110, 0.112])
    declared = cell("0.120±0.003")
    assert verdict(declared, whole) == "better"
    assert verdict(declared, RunGroup(whole.records[:1])) == "1 of 2 seeds: better"

    def budget(epochs: int) -> RunGroup:
        return RunGroup(tuple(replace(record, epochs=epochs, paper_epochs=20) for record in whole.records))

    assert verdict(declared, budget(2)) == "reduced budget: better so far"
    assert verdict(declared, budget(1)) == "reduced budget", "too short to be compared"


def test_times_of_another_machine_are_not_compared(tiny_record: Record) -> None:
    times = cell("0.120±0.003", measure="test_ms")
    assert verdict(times, group(tiny_record, [1.0, 2.0])) == "another machine"


def test_folds_share_the_best_epoch_of_their_mean_curve(tiny_record: Record) -> None:
    curves = [([0.2, 0.9, 0.8], [0.1, 0.4, 0.7]), ([0.9, 0.3, 0.8], [0.9, 0.2, 0.5])]
    folds = [
        replace(
            tiny_record,
            repeat="fold",
            number=n,
            higher_is_better=True,
            reported="test",
            curve={"valid": valid, "test": test},
        )
        for n, (valid, test) in enumerate(curves)
    ]
    both = RunGroup(tuple(folds))
    assert both.values == pytest.approx((0.7, 0.5)), "each fold's own best epoch would give 0.4 and 0.9"
    assert (both.mean, both.valid) == pytest.approx((0.6, 0.8))
    assert both.deviation == pytest.approx(np.std([0.7, 0.5]))
    held_out = RunGroup(tuple(replace(fold, reported="valid") for fold in folds))
    assert held_out.values == pytest.approx((0.8, 0.8))


def test_groups_stand_by_funding_and_validation_but_not_by_test(tiny_record: Record) -> None:
    base = replace(tiny_record, changed={})
    good_test = group(base, [0.1, 0.1], valid=0.5)
    good_valid = group(base, [0.4, 0.4], valid=0.2)
    more_runs = group(base, [0.4, 0.4, 0.4], valid=0.9)
    gone = {"system": base.config["system"] | {"selection": {"name": "learned", "estimator": "rloo"}}}
    removed = group(base, [0.1] * 4, valid=0.1, config=base.config | gone)
    short = RunGroup(tuple(replace(record, paper_epochs=11) for record in group(base, [0.1] * 4).records))
    ranked = sorted([good_test, short, removed, more_runs, good_valid], key=lambda one: one.rank, reverse=True)
    assert ranked == [more_runs, good_valid, good_test, short, removed]


def test_a_value_outside_the_papers_grid_is_a_departure(tiny_record: Record) -> None:
    config = tiny_record.config | {"grid": {"selection.tau": [0.33, 1.0]}}
    inside = group(tiny_record, [0.1], config=config, changed={"selection.tau": 0.33})
    outside = group(tiny_record, [0.1], config=config, changed={"selection.tau": 0.5})
    assert (inside.departures, outside.departures) == ({}, {"selection.tau": 0.5})


def test_only_what_was_trained_alike_is_compared(tiny_record: Record) -> None:
    rates = {"optim.learning_rate": 0.01, "optim.selection_learning_rate": 0.01}
    picks = replace(tiny_record.experiment, policy="random")
    learned = group(tiny_record, [0.80, 0.90], changed=rates | {"selection.node_dropout": 0.5})
    random = group(tiny_record, [1.00, 1.10], changed=rates, experiment=picks)
    assert learned.departures.keys() == {*rates, "selection.node_dropout"}
    assert random.departures == {"optim.learning_rate": 0.01}, "random picks have no rate of their own"
    slower = group(tiny_record, [1.00, 1.10, 1.20], changed={}, experiment=picks)
    assert alike([[learned], [slower, random]]) == [learned, random], "another rate is another training"
    assert alike([[learned], [slower]]) == []


def test_seeds_of_one_configuration_are_one_group(tiny_record: Record) -> None:
    fit = tiny_record.config["fit"]
    seeds = [replace(tiny_record, number=n, config=tiny_record.config | {"fit": fit | {"seed": n}}) for n in (1, 0)]
    other = replace(tiny_record, config=tiny_record.config | {"fit": fit | {"epochs": 7}})
    elsewhere = replace(tiny_record, dataset=tiny_record.dataset | {"fingerprint": "0"})
    groups = group_records([*seeds, other, elsewhere])[tiny_record.experiment]
    assert sorted([record.number for record in found.records] for found in groups) == [[0], [0], [0, 1]]
    assert group_records([elsewhere, other, *seeds[::-1]]) == group_records([*seeds, other, elsewhere])
    again = replace(seeds[0], finished=f"{seeds[0].finished} later", test=9.0)
    assert group_records([again, *seeds]) == group_records(seeds), "of two equal runs the first counts"


def test_the_difference_has_its_standard_errors(tiny_record: Record, tmp_path: Path) -> None:
    learned, random = group(tiny_record, [0.80, 0.90]), group(tiny_record, [1.70, 1.30, 1.00])
    random = RunGroup(tuple(replace(one, number=2 - one.number) for one in random.records))
    found = difference(learned, random)
    assert found.better_by == pytest.approx(0.3), "paired"
    assert found.error == pytest.approx(np.std([0.2, 0.4], ddof=1) / np.sqrt(2))
    assert np.isnan(difference(learned, RunGroup(random.records[-1:])).error)
    higher = [RunGroup(tuple(replace(r, higher_is_better=True) for r in one.records)) for one in (learned, random)]
    assert difference(*higher).better_by == pytest.approx(-0.3)
    apart = difference(learned, RunGroup(tuple(replace(one, number=one.number + 9) for one in random.records)))
    assert apart.better_by == pytest.approx(4 / 3 - 0.85), "of the means"
    assert np.isnan(apart.error)
    files = [tmp_path / "ours.json", tmp_path / "theirs.json"]
    firsts = (learned.records[0], random.records[-1])
    pair = [RunGroup((replace(one, file=file),)) for one, file in zip(firsts, files, strict=True)]
    assert difference(*pair).graph_error is None
    for file, errors in zip(files, ([0.1, -0.2, 0.3], [0.3, -0.2, -0.7]), strict=True):
        np.savez_compressed(file.with_suffix(".npz"), test=np.array(errors, dtype=np.float32)[:, None])
    assert difference(*pair).graph_error == pytest.approx(np.std([0.2, 0.0, 0.4], ddof=1) / np.sqrt(3), rel=1e-5)


def test_a_claim_tells_the_settings_of_the_last_method_that_learns(tiny_record: Record) -> None:
    methods = [(None, 3), ("reinforce", 3), ("straight_through", 3), (None, 2)]
    chosen = [group(tiny_record, [1.0] * count, estimator=estimator) for estimator, count in methods]
    told = budget([cell("1.0")] * 4, chosen)
    assert re.fullmatch(r"2 of 2 seeds, 10 of 10 epochs, straight_through(, .*)?", told)
    assert "straight" not in budget([cell("1.0")] * 2, [chosen[0], chosen[3]])
