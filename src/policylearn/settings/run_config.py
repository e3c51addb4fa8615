"""The configuration of a training run: typed values, the same on the command line, in YAML and in Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from policylearn.settings.old_versions import without_removed
from policylearn.settings.schema import POLICY_LEARN as POLICY_LEARN
from policylearn.settings.schema import (
    AboveZero,
    Amount,
    ConfigError,
    DropShare,
    NotNegative,
    Positive,
    Seed,
    Settings,
    Share,
    merged,
    nested,
    plain,
    put,
)

SplitName = Literal["official", "scaffold", "random", "column", "folds"]
TaskName = Literal["regression", "binary", "classes"]
Accelerator = Literal["auto", "cpu", "gpu"]
LoggerName = Literal["none", "tensorboard", "wandb"]
Keep = Literal["best", "last"]
Precision = Literal["32-true", "64-true", "16-mixed", "bf16-mixed"]
RecipeName = Literal["paper", "modern"]
OptimizerName = Literal["adam", "adamw", "sgd"]
ScheduleName = Literal["step", "milestones", "cosine", "plateau"]
AtLeastThree = Annotated[int, msgspec.Meta(ge=3)]
Decay = Annotated[float, msgspec.Meta(gt=0, le=1)]


class DataConfig(Settings, frozen=True):
    """What to learn from."""

    name: str = ""
    """A dataset (see `policylearn datasets`), a packed .npz, or a CSV of SMILES."""
    target: tuple[str, ...] = ()
    """Target columns of a CSV; the one target of datasets that have a task per target."""
    smiles: str = "smiles"
    """The CSV's column of molecules."""
    task: TaskName | None = None
    """What a CSV's targets are; inferred if not given."""
    split: SplitName | None = None
    """How to split; the dataset's own way if not given, 'scaffold' for a CSV."""
    split_column: str | None = None
    """The CSV's column that says train, valid or test, for split 'column'."""
    group_column: str | None = None
    """A CSV's column of groups; the test metric is also reported per group, such as for activity cliffs."""
    split_seed: Seed = 0
    """Seed of the random split and of a table's folds."""
    folds: AtLeastThree = 10
    """Number of folds of a table, with split 'folds'; each is the test part once, and the next one validates."""
    repeats: Positive = 1
    """Number of random splits, with the seeds split_seed, split_seed + 1, ...; metrics are means over them."""
    fold: NotNegative | None = None
    """Which fold to train on, of datasets with folds; all of them if not given."""
    standardise: Literal["parent", "none"] = "parent"
    """Read salts and charged molecules of a CSV as their largest organic part in neutral form, or as they are."""
    on_error: Literal["raise", "skip"] = "raise"
    """Whether a broken row of a CSV stops the run or is left out and reported."""
    transforms: dict[str, Any] = {}
    """Structures to compute from the graphs, by name, each with its settings: `{walk_encoding: {steps: 16}}`."""
    workers: NotNegative = 0
    """Processes that compute them; 0 takes as many as there are cores for 1,000 graphs each."""


