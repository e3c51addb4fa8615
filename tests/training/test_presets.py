"""The shipped settings: what the paper's appendix says, file by file, and that each of them trains."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import yaml

from policylearn.cli.options import RunOptions, make_config
from policylearn.data import CATALOG, DataError, Dataset, load_dataset, make_batch
from policylearn.data.datasets.entry import CONFIGS
from policylearn.data.root import data_root
from policylearn.data.subset import take_graphs
from policylearn.data.transforms import Transform, fit_apply
from policylearn.models import SYSTEMS, Inputs, chosen_system, complete
from policylearn.models.systems.policy_learn import PolicyLearnSettings
from policylearn.settings import ConfigError, RunConfig, to_yaml
from policylearn.training import make_model, run_config
from policylearn.training.data_source import describe_features
from policylearn.training.fitting import count_parameters
from policylearn.training.module import RunModule
from policylearn.training.prepared_data import learned_of
from policylearn.training.presets import preset_names
from tests.errors import raises_naming
from tests.molecule_graphs import molecule_like

TAUS, DROPS, RATES = [0.33, 0.66, 1.0, 2.0], [0.0, 0.3, 0.5], [0.01, 0.001]
POLICIES = ("learned", "random", "full", "none")
OF_SYSTEMS = [name for name in preset_names() if name.split("/")[1] in SYSTEMS]
OF_POLICIES = [name for name in preset_names() if name not in OF_SYSTEMS]


class Facts(NamedTuple):
    """A row of the appendix; the grids are those of the learned policy and, in brackets, of every policy."""

    layers: int
    channels: int
    dropout: float
    residual: bool
    rate: float
    selection_rate: float | None
    decay_every: int
    epochs: int
    batch: int
    masked_from: int
    taus: list[float] | None
    drops: list[float]
    shared_grid: dict[str, list[float]]


APPENDIX = {
    "zinc": Facts(6, 64, 0.0, True, 1e-3, 1e-3, 300, 1000, 128, 3, TAUS, DROPS, {}),
    "alchemy": Facts(6, 64, 0.0, True, 1e-3, 1e-3, 300, 1000, 128, 3, TAUS, DROPS, {}),
    "ogbg-molesol": Facts(3, 64, 0.0, True, 1e-3, 1e-3, 300, 1000, 128, 0, TAUS, DROPS, {"prediction.layers": [2, 3]}),
    "ogbg-moltox21": Facts(5, 300, 0.5, True, 1e-3, 1e-3, 300, 500, 128, 0, TAUS, DROPS, {}),
    "ogbg-molbace": Facts(5, 300, 0.5, True, 1e-3, 1e-3, 300, 1000, 128, 0, TAUS, DROPS, {}),
    "ogbg-molhiv": Facts(2, 64, 0.5, True, 1e-3, 1e-3, 0, 500, 128, 0, TAUS, DROPS, {}),
    "reddit-binary": Facts(
        4, 32, 0.0, False, 1e-3, None, 0, 500, 128, 0, TAUS, [0.0, 0.5], {"optim.learning_rate": RATES}
    ),
    "csl": Facts(6, 64, 0.0, False, 1e-3, 1e-3, 0, 100, 8, 0, None, [0.0, 0.5], {"optim.learning_rate": RATES}),
    "exp": Facts(6, 64, 0.0, True, 1e-4, 1e-4, 0, 100, 128, 0, None, [0.0, 0.5], {}),
    "counting-er": Facts(6, 32, 0.0, True, 1e-3, 1e-3, 300, 1000, 128, 0, TAUS, DROPS, {}),
    "counting-rr": Facts(6, 32, 0.0, True, 1e-3, 1e-3, 300, 1000, 128, 0, TAUS, DROPS, {}),
}
# What one policy does otherwise.
SHORTER = {("zinc", "full"): 600, ("zinc", "learned", "t3"): 600, ("zinc", "random", "t3"): 600}
SMALLER_BATCH = {("ogbg-molbace", "full"): 32, ("ogbg-moltox21", "full"): 32}
CELLS = [
    (dataset, policy, picks)
    for dataset in APPENDIX
    for policy in POLICIES
    for picks in (((1, 2, 3, 5, 8) if dataset == "zinc" else (2, 3)) if policy in ("learned", "random") else (2,))
]


def preset(dataset: str, policy: str, picks: int = 2, **more: Any) -> RunConfig:
    """What the command takes for ``DATASET --policy POLICY --picks T``."""
    counted = {} if policy in ("full", "none") else {"selection.picks": picks}
    return run_config(dataset, {"selection.name": policy, **counted, **more})


def settings_of(config: RunConfig) -> PolicyLearnSettings:
    _, settings = chosen_system(config)
    assert isinstance(settings, PolicyLearnSettings)
    return settings


@pytest.mark.parametrize(("dataset", "policy", "picks"), CELLS)
def test_settings_are_those_of_the_appendix(dataset: str, policy: str, picks: int) -> None:
    config, facts = preset(dataset, policy, picks), APPENDIX[dataset]
    settings = settings_of(config)
    many = ("t3",) if picks >= 3 else ()
    network, selection = settings.prediction, settings.selection
    assert (network.layers, network.channels) == (facts.layers, facts.channels)
    assert (network.dropout, network.residual) == (facts.dropout, facts.residual)
    assert network.track_running_stats is (dataset != "exp")
    assert (network.conv, network.norm) == ("gin", "batch")
    assert (settings.pooling, settings.readout) == ("mean", "mean")
    assert config.data.name == dataset
    assert selection["name"] == policy
    assert config.optim.learning_rate == facts.rate
    assert (config.optim.eps, config.optim.decay_every) == (1e-3, facts.decay_every)
    assert config.optim.decay == 0.5
    assert config.fit.epochs == SHORTER.get((dataset, policy, *many), facts.epochs)
    assert config.fit.batch_size == SMALLER_BATCH.get((dataset, policy), facts.batch)
    grid = dict(facts.shared_grid)
    if policy in ("learned", "random"):
        assert selection["picks"] == picks
        assert selection["mask_selected"] is (picks >= facts.masked_from)
    if policy == "learned":
        molecules = dataset in ("zinc", "alchemy") or dataset.startswith("ogbg-")
        assert selection["estimator"] == ("straight_through" if molecules else "reinforce")
        assert config.optim.selection_learning_rate == facts.selection_rate
        assert selection.get("tau", 1.0) == 1.0
        assert selection["node_dropout"] == 0.0
        assert selection["pooling"] == "mean"
        assert "network" not in selection, "architecturally identical to the prediction network"
        grid |= {"selection.node_dropout": facts.drops} | ({"selection.tau": facts.taus} if facts.taus else {})
    assert config.grid == grid


def test_the_selection_rate_follows_the_prediction_rate_on_reddit() -> None:
    config = preset("reddit-binary", "learned", **{"optim.learning_rate": 0.01})
    groups = step_module(config, tiny_alchemy()).configure_optimizers()["optimizer"].param_groups
    assert [group["lr"] for group in groups] == [0.01, 0.01]


@pytest.mark.parametrize("dataset", ["own.csv", "own.tsv.gz"])
def test_a_table_of_molecules_has_the_modern_recipe_unless_told_otherwise(dataset: str) -> None:
    modern, paper = preset(dataset, "learned"), preset(dataset, "learned", recipe="paper")
    assert (modern.recipe, modern.optim.optimizer, modern.optim.schedule) == ("modern", "adamw", "cosine")
    assert settings_of(modern).selection["estimator"] == "reinforce"
    assert settings_of(modern).readout == "both"
    assert (paper.recipe, paper.optim) == ("paper", RunConfig().optim)


def test_the_papers_datasets_have_the_papers_recipe_unless_told_otherwise() -> None:
    paper, modern = preset("zinc", "learned"), preset("zinc", "learned", recipe="modern")
    assert paper.optim.schedule == "step"
    assert (modern.recipe, modern.optim.schedule) == ("modern", "cosine")
    assert settings_of(modern).prediction == settings_of(paper).prediction


def test_every_file_is_named_by_the_appendix() -> None:
    expected = {f"{dataset}/{policy}" for dataset in APPENDIX for policy in POLICIES}
    expected |= {f"{dataset}/{policy}-t3" for dataset in ("zinc", "alchemy") for policy in ("learned", "random")}
    assert set(OF_POLICIES) == expected


@pytest.mark.parametrize("name", OF_SYSTEMS)
def test_every_file_of_a_system_fits_it_and_says_what_it_follows(name: str) -> None:
    text = (CONFIGS / f"{name}.yaml").read_text(encoding="utf-8")
    head = text.split("data:")[0]
    assert all(line.startswith("#") for line in head.splitlines())
    assert re.search(r"Follows .*\.|no (official )?configuration|No official configuration", head)
    assert max(map(len, text.splitlines())) <= 120
    dataset, system = name.split("/")
    config = run_config(dataset, {"model": system})
    assert (config.data.name, config.model) == (dataset, system)
    _, settings = chosen_system(config)
    for key, value in yaml.safe_load(text)["system"].items():
        held = getattr(settings, key)
        assert (list(held) if isinstance(held, tuple) else held) == value


@pytest.mark.parametrize("name", OF_POLICIES)
def test_every_file_says_what_it_follows(name: str) -> None:
    text = (CONFIGS / f"{name}.yaml").read_text(encoding="utf-8")
    head = text.split("data:")[0]
    assert all(line.startswith("#") for line in head.splitlines())
    assert 'Follows the paper\'s appendix "Experimental Details", paragraph "' in head
    assert ("Departs from the paper" in head) == (name.split("/")[1].split("-")[0] in ("learned", "none"))
    assert max(map(len, text.splitlines())) <= 120


def test_the_folder_at_the_root_is_the_shipped_one() -> None:
    assert (Path(__file__).parents[2] / "configs").resolve() == CONFIGS.resolve()


@pytest.mark.parametrize(("kind", "root"), [("sdist", "src/"), ("wheel", "")])
def test_both_distributions_hold_every_file(kind: str, root: str) -> None:
    module = pytest.importorskip(f"hatchling.builders.{kind}", reason="the build backend is not installed")
    builder = getattr(module, f"{kind.capitalize()}Builder")(str(Path(__file__).parents[2]))
    held = {file.distribution_path for file in builder.recurse_included_files()}
    assert {f"{root}policylearn/configs/{name}.yaml" for name in preset_names()} <= held


@pytest.mark.parametrize("dataset", ["own/graphs.npz", "csl-13", "sr25"])
def test_other_data_gets_the_defaults(dataset: str) -> None:
    config, default = preset(dataset, "random", 3), RunConfig()
    assert config == default.replace(
        data=default.data.replace(name=dataset), system={"selection": {"name": "random", "picks": 3}}
    )


@pytest.mark.parametrize("policy", ["degree", "centrality"])
def test_ranked_policies_train_as_random_does(policy: str) -> None:
    config, like = preset("zinc", policy, 5), preset("zinc", "random", 5)
    assert config == like.replace(system={**like.system, "selection": {"name": policy, "picks": 5}})


def test_what_is_unknown_is_named() -> None:
    with raises_naming(ConfigError, "'learnt'"):
        preset("zinc", "learnt")
    with pytest.raises(ConfigError):
        run_config("zinc", {"model": "sunn"})
    with pytest.raises(DataError):
        preset("zink", "learned")
    with pytest.raises(ConfigError):
        preset("zinc", "learned", -1)


def tiny_alchemy() -> Dataset:
    """A few made-up graphs with Alchemy's twelve targets."""
    graphs = molecule_like(8, np.random.default_rng(0), mean_nodes=9)
    y = np.random.default_rng(1).normal(size=(8, 12)).astype(np.float32)
    graphs = replace(graphs, y=y, extras={})
    return Dataset("alchemy", graphs, CATALOG["alchemy"].build_task(graphs), ())


