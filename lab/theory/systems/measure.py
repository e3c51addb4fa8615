"""Which graphs a system distinguishes with random weights: what its design can see, whatever training makes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from lab.theory.systems.families import PairFamily, reference_graphs
from lab.theory.systems.readings import Draws, parts_of
from lab.theory.systems.subjects import SUBJECTS, Subject, find_subject
from policylearn.data import PackedGraphs, take_graphs
from policylearn.data.packed import Array
from policylearn.data.synthetic import join
from policylearn.data.transforms import Transform, fit_apply, transform_cache
from policylearn.models import SYSTEMS, Inputs, calibrate
from policylearn.nn import Features
from policylearn.settings.schema import merged
from policylearn.training.prepared_data import learned_of

OUTPUTS = 8
NODES = Features((2,))
"""EXP's nodes have a label of two values; those of the others have one."""
MOST_LISTED = 10
EXP_PAIRS = 30
"""Of 600, spread over all of them."""
MARGIN = 100.0
"""A difference counts where it is so many times that of graphs that are the same."""
FLOOR = 1e-12
"""Of the outputs' size: the least difference that counts."""
MOVED = 1e-3
"""Of the outputs' size: from here on the order of nodes has changed an output by more than rounding."""
SPREAD = 0.1
"""How far weights are moved from those that PyTorch starts with, so that none is exactly 0 or 1."""


@dataclass(frozen=True)
class ExpressivityConfig:
    """What is asked: a subject, graphs, and networks.

    Args:
        pairs: most pairs of EXP.
        seeds: how often weights are drawn.
    """

    subject: str = "gin"
    family: str = "sr25"
    pairs: int = 100
    seeds: int = 3
    layers: int = 6
    channels: int = 8

    @property
    def record(self) -> str:
        """The name of its record in a ledger."""
        return f"{self.family}-{self.subject}"

    @property
    def settings(self) -> dict[str, Any]:
        """What makes it what it is."""
        return asdict(self)


@dataclass(frozen=True)
class WithWeights:
    """What was found for one draw of the weights; differences are in units of the largest output.

    Args:
        distinguished: pairs whose outputs differ (in the mean over draws, where a system draws).
        by_any_draw: pairs of which no two draws give the same output; None where a system draws nothing.
        noise: largest difference between isomorphic graphs.
        least_apart: least difference of a pair that is distinguished; None if none is.
        most_alike: largest difference of a pair that is not; None if all are.
        moved: isomorphic pairs whose outputs differ by more than rounding.
    """

    distinguished: int
    by_any_draw: int | None
    noise: float
    least_apart: float | None
    most_alike: float | None
    moved: int


@dataclass(frozen=True)
class Distinguished:
    """What was found for a subject.

    Args:
        pairs: of graphs that are not isomorphic.
        distinguished: those that are, with some of the weights.
        by_any_draw: those of which, with some of the weights, no two draws give the same output; None where a system
            draws nothing.
        left: positions of the first pairs that are not distinguished.
        weights: what each draw of the weights gave.
    """

    pairs: int
    distinguished: int
    by_any_draw: int | None
    left: tuple[tuple[int, int], ...]
    weights: tuple[WithWeights, ...]

    @property
    def depends_on_order(self) -> bool:
        """Whether the order of the nodes changed an output, so that there is nothing to compare."""
        return any(one.moved for one in self.weights)


def measure(config: ExpressivityConfig, family: PairFamily) -> Distinguished:
    """Build the subject with random weights some times, and compare its outputs for the graphs of a family."""
    subject = find_subject(config.subject)
    build, graphs = prepare(subject, config, join([family.graphs, reference_graphs(family)]))
    count = len(family.graphs)
    own, reference = take_graphs(graphs, range(count)), take_graphs(graphs, range(count, len(graphs)))
    found = []
    for seed in range(config.seeds):
        with torch.no_grad():
            found.append(compare(subject.reading(random_model(build, reference, seed), own), family))
    apart = np.any([differ for _, differ, _ in found], axis=0)
    sure = [sure for _, _, sure in found if sure is not None]
    left = [(int(a), int(b)) for a, b in family.pairs[~apart][:MOST_LISTED]]
    by_any_draw = int(np.any(sure, axis=0).sum()) if sure else None
    return Distinguished(len(apart), int(apart.sum()), by_any_draw, tuple(left), tuple(one for one, _, _ in found))


def compare(draws: list[Draws], family: PairFamily) -> tuple[WithWeights, Array, Array | None]:
    """Differences of isomorphic graphs and of the others, in units of the largest output."""
    means = torch.stack([one.mean for one in draws])
    scale = float(means.abs().max())

    def difference(pairs: Array) -> Array:
        first, second = torch.from_numpy(pairs).unbind(1)
        return ((means[first] - means[second]).abs().amax(1) / scale).numpy()

    same, others = difference(family.alike), difference(family.pairs)
    tolerance = max(MARGIN * float(same.max()), FLOOR)
    apart = others > tolerance
    sure = None
    if any(len(one.chances) > 1 for one in draws):
        pairs = [(draws[first].outputs, draws[second].outputs) for first, second in family.pairs.tolist()]
        sure = np.array([float(torch.cdist(a, b, p=torch.inf).min()) / scale for a, b in pairs]) > tolerance
    found = WithWeights(
        int(apart.sum()),
        None if sure is None else int(sure.sum()),
        float(same.max()),
        float(others[apart].min()) if apart.any() else None,
        float(others[~apart].max()) if not apart.all() else None,
        int((same > MOVED).sum()),
    )
    return found, apart, sure


def prepare(
    subject: Subject, config: ExpressivityConfig, graphs: PackedGraphs
) -> tuple[Callable[[], nn.Module], PackedGraphs]:
    """How a model of the subject is built, and the graphs with the structures that it reads."""
    system = SYSTEMS[subject.model]
    network = {"layers": config.layers, "channels": config.channels}
    wanted = {**network, "dropout": 0.0, "prediction": network}
    known = system.settings.__struct_fields__
    given = {name: value for name, value in wanted.items() if name in known}
    settings = system.read(merged(given, subject.settings))
    specs = system.transforms(settings, Inputs(NODES, outputs=OUTPUTS))
    transforms = [Transform.from_json({"name": name, **of_transform}) for name, of_transform in specs]
    fitted, graphs = fit_apply(transforms, graphs, range(len(graphs)), cache=transform_cache())
    inputs = Inputs(NODES, outputs=OUTPUTS, learned=learned_of(fitted))
    return lambda: system.build(settings, inputs), graphs


def random_model(build: Callable[[], nn.Module], reference: PackedGraphs, seed: int) -> nn.Module:
    """A model with random weights, in double precision and in evaluation form.

    Norms have the statistics of random graphs of the same sizes: with those of graphs whose nodes are all alike they
    would divide by nothing, and with none at all the states of dense graphs would drown what a mark changes.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = build()
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(SPREAD * torch.randn_like(weight))
        model.double()
        calibrate(model, list(parts_of(reference)), generator=torch.Generator().manual_seed(seed))
    return model.eval()


def all_configs(subjects: Sequence[str], families: Sequence[str]) -> list[ExpressivityConfig]:
    """One question for each subject and family, in the order of `SUBJECTS`."""
    chosen = [find_subject(name).name for name in subjects] or [subject.name for subject in SUBJECTS]
    pairs = {family: EXP_PAIRS if family == "exp" else ExpressivityConfig.pairs for family in families}
    return [ExpressivityConfig(subject, family, pairs[family]) for family in families for subject in chosen]
