"""The settings of the networks and of the policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from policylearn.settings.choices import (
    COUNTING,
    LEARNING,
    ConvName,
    CopyPooling,
    CostBaseline,
    EstimatorName,
    Mode,
    NormKind,
    PolicyName,
    PriorName,
    RuleName,
)
from policylearn.settings.ranges import (
    AboveZero,
    AnyNumber,
    DropShare,
    NotNegative,
    Positive,
    Range,
    Seed,
    check_ranges,
)

AtLeastTwo = Annotated[int, Range(least=2)]
"""One channel holds the mark, and the others what nodes come with."""


@dataclass(frozen=True)
class NetworkConfig:
    """One of the two networks."""

    channels: AtLeastTwo = 64
    """Width C of every layer."""
    layers: Positive = 6
    """Number of layers."""
    conv: ConvName = "gin"
    """The inner convolution."""
    norm: NormKind = "batch"
    """Norm after each linear map; the selection network has its own setting, `PolicyConfig.norm`."""
    track_running_stats: bool = True
    """Whether batch norms keep running statistics for evaluation."""
    dropout: DropShare = 0.0
    """Dropout between layers."""
    residual: bool = True
    """Add each layer's input to its output."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class PolicyConfig:
    """Which copies to look at."""

    name: PolicyName = "learned"
    """The policy."""
    picks: NotNegative = 2
    """T, how many copies there are besides the unmarked graph."""
    marks_per_copy: Positive = 1
    """Nodes marked in each copy: the best of one draw."""
    network: NetworkConfig | None = None
    """The selection network; the same as the prediction network if not given."""
    mode: Mode = "incremental"
    """One pass per step, or the authors' way."""
    norm: NormKind = "layer"
    """Norm of the selection network, or of the shared one; in paper mode it is a batch norm over the whole bag."""
    estimator: EstimatorName = "reinforce"
    """How gradients reach the picks."""
    samples: Positive = 4
    """K, bags drawn per graph by 'rloo'; 'reinforce' draws one."""
    standardise: bool = True
    """Divide the advantages of 'rloo' and 'reinforce' by their standard deviation."""
    baseline: CostBaseline = "all"
    """What the baseline of 'reinforce' knows: the batch's mean, also past costs, also the copies before, or all."""
    tau: AboveZero = 1.0
    """Temperature of 'straight_through' and 'gapped'."""
    imle_strength: AboveZero = 10.0
    """How far 'imle' moves the scores against the gradient of the marks."""
    node_dropout: DropShare = 0.0
    """Share of the candidates that cannot be picked, in training."""
    mask_selected: bool = True
    """Do not pick a node twice (learned); draw without replacement (random)."""
    add_graph_mean: bool = True
    """Add the graph's mean to each node before scoring."""
    pooling: CopyPooling = "mean"
    """How the selection network pools the copies of a node."""
    shared: bool = False
    """Let the policy use the prediction network's encoder, so that each copy is computed once for both."""
    prior: PriorName | None = None
    """What the first pick prefers before anything is learned: its logarithm is added to the first pick's scores."""
    stop_below: AnyNumber | None = None
    """Stop picking, in evaluation, once a further copy is expected to lower the loss by less than this; None never."""
    seed: Seed = 0
    """Seed of the random policy's draws in evaluation."""

    @property
    def learns(self) -> bool:
        """Whether picks are learned."""
        return self.name in LEARNING

    @property
    def counts_picks(self) -> bool:
        """Whether there are as many picks as `picks` says."""
        return self.name in COUNTING

    @property
    def marks_nothing(self) -> bool:
        """Whether there is the unmarked graph alone."""
        return self.name == "none" or (self.counts_picks and self.picks == 0)

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class BagConfig:
    """How copies are made of the picks, for both networks."""

    rule: RuleName = "mark"
    """Mark the picked nodes, keep what is near them (marked), or delete them."""
    hops: NotNegative = 3
    """How far ego nets reach."""

    def __post_init__(self) -> None:
        check_ranges(self)