@functools.cache
def load(name: str) -> Dataset:
    if name == "alchemy":
        return tiny_alchemy()
    if not (data_root() / CATALOG[name].file).exists():
        pytest.skip(f"{CATALOG[name].file} is not in the data root")
    return load_dataset(name, target="triangle" if name.startswith("counting") else None)


def step_module(config: RunConfig, dataset: Dataset) -> RunModule:
    torch.manual_seed(0)
    features = describe_features(dataset.graphs, dataset.name.startswith("ogbg-mol"))
    inputs = Inputs(*features, outputs=dataset.task.outputs, level=dataset.task.level)
    return RunModule(make_model(config, inputs), dataset.task, config.optim)


@pytest.mark.parametrize("name", OF_POLICIES)
def test_every_file_makes_a_training_step(name: str) -> None:
    dataset_name, stem = name.split("/")
    config = preset(dataset_name, stem.removesuffix("-t3"), 5 if stem.endswith("-t3") else 2)
    dataset = load(dataset_name)
    module = step_module(config, dataset)
    sizes = dataset.graphs.num_nodes
    small = np.flatnonzero(sizes >= 8)  # in smaller ones there may be nothing to choose between
    batch = make_batch(dataset.graphs, small[np.argsort(sizes[small], kind="stable")[:4]])
    before = {key: value.clone() for key, value in module.named_parameters()}
    optimiser = module.configure_optimizers()["optimizer"]
    module.train()
    loss = module.training_step(batch, 0)
    loss.backward()
    optimiser.step()
    assert math.isfinite(loss.item())
    moved = {key.split(".")[1] for key, value in module.named_parameters() if not torch.equal(value, before[key])}
    # Without marks all nodes of a CSL graph are alike, and of what is alike a batch norm leaves its shift, here zero.
    assert ({"head"} if name == "csl/none" else {"encoder", "head"}) <= moved
    assert ("policy" in moved) == stem.startswith("learned")


