"""The configuration of a training run: typed values, the same on the command line and in YAML."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from policylearn.settings.choices import CopyPooling, GraphReadout, PoolingOrder
from policylearn.settings.model_config import BagConfig, NetworkConfig, PolicyConfig
from policylearn.settings.ranges import (
    AboveZero,
    Amount,
    DropShare,
    NotNegative,
    Positive,
    Range,
    RangeError,
    Seed,
    Share,
    check_ranges,
)

SplitName = Literal["official", "scaffold", "random", "column", "folds"]
TaskName = Literal["regression", "binary", "classes"]
Accelerator = Literal["auto", "cpu", "gpu"]
LoggerName = Literal["none", "tensorboard", "wandb"]
Keep = Literal["best", "last"]
Precision = Literal["32-true", "64-true", "16-mixed", "bf16-mixed"]
AtLeastThree = Annotated[int, Range(least=3)]
Decay = Annotated[float, Range(above=0, most=1)]


@dataclass(frozen=True)
class DataConfig:
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
    split_seed: Seed = 0
    """Seed of the random split and of a table's folds."""
    folds: AtLeastThree = 10
    """How many folds a table has, with split 'folds'; each is the test part once, and the next one validates."""
    repeats: Positive = 1
    """Random splits, one after the other, whose seeds count from split_seed; figures are means over them."""
    fold: NotNegative | None = None
    """Which fold to train on, of datasets with folds; all of them if not given."""
    on_error: Literal["raise", "skip"] = "raise"
    """Whether a broken row of a CSV stops the run or is left out and reported."""
    transforms: dict[str, Any] = field(default_factory=dict)
    """Structures to compute from the graphs, by name, each with its settings: `{walk_encoding: {steps: 16}}`."""
    workers: NotNegative = 0
    """Processes that compute them; 0 takes as many as there are cores for 1,000 graphs each."""

    def __post_init__(self) -> None:
        check_ranges(self)


OptimizerName = Literal["adam", "adamw", "sgd"]
ScheduleName = Literal["step", "milestones", "cosine", "plateau"]


@dataclass(frozen=True)
class OptimConfig:
    """How the weights are moved: one optimiser, a learning rate for each network."""

    optimizer: OptimizerName = "adam"
    """Adam, AdamW with weight decay, or SGD with momentum."""
    momentum: DropShare = 0.9
    """Momentum of SGD."""
    asam_rho: Amount = 0.0
    """Take gradients where the loss is worst within this distance (ASAM, two passes per step); 0 does not."""
    asam_eta: Amount = 0.01
    """For ASAM: added to the size of a weight, with which that distance grows."""
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
    """Largest norm of the gradient; 0 does not clip."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if bool(self.milestones) != (self.schedule == "milestones"):
            raise ValueError(
                "'milestones' are the epochs of schedule 'milestones', and one is of no use without the other"
                f" (got {list(self.milestones)} with schedule '{self.schedule}'); give both, or neither"
            )
        if any(epoch < 1 for epoch in self.milestones):
            raise ValueError(f"'milestones' must be epochs >= 1 (got {list(self.milestones)})")


@dataclass(frozen=True)
class FitConfig:
    """How long and on what to train."""

    epochs: Positive = 100
    """Passes over the training graphs; a graph with K samples counts K times, so a pass costs the same for any K."""
    batch_size: Positive = 128
    """Graphs per step over all processes; with K samples per graph, K samples of each of batch_size / K graphs."""
    evaluation_batch_size: NotNegative = 0
    """Graphs per batch in evaluation; 0 is the same as in training."""
    seed: Seed = 0
    """Seed of weights, order of the data and picks."""
    patience: NotNegative = 0
    """Stop after this many epochs without a better validation metric; 0 does not stop early."""
    keep: Keep | None = None
    """Whose weights stay: those of the epoch with the best validation metric (also if not given), or those of the last
    epoch. A rate that falls to zero settles the last ones, and a small validation part takes lucky epochs for good."""
    calibration_batches: NotNegative = 0
    """Training batches over which batch norms' statistics are computed before each evaluation; 0 keeps the running
    ones."""
    threads: NotNegative = 0
    """Threads per process; 0 leaves them as they are."""
    devices: Positive = 1
    """Processes (CPU) or GPUs."""
    accelerator: Accelerator = "cpu"
    """What to run on."""
    precision: Precision = "32-true"
    """Precision of the arithmetic."""
    logger: LoggerName = "none"
    """Where to log besides the run folder's own history.csv; each needs the package's extra of that name."""
    checkpoint_seconds: Amount = 10.0
    """Least time between two checkpoints; one is written at the end in any case."""
    check_memory: bool = True
    """Refuse to begin where a step needs more memory than is free, as estimated from a few graphs."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.patience and self.keep == "last":
            raise RangeError(
                f"fit.patience {self.patience} stops where the validation metric was best a while ago, and fit.keep"
                " 'last' keeps the weights of the stop; give fit.keep best, or fit.patience 0"
            )