class OptimConfig(Settings, frozen=True):
    """How the weights are moved: one optimiser, a learning rate for each network."""

    optimizer: OptimizerName = "adam"
    """Adam, AdamW with weight decay, or SGD with momentum."""
    momentum: DropShare = 0.9
    """Momentum of SGD."""
    asam_rho: Amount = 0.0
    """Radius of adaptive sharpness-aware minimisation (ASAM, two passes per step); 0 disables it."""
    asam_eta: Amount = 0.01
    """For ASAM: added to the size of a weight, by which the radius is scaled."""
    weight_decay: Amount = 0.0
    """AdamW: share of a weight that each step takes away, times the rate. Adam and SGD: share of a weight that is added
    to its gradient (L2)."""
    schedule: ScheduleName = "step"
    """Learning rates fall every 'decay_every' epochs or at 'milestones' (the selection network's stays), rise and then
    fall along a cosine to zero, or fall when the validation metric stops improving."""
    milestones: tuple[Positive, ...] = ()
    """Epochs at which the prediction network's rate is multiplied by 'decay', with schedule 'milestones'."""
    warmup: Share = 0.05
    """Share of all steps in which the rate rises, with schedule 'cosine'."""
    plateau_patience: NotNegative = 20
    """Epochs without a better validation metric before the rate is multiplied by 'decay', with schedule 'plateau'."""
    least_rate: Amount = 0.0
    """Training stops once the rate is below this, with schedule 'plateau'."""

    learning_rate: Amount = 1e-3
    """Learning rate of the prediction network."""
    selection_learning_rate: Amount | None = None
    """Learning rate of the selection network, never decayed; the prediction network's first one if not given."""
    eps: AboveZero = 1e-3
    """Added to the denominator of Adam; the authors' value, larger than usual."""
    decay: Decay = 0.5
    """What the prediction network's learning rate is multiplied by every `decay_every` epochs."""
    decay_every: NotNegative = 300
    """Epochs between two decays; 0 keeps the rate constant."""
    gradient_clip: Amount = 0.0
    """Largest norm of the gradient; 0 disables clipping."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.milestones) != (self.schedule == "milestones"):
            raise ValueError(
                "'milestones' are the epochs of schedule 'milestones', and one is of no use without the other"
                f" (got {list(self.milestones)} with schedule '{self.schedule}'); give both, or neither"
            )


class FitConfig(Settings, frozen=True):
    """How long and on what to train."""

    epochs: Positive = 100
    """Passes over the training graphs."""
    batch_size: Positive = 128
    """Graphs per step over all processes."""
    evaluation_batch_size: NotNegative = 0
    """Graphs per batch in evaluation; 0 is the same as in training."""
    seed: Seed = 0
    """Seed of weights, order of the data and picks."""
    start: str | None = None
    """A run folder or packed file whose encoder to start from; its settings of the model hold too. The head is new."""
    freeze: bool = False
    """Whether that encoder stays as it is, so that the head alone learns."""
    patience: NotNegative = 0
    """Stop after this many epochs without a better validation metric; 0 does not stop early."""
    keep: Keep | None = None
    """Whose weights stay: those of the epoch with the best validation metric (also if not given), or those of the last
    epoch. With a rate that falls to zero, prefer the last: a small validation part overfits the choice of the epoch."""
    calibration_batches: NotNegative = 0
    """Training batches over which batch norms' statistics are computed before each evaluation; 0 keeps the running
    ones."""
    threads: NotNegative = 0
    """Threads per process; 0 leaves them as they are."""
    devices: Positive = 1
    """Processes (CPU) or GPUs."""
    accelerator: Accelerator = "cpu"
    """Device type."""
    precision: Precision = "32-true"
    """Precision of the arithmetic."""
    logger: LoggerName = "none"
    """Where to log besides the run folder's own history.csv; each needs the package's extra of that name."""
    checkpoint_seconds: Amount = 10.0
    """Least time between two checkpoints; one is written at the end in any case."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.patience and self.keep == "last":
            raise ValueError(
                f"'patience' {self.patience} stops some epochs after the best one, and 'keep' last keeps the weights of"
                " the stop; give 'keep' best, or 'patience' 0"
            )
        if self.freeze and self.start is None:
            raise ValueError("'freeze' keeps the encoder of 'start', and no 'start' is given; add --from RUN")


class RunConfig(Settings, frozen=True):
    """A whole training run.

    What ``policylearn train DATA`` takes for a dataset or a table is `policylearn.training.run_config(DATA)`.
    """

    recipe: RecipeName = "paper"
    """Which settings of optimiser and schedule the run started from; a table of SMILES has 'modern' by default."""
    model: str = POLICY_LEARN
    """What is trained: 'policy-learn', or another system ('policylearn systems' lists them)."""
    system: dict[str, Any] = {}
    """Settings of the model, such as `{channels: 64}`. In YAML and on the command line they can stand at the top, as
    `--channels 64` or `--selection.picks 2`; 'policylearn settings NAME' lists those of a model."""
    data: DataConfig = DataConfig()
    optim: OptimConfig = OptimConfig()
    fit: FitConfig = FitConfig()
    grid: dict[str, list[Any]] = {}
    """Values to try in a sweep, by setting, such as `selection.tau: [0.33, 1]`; training does not read it."""


def changed(base: RunConfig, content: Mapping[str, Any], source: str = "the configuration") -> RunConfig:
    """A configuration with the settings of nested mappings put over it.

    Args:
        base: what holds where nothing is said.
        content: the settings; what `RunConfig` does not declare belongs to the model, and goes into ``system``.
        source: where they come from, for messages.
    """
    own = {key: value for key, value in content.items() if key in RunConfig.__struct_fields__}
    of_model = {key: value for key, value in content.items() if key not in own}
    try:
        system = own.get("system", {})
        if not isinstance(system, Mapping):
            raise ConfigError(f"'system' must hold the settings of the model (got {system!r}); or leave it out")
        if of_model:
            own["system"] = merged(system, of_model)
        return put(base, own)
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from None


def with_setting(base: RunConfig, key: str, value: Any) -> RunConfig:
    """A configuration with one setting changed, by its dotted name such as `selection.tau`."""
    return changed(base, nested({key: value}), f"'{key}'")


def read_config(path: str | Path, base: RunConfig | None = None) -> RunConfig:
    """A configuration from a YAML file; what it does not say is as in ``base``, or by default."""
    path = Path(path)
    return changed(RunConfig() if base is None else base, without_removed(read_yaml(path)), str(path))


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping that a YAML file holds; an empty file holds an empty one."""
    import yaml

    if not path.exists():
        raise ConfigError(f"{path}: no such configuration; check the path")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is not valid YAML ({' '.join(str(error).split())})") from error
    if content is not None and not isinstance(content, dict):
        raise ConfigError(f"{path}: must hold settings and values, not a {type(content).__name__}")
    return content or {}


def to_yaml(config: RunConfig) -> str:
    """A configuration as YAML, settings without a value left out."""
    import yaml

    text: str = yaml.safe_dump(plain(config), sort_keys=False)
    return text
