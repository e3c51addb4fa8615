"""Which runs a wish needs, under which configuration, and the command that repeats each."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from lab.reproduce.plan import Job, command_of, plan
from lab.reproduce.tables import TABLES
from lab.reproduce.wish import Wish
from lab.settings import selection_of
from lab.verbs import VERBS
from lab.verbs.reproduce import find_table
from policylearn.cli.main import make_app
from policylearn.settings import ConfigError


def table(name: str):
    return find_table(name, TABLES)


def policy(job: Job):
    return selection_of(job.settings)


def test_the_first_repeat_of_every_cell_comes_first() -> None:
    jobs = plan(table("expressivity"), Wish(rows=("random-t2", "learned-t2")))
    assert [job.repeat for job in jobs] == sorted(job.repeat for job in jobs)
    assert [job.title for job in jobs[:4]] == [
        "csl Random T=2 fold 0",
        "csl Policy-learn T=2 fold 0",
        "exp Random T=2 fold 0",
        "exp Policy-learn T=2 fold 0",
    ]
    assert len(jobs) == 2 * 5 + 2 * 10
    assert all(job.config.data.fold == job.repeat and job.config.fit.seed == 0 for job in jobs)


def test_seeds_set_the_seed() -> None:
    jobs = plan(table("ogb"), Wish(rows=("learned*",), columns=("molesol",), seeds=3))
    assert [(job.config.fit.seed, job.config.data.fold, policy(job)["picks"]) for job in jobs] == [
        (seed, None, picks) for seed in range(3) for picks in (2, 5)
    ]


def test_fewer_epochs_bring_the_steps_of_the_learning_rate_forward() -> None:
    job = plan(table("zinc"), Wish(rows=("learned-t2",), epochs=50))[0]
    assert (job.config.fit.epochs, job.config.optim.decay_every) == (50, 15)
    assert job.schedule == "learning rate decayed every 15 epochs instead of 300, in proportion to the epochs"
    whole = plan(table("zinc"), Wish(rows=("learned-t2",)))[0]
    assert (whole.config.fit.epochs, whole.config.optim.decay_every, whole.schedule) == (1000, 300, None)
    stated = plan(table("zinc"), Wish(rows=("learned-t2",), epochs=50, settings={"optim.decay_every": 20}))[0]
    assert (stated.config.optim.decay_every, stated.schedule) == (20, None)
    milestones = plan(table("zinc"), Wish(rows=("osan-t2",), epochs=50))[0]
    assert milestones.config.optim.milestones == (20, 30)
    assert milestones.schedule == (
        "learning rate decayed at epochs [20, 30] instead of [400, 600], in proportion to the epochs"
    )
    constant = plan(table("expressivity"), Wish(rows=("gin",), epochs=5))[0]
    assert (constant.config.optim.decay_every, constant.schedule) == (0, None)


def test_what_only_the_learned_policy_has_leaves_other_rows_alone() -> None:
    wish = Wish(rows=("random-t2", "learned-t2"), columns=("csl",), seeds=1, settings={"selection.node_dropout": 0.5})
    random, score, through = plan(table("expressivity"), replace(wish, estimators=("reinforce", "straight_through")))
    assert "node_dropout" not in policy(random)
    assert [policy(job)["node_dropout"] for job in (score, through)] == [0.5, 0.5]
    assert [policy(job)["estimator"] for job in (score, through)] == ["reinforce", "straight_through"]
    warmer = replace(wish, settings={"selection.tau": 0.5}, estimators=("reinforce", "straight_through"))
    assert [policy(job).get("tau") for job in plan(table("expressivity"), warmer)] == [None, None, 0.5]
    with pytest.raises(ConfigError):
        plan(table("expressivity"), replace(wish, settings={"selection.tua": 0.5}))
    with pytest.raises(ConfigError):
        plan(table("expressivity"), replace(wish, estimators=("rloo",)))


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (Wish(rows=("learnd-t2",)), "'learned-t2'"),
        (Wish(columns=("csl",)), "'csl'"),
        (Wish(only=(10,)), "--only.*10"),
        (Wish(seeds=0), "--seeds"),
        (Wish(epochs=0), "--epochs"),
    ],
)
def test_a_wish_that_cannot_be_met_says_why(wish: Wish, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plan(table("reddit"), wish)


def test_what_did_not_fit_into_the_papers_memory_is_run_when_it_is_named() -> None:
    assert "full" not in {job.cell.row.slug for job in plan(table("reddit"), Wish(seeds=1))}
    assert [job.cell.row.slug for job in plan(table("reddit"), Wish(seeds=1, rows=("full",)))] == ["full"]


@pytest.mark.parametrize(
    ("name", "wish"),
    [
        ("zinc", Wish(rows=("learned-t5",), only=(3,), epochs=40, estimators=("straight_through",))),
        ("zinc", Wish(rows=("gcn",), seeds=1)),
        ("ogb", Wish(rows=("learned-t5",), columns=("molesol",), settings={"selection.tau": 0.33})),
        ("expressivity", Wish(columns=("exp",), settings={"fit.calibration_batches": 4, "optim.decay_every": 7})),
        ("ogb", Wish(columns=("molhiv",), only=(1,), settings={"prediction.residual": False})),
        ("zinc", Wish(rows=("random-t2",), seeds=1, epochs=40, settings={"optim.decay_every": 9})),
    ],
)
def test_the_command_of_a_run_plans_the_same_run(name: str, wish: Wish) -> None:
    app = make_app("lab", "", VERBS)
    for job in plan(table(name), wish)[:6]:
        words = shlex.split(command_of(job.cell, job.settings, [job.repeat]))
        assert words[:4] == ["python", "-m", "lab", "reproduce"]
        _, bound, _ = app.parse_args(words[3:], exit_on_error=False, print_error=False)
        again: list[Job] = plan(table(bound.args[0]), bound.kwargs.get("wish") or Wish())
        assert [(other.settings, other.name) for other in again] == [(job.settings, job.name)]


def test_threads_do_not_make_another_run() -> None:
    one, two, other = (
        plan(table("zinc"), Wish(rows=("learned-t2",), seeds=1, settings={key: value}))[0].name
        for key, value in (("fit.threads", 1), ("fit.threads", 2), ("selection.tau", 0.5))
    )
    assert one == two != other


def test_a_setting_goes_to_the_rows_that_read_it() -> None:
    wish = Wish(rows=("cin", "learned-t2"), seeds=1, settings={"channels": 8, "selection.node_dropout": 0.5})
    cin, learned = plan(table("zinc"), wish)
    assert cin.settings["system"]["channels"] == 8
    assert "selection" not in cin.settings["system"]
    assert "channels" not in learned.settings["system"]
    assert policy(learned)["node_dropout"] == 0.5
    assert cin.record.startswith("zinc/cin/")


def test_a_system_is_given_the_picks_of_its_row() -> None:
    (job,) = plan(table("zinc"), Wish(rows=("osan-t2",), seeds=1))
    assert (job.config.model, job.config.system["picks"]) == ("osan", 2)
    assert "--rows osan-t2" in command_of(job.cell, job.settings, [0])


def test_variants_run_where_they_are_named_alone() -> None:
    usual = {job.cell.row.slug for job in plan(table("zinc"), Wish(seeds=1))}
    assert "cin" in usual
    assert "cin-c68" not in usual
    (job,) = plan(table("zinc"), Wish(rows=("cin-c68",), seeds=1))
    assert job.config.system["channels"] == 68
