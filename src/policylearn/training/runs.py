"""The folder that a run leaves behind: weights, configuration, metrics, and all that is needed to predict with them."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from policylearn.data import DataError, Task
from policylearn.data.atomic import replacing, write_text
from policylearn.data.convert import is_table
from policylearn.data.transforms import Transform
from policylearn.fast import accelerate
from policylearn.models import Inputs, chosen_system, complete
from policylearn.nn import Features
from policylearn.registry import IMPORTED
from policylearn.settings import ConfigError
from policylearn.settings.provenance import system, versions
from policylearn.settings.run_config import RunConfig, to_yaml
from policylearn.settings.run_files import (
    CONFIG,
    ENSEMBLE,
    FACTS,
    FORMAT,
    METRICS,
    WEIGHTS,
    RunError,
    read_run_files,
)
from policylearn.settings.schema import RunNote
from policylearn.training.data_source import OGB_OF_PARENTS
from policylearn.training.prepared_data import make_inputs


@dataclass(frozen=True)
class RunFacts:
    """What a run must remember besides its configuration and weights."""

    task: Task
    node_features: Features
    edge_features: Features
    featuriser: str | None
    """How SMILES become graphs; None where the data were no molecules."""
    dataset: dict[str, Any]
    """Name, fingerprint, caveat and size."""
    fold: int | None
    threads: int
    """Of the process; evaluation takes as many again, and the batch size below."""
    evaluation_batch_size: int
    depends_on_batch: bool
    """Whether an output may depend on the other graphs of its batch."""
    transforms: list[dict[str, Any]] = field(default_factory=list)
    """Of the data, with what they learned."""
    columns: dict[str, int] = field(default_factory=dict)
    """Numbers of nodes and of graphs that structures add, by the structure's name."""
    plugins: list[str] = field(default_factory=lambda: list(IMPORTED))
    """Files of the user that were imported for the training."""
    versions: dict[str, str] = field(default_factory=versions)
    machine: str = field(default_factory=system)
    format: int = FORMAT

    @property
    def parents(self) -> bool:
        """Whether salts and charged molecules are read as their parent (see `parent_of`)."""
        return self.featuriser == OGB_OF_PARENTS

    @property
    def inputs(self) -> Inputs:
        """What the model was built for."""
        transforms = [Transform.from_json(stored) for stored in self.transforms]
        return make_inputs(self.task, self.node_features, self.edge_features, self.columns, transforms)


@dataclass(frozen=True)
class Run:
    """A finished run, read back from its folder."""

    folder: Path
    config: RunConfig
    facts: RunFacts
    metrics: dict[str, Any]

    @property
    def label(self) -> str:
        """What was trained, in a word: ``learned-t2``, ``sun``."""
        return label_of(self.config)

    @property
    def model_facts(self) -> dict[str, Any]:
        """What was trained, in a few words: the model, and of Policy-learn the policy and its picks."""
        system, settings = chosen_system(self.config)
        return {"model": self.config.model, **system.facts(settings)}

    @property
    def plugin_hint(self) -> str:
        """What an error about an unknown name adds: the users' files of the run that are not imported."""
        files = ", ".join(file for file in self.facts.plugins if file not in IMPORTED)
        return f"; it was trained with parts of {files}: give them with --plugin, or import them" if files else ""

    def build(self) -> nn.Module:
        """The trained model."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RunNote)  # it was said when the model was trained
                model = make_model(self.config, self.facts.inputs)
        except (ConfigError, DataError) as error:
            raise RunError(f"{self.folder}: {error}{self.plugin_hint}") from None
        if self.config.fit.precision == "64-true":
            model.double()
        path = self.folder / WEIGHTS
        if not path.exists():
            raise RunError(f"{self.folder}: holds no {WEIGHTS}: the run has not finished; continue it with --resume")
        try:
            model.load_state_dict(load_file(path))
        except (SafetensorError, OSError, RuntimeError) as error:
            raise RunError(f"{path}: is not this run's weights ({error}); restore it or train again") from error
        return model.eval()


def make_model(config: RunConfig, inputs: Inputs) -> nn.Module:
    """The model that a configuration describes for this data, accelerated where that is possible here."""
    system, settings = chosen_system(config)
    return accelerate(system.build(settings, inputs))


def label_of(config: RunConfig) -> str:
    """What a configuration trains, in a word."""
    system, settings = chosen_system(config)
    return system.label_of(settings)


def save_settings(folder: Path, config: RunConfig, facts: RunFacts) -> None:
    """Write what a run is, each file whole or not at all: when it begins, and again when it ends."""
    write_text(folder / CONFIG, to_yaml(with_absolute_data(complete(config))))
    write_text(folder / FACTS, json.dumps(asdict(facts), indent=2) + "\n")


def save_weights(folder: Path, model: nn.Module) -> None:
    """Write the weights, whole or not at all."""
    with replacing(folder / WEIGHTS) as part:
        save_file({name: value.contiguous() for name, value in model.state_dict().items()}, part)


def save_metrics(folder: Path, metrics: dict[str, Any]) -> None:
    """Write the metrics, last of all files; those that could not be computed are null."""
    plain = {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in metrics.items()}
    write_text(folder / METRICS, json.dumps(plain, indent=2) + "\n")


def with_absolute_data(config: RunConfig) -> RunConfig:
    """The configuration with the whole path of its file, so that the run can be evaluated from any folder."""
    path = Path(config.data.name)
    if not (is_table(config.data.name) or path.suffix == ".npz") or not path.is_file():
        return config
    return config.replace(data=config.data.replace(name=str(path.resolve())))


def load_run(folder: str | Path) -> Run:
    """Read a run folder back."""
    files = read_run_files(folder)
    features = {name: upgraded_features(files.facts[name]) for name in ("node_features", "edge_features")}
    try:
        facts = msgspec.convert(files.facts | features, RunFacts)
    except msgspec.ValidationError as error:
        raise RunError(f"{files.folder / FACTS}: {error}; restore the file or train again") from None
    return Run(files.folder, files.config, facts, files.metrics)


def upgraded_features(content: dict[str, Any]) -> dict[str, Any]:
    """Features as runs store them today; versions before 0.2.0 had one kind with its sizes."""
    if "kind" not in content:
        return content
    sizes = content["sizes"]
    return {"categorical": sizes} if content["kind"] == "categorical" else {"real": sizes[0] if sizes else 0}


def load_members(folder: str | Path) -> tuple[Run, ...]:
    """The runs that a folder answers with: the members of an ensemble, or the one that the folder holds itself."""
    folder = Path(folder)
    listed = folder / ENSEMBLE
    if not listed.is_file():
        begun = sorted(path.name for path in folder.glob("member-*"))
        if begun:
            raise RunError(
                f"{folder}: the ensemble has not finished ({len(begun)} members begun); continue with 'policylearn"
                f" train ... -o {folder} --resume', or give one of them, such as {folder / begun[0]}"
            )
        return (load_run(folder),)
    names = json.loads(listed.read_text(encoding="utf-8"))["members"]
    runs = tuple(load_run(folder / Path(name).name) for name in names)
    first = runs[0].facts
    for run in runs[1:]:
        same = run.facts.task == first.task and run.facts.transforms == first.transforms
        if not same or run.facts.dataset["fingerprint"] != first.dataset["fingerprint"]:
            raise RunError(
                f"{run.folder}: was trained on other data than {runs[0].folder}, so their mean has no meaning;"
                f" take it out of {listed}, or train it again"
            )
    return runs
