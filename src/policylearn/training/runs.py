"""The folder that a run leaves behind: weights, configuration, metrics, and all that is needed to predict with them."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from policylearn.data import DataError, Scaling, Task
from policylearn.data.atomic import replacing, write_text
from policylearn.data.convert import is_table
from policylearn.data.structures import REAL_COLUMNS
from policylearn.data.transforms import Transform
from policylearn.fast import accelerate
from policylearn.models import Inputs, chosen_system, complete
from policylearn.nn import DESCRIPTORS, Features
from policylearn.registry import IMPORTED
from policylearn.settings import ConfigError
from policylearn.settings.notes import RunNote
from policylearn.settings.provenance import system, versions
from policylearn.settings.run_config import RunConfig, to_yaml
from policylearn.settings.run_files import CONFIG, FACTS, FORMAT, METRICS, WEIGHTS, RunError, read_run_files
from policylearn.training.prepared_data import add_real, learned_of

OGB, OGB_OF_PARENTS = "ogb", "ogb of parents"
"""How SMILES become graphs: OGB's features of the molecule as it is given, or of its parent."""


@dataclass(frozen=True)
class RunFacts:
    """What a run must remember besides its configuration and weights.

    Args:
        task: what is predicted, with scaling and class names.
        node_features: what x holds.
        edge_features: what edge_attr holds.
        featuriser: how SMILES become graphs; None where the data were no molecules.
        dataset: name, fingerprint, caveat and size.
        fold: which fold was held out; None without folds.
        threads: of the process, which evaluation takes again.
        evaluation_batch_size: likewise.
        depends_on_batch: whether an output may depend on the other graphs of its batch.
        transforms: of the data, with what they learned, as JSON.
        columns: numbers of nodes and of graphs that structures add, by the structure's name.
        plugins: files of the user that were imported for the training.
        versions: of the packages.
        machine: what it ran on.
        format: of the folder.
    """

    task: Task
    node_features: Features
    edge_features: Features
    featuriser: str | None
    dataset: dict[str, Any]
    fold: int | None
    threads: int
    evaluation_batch_size: int
    depends_on_batch: bool
    transforms: list[dict[str, Any]] = field(default_factory=list)
    columns: dict[str, int] = field(default_factory=dict)
    plugins: list[str] = field(default_factory=lambda: list(IMPORTED))
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
        return Inputs(
            node_features=add_real(self.node_features, self.columns.get(REAL_COLUMNS, 0)),
            edge_features=self.edge_features,
            outputs=self.task.outputs,
            level=self.task.level,
            learned=learned_of([Transform.from_json(stored) for stored in self.transforms]),
            descriptors=self.columns.get(DESCRIPTORS, 0),
            regression=self.task.kind == "regression",
        )


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
        system, settings = chosen_system(self.config)
        return system.label_of(settings)

    @property
    def model_facts(self) -> dict[str, Any]:
        """What was trained, in a few words: the model, and of Policy-learn the policy and its picks."""
        system, settings = chosen_system(self.config)
        return {"model": self.config.model, **system.facts(settings)}

    def build(self) -> nn.Module:
        """The trained model."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RunNote)  # it was said when the model was trained
                model = make_model(self.config, self.facts.inputs)
        except (ConfigError, DataError) as error:
            files = ", ".join(self.facts.plugins)
            own = f"; it was trained with parts of {files}: give them with --plugin, or import them" if files else ""
            raise RunError(f"{self.folder}: {error}{own}") from None
        if self.config.fit.precision == "64-true":
            model.double()
        path = self.folder / WEIGHTS
        if not path.exists():
            raise RunError(f"{self.folder}: holds no {WEIGHTS}: the run has not finished; continue it with --resume")
        try:
            model.load_state_dict(load_file(path))
        except (SafetensorError, OSError, RuntimeError) as error:
            raise RunError(
                f"{path}: cannot be read as this run's weights ({error}); train again or restore the file"
            ) from error
        return model.eval()


def make_model(config: RunConfig, inputs: Inputs) -> nn.Module:
    """The model that a configuration describes for this data, accelerated where that is possible here."""
    system, settings = chosen_system(config)
    return accelerate(system.build(settings, inputs))


def save_settings(folder: Path, config: RunConfig, facts: RunFacts) -> None:
    """Write what a run is, each file whole or not at all: when it begins, and again when it ends."""
    write_text(folder / CONFIG, to_yaml(with_absolute_data(complete(config))))
    write_text(folder / FACTS, json.dumps(asdict(facts), indent=2) + "\n")


def save_weights(folder: Path, model: nn.Module) -> None:
    """Write the weights, whole or not at all."""
    with replacing(folder / WEIGHTS) as part:
        save_file({name: value.contiguous() for name, value in model.state_dict().items()}, part)


def save_metrics(folder: Path, metrics: dict[str, Any]) -> None:
    """Write what came out; this comes last and ends the run. What could not be scored is null."""
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
    folder = Path(folder)
    files = read_run_files(folder)
    content = dict(files.facts)
    task = dict(content["task"])
    scaling = task.pop("scaling")
    task = {key: tuple(value) if isinstance(value, list) else value for key, value in task.items()}
    if scaling is not None:
        task["scaling"] = Scaling(tuple(scaling["shift"]), tuple(scaling["scale"]))
    content["task"] = Task(**task)
    for name in ("node_features", "edge_features"):
        content[name] = features_from(content[name])
    return Run(folder, files.config, RunFacts(**content), files.metrics)


def features_from(content: dict[str, Any]) -> Features:
    """Features as `save_run` writes them; versions before 0.2.0 had one kind with its sizes."""
    if "kind" not in content:
        return Features(tuple(content["categorical"]), content["real"])
    sizes = tuple(content["sizes"])
    return Features(sizes) if content["kind"] == "categorical" else Features(real=sizes[0] if sizes else 0)