@pytest.mark.parametrize("name", OF_SYSTEMS)
def test_every_file_of_a_system_makes_a_training_step(name: str) -> None:
    dataset_name, system = name.split("/")
    config, dataset = run_config(dataset_name, {"model": system}), load(dataset_name)
    features = describe_features(dataset.graphs, dataset_name.startswith("ogbg-mol"))
    small = np.argsort(dataset.graphs.num_nodes, kind="stable")[:6]
    kind, settings = chosen_system(config)
    transforms = [
        Transform.from_json({"name": name, **given}) for name, given in kind.transforms(settings, Inputs(*features))
    ]
    fitted, graphs = fit_apply(transforms, take_graphs(dataset.graphs, small), range(len(small)))
    torch.manual_seed(0)
    task = dataset.task
    inputs = Inputs(*features, outputs=task.outputs, level=task.level, learned=learned_of(fitted))
    # A cosine asks the trainer how many steps there will be.
    stepwise = config.optim.replace(schedule="step", milestones=())
    module = RunModule(make_model(config, inputs), dataset.task, stepwise)
    optimiser = module.configure_optimizers()["optimizer"]
    before = {key: value.clone() for key, value in module.named_parameters()}
    module.train()
    losses = []

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        losses.append(module.training_step(make_batch(graphs, range(len(small))), 0))
        losses[-1].backward()
        return losses[-1]

    optimiser.step(closure)
    assert all(math.isfinite(loss.item()) for loss in losses)
    assert len(losses) == (2 if config.optim.asam_rho else 1)
    assert any(not torch.equal(value, before[key]) for key, value in module.named_parameters())


def test_the_zinc_networks_keep_to_the_budget() -> None:
    dataset = load("zinc")
    weights = count_parameters(step_module(preset("zinc", "learned"), dataset).model)
    total = sum(weights.values())
    assert total <= 500_000
    assert abs(weights["selection"] - weights["prediction"]) < 0.05 * total, "architecturally identical"


@pytest.mark.parametrize(
    ("given", "gone", "kept"),
    [({"selection.estimator": "straight_through"}, "entropy", "tau"), ({"selection.name": "random"}, "mode", "picks")],
)
def test_a_stored_configuration_takes_another_policy_or_estimator(
    given: dict[str, str], gone: str, kept: str, tmp_path: Path
) -> None:
    stored = complete(run_config("zinc", {"recipe": "modern", "selection.name": "learned"}))
    assert gone in stored.system["selection"]
    file = tmp_path / "stored.yaml"
    file.write_text(to_yaml(stored), encoding="utf-8")
    found = complete(make_config("zinc", RunOptions(), given, file)).system["selection"]
    assert gone not in found
    assert kept in found
    with pytest.raises(ConfigError, match=gone):  # what the user types must fit
        complete(make_config("zinc", RunOptions(), {**given, f"selection.{gone}": "0"}, file))