RecipeName = Literal["paper", "modern"]
POLICY = "policy"
"""The model that is made of a policy and two networks; every other name is that of a system."""


@dataclass(frozen=True)
class RunConfig:
    """A whole training run.

    These defaults are the paper's where all of its datasets agree. What ``policylearn train DATA`` takes for a dataset
    or a table is `policylearn.training.run_config(DATA)`.
    """

    recipe: RecipeName = "paper"
    """Which settings of optimiser and schedule the run started from; a table of SMILES has 'modern' by default."""

    model: str = POLICY
    """What is trained: 'policy' (see `selection`), or a published system; 'policylearn systems' says what each is: cin,
    cin-small, ds-gnn, dss-gnn, gin-pe, gnn-ak, gnn-ak-plus, gnn-sswl, gnn-sswl-plus, gsn, hymn, mag-gnn, ngnn,
    ngnn-sun, ngnn-zinc, osan, pna, random-ds-gnn, random-dss-gnn, random-osan, reconstruction, sin, sun."""
    system: dict[str, Any] = field(default_factory=dict)
    """Settings of that system: `{channels: 64}`, or one by one as `--system.channels 64`."""
    data: DataConfig = field(default_factory=DataConfig)
    prediction: NetworkConfig = field(default_factory=NetworkConfig)
    selection: PolicyConfig = field(default_factory=PolicyConfig)
    pooling: CopyPooling = "mean"
    """How the prediction network pools the copies of a node."""
    readout: GraphReadout = "mean"
    """How nodes are pooled to a graph vector: their mean, their sum, or both side by side, with a batch norm before the
    head. A mean alone does not know how large the graph is."""
    order: PoolingOrder = "copies"
    """What is pooled first: the copies of each node, or the nodes of each copy."""
    bag: BagConfig = field(default_factory=BagConfig)
    descriptor_dropout: DropShare = 0.0
    """Share of the descriptors (see `data.transforms`) that is set to zero in training."""
    regression_heads: NotNegative | None = None
    """In regression, perceptrons that see the descriptors alone and learn beside the network; what they predict in the
    mean and what the network predicts count half each. Other tasks, and data without descriptors, have none."""
    optim: OptimConfig = field(default_factory=OptimConfig)
    fit: FitConfig = field(default_factory=FitConfig)
    grid: dict[str, list[Any]] = field(default_factory=dict)
    """Values to try in a sweep, by setting, such as `selection.tau: [0.33, 1]`; training itself does not read it."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def heads_over(self, descriptors: int, *, regression: bool) -> int:
        """How many perceptrons a model has over so many descriptors; see `regression_heads`."""
        return (self.regression_heads or 0) if self.model == POLICY and regression and descriptors else 0

    @property
    def method(self) -> str:
        """What is trained, in one word: the policy, or the system."""
        return self.selection.name if self.model == POLICY else self.model
