"""Where copies see each other, an encoder gives what it gives on each bag alone, whatever cuts or keeps copies.

`MixingEncoder` adds to each row the mean over all copies of its graph, as DSS-GNN does. Declared at scope `bag`, or not
declared at all, nothing may change its answers. Declared (wrongly) at scope `copy`, the same laws fail: they can.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from policylearn.bags import Bag, EgoNets, Graphs, Selection, delete_nodes, mark_nodes
from policylearn.models import SubgraphGNN
from policylearn.nn import CopiesThenNodes, NodesThenCopies, Scope, depends_on_batch, scope_of, segment_sum
from policylearn.policies import (
    Estimator,
    FullPolicy,
    LearnedPolicy,
    NoPolicy,
    Policy,
    RandomPolicy,
    RankedPolicy,
    Reinforce,
    StraightThrough,
    degree,
)
from tests.errors import raises_naming
from tests.graphs import batch_of, molecules, small_model

C = 6
ESTIMATORS: dict[str, Estimator] = {
    "reinforce": Reinforce(),
    "straight_through": StraightThrough(),
}


class MixingEncoder(nn.Module):
    """Messages within copies, and the mean over the graph's rows for everybody."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.own, self.others = nn.Linear(2, C), nn.Linear(C, C), nn.Linear(C, C)

    def forward(self, graphs: Graphs, bag: Bag) -> Tensor:
        h = torch.relu(self.first(torch.cat([bag.marks, bag.spread(graphs.x.to(bag.marks.dtype))], dim=1)))
        for _ in range(2):
            adjacency = bag.row_adjacency
            heard = torch.zeros_like(h).index_add(0, adjacency.target, h[adjacency.source])
            rows = torch.bincount(bag.graph_of_row, minlength=graphs.num_graphs).unsqueeze(1)
            mean = segment_sum(h, bag.graph_of_row, graphs.num_graphs) / rows
            h = torch.tanh(self.own(h + heard) + self.others(mean)[bag.graph_of_row])
        return h


def encoder_of(scope: Scope | None) -> MixingEncoder:
    encoder = MixingEncoder().double()
    if scope is not None:
        encoder.scope = scope
    return encoder


def policies(scope: Scope | None) -> dict[str, Policy]:
    learned = {
        name: LearnedPolicy(encoder_of(scope), nn.Linear(C, 1).double(), picks=3, estimator=estimator)
        for name, estimator in ESTIMATORS.items()
    }
    return learned | {
        "random": RandomPolicy(3),
        "degree": RankedPolicy(degree, 3),
        "full": FullPolicy(),
        "none": NoPolicy(),
    }


def build(policy: str, scope: Scope | None, rule: object, readout: nn.Module, max_rows: int = 1 << 18) -> SubgraphGNN:
    torch.manual_seed(0)
    return SubgraphGNN(
        policies(scope)[policy], encoder_of(scope), readout, nn.Linear(C, 2).double(), rule=rule, max_rows=max_rows
    )


def one_bag_alone(model: SubgraphGNN, graphs: Graphs, selection: Selection) -> Tensor:
    """What the parts give on the bag of these picks, with nothing around them."""
    bag = model.rule(graphs, selection, dtype=torch.float64)
    return model.head(model.readout(model.encoder(graphs, bag), bag, graphs))


def scores_of_whole_bags(policy: LearnedPolicy, graphs: Graphs, selection: Selection, step: int) -> Tensor:
    bag = policy.rule(graphs, selection.steps(0, step), dtype=torch.float64)
    pooled = policy.pool.finish(policy.pool.part(policy.encoder(graphs, bag), bag))
    return policy.score(pooled, graphs)


def squared(output: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return (output - y).square(), torch.ones_like(output, dtype=torch.bool)


def check(policy: str, scope: Scope | None, rule: object, readout: nn.Module, max_rows: int) -> None:
    model = build(policy, scope, rule, readout, max_rows)
    if isinstance(model.policy, LearnedPolicy):
        model.policy.rule = rule
    graphs = Graphs.of(batch_of(*molecules(5)))
    # Evaluation, with and without gradients, however small the pieces.
    model.eval()
    with torch.no_grad():
        selection = model.select(graphs)
        assert torch.allclose(model.predict(graphs, selection), one_bag_alone(model, graphs, selection), atol=1e-10)
    assert torch.allclose(model.predict(graphs, selection), one_bag_alone(model, graphs, selection), atol=1e-10)
    # A training step.
    model.train()
    step = model.objective(graphs, torch.zeros(5, 2).double(), squared, generator=torch.Generator().manual_seed(1))
    drawn = step.selection
    assert drawn is not None
    assert torch.allclose(step.outputs, one_bag_alone(model, graphs, drawn), atol=1e-10)
    if isinstance(model.policy, LearnedPolicy):
        assert drawn.logits is not None
        for pick, logits in enumerate(drawn.logits):
            scores = scores_of_whole_bags(model.policy, graphs, drawn, pick)
            open_now = logits.isfinite()
            assert torch.allclose(logits[open_now], scores[open_now], atol=1e-10)


POLICIES = [*ESTIMATORS, "random", "degree", "full", "none"]
READOUTS = {"copies first": CopiesThenNodes(), "nodes first": NodesThenCopies(), "roots": NodesThenCopies("root")}


@pytest.mark.parametrize("max_rows", [1, 40, 1 << 18])
@pytest.mark.parametrize("scope", ["bag", "batch", None])
@pytest.mark.parametrize("policy", POLICIES)
def test_copies_that_see_each_other_are_never_cut_or_kept(policy: str, scope: Scope | None, max_rows: int) -> None:
    check(policy, scope, mark_nodes, CopiesThenNodes(), max_rows)


@pytest.mark.parametrize("readout", READOUTS)
@pytest.mark.parametrize("rule", [EgoNets(hops=1), delete_nodes], ids=["ego", "delete"])
@pytest.mark.parametrize("policy", ["reinforce", "random", "full"])
def test_the_same_for_other_bags_and_readouts(policy: str, rule: object, readout: str) -> None:
    check(policy, None, rule, READOUTS[readout], 7)


@pytest.mark.parametrize(("policy", "max_rows"), [("reinforce", 1 << 18), ("full", 40)])
def test_a_wrong_declaration_breaks_these_laws(policy: str, max_rows: int) -> None:
    """Kept copies and pieces each give other numbers where an encoder declares what is not true."""
    with pytest.raises(AssertionError):
        check(policy, "copy", mark_nodes, CopiesThenNodes(), max_rows)


@pytest.mark.parametrize("rule", [mark_nodes, EgoNets(hops=2), delete_nodes], ids=["mark", "ego", "delete"])
@pytest.mark.parametrize("readout", READOUTS)
def test_other_bags_stream_where_copies_are_independent(rule: object, readout: str) -> None:
    class Apart(MixingEncoder):
        scope = "copy"

        def forward(self, graphs: Graphs, bag: Bag) -> Tensor:
            h = self.first(torch.cat([bag.marks, bag.spread(graphs.x.double())], dim=1))
            adjacency = bag.row_adjacency
            return torch.tanh(self.own(torch.zeros_like(h).index_add(0, adjacency.target, h[adjacency.source])))

    graphs = Graphs.of(batch_of(*molecules(5)))
    model = SubgraphGNN(FullPolicy(), Apart().double(), READOUTS[readout], nn.Linear(C, 2).double(), rule=rule).eval()
    selection = model.select(graphs)
    with torch.no_grad():
        for max_rows in (1, 50, 1 << 18):
            model.max_rows = max_rows
            assert torch.allclose(model.predict(graphs, selection), one_bag_alone(model, graphs, selection))


def test_costs_of_the_first_copies_are_those_of_the_bags_that_they_make() -> None:
    seen: list[Tensor] = []

    class Seen(Reinforce, frozen=True):
        def surrogate(self, selection, evidence):
            seen.append(evidence.prefix_costs())

    model = small_model(picks=3, dtype=torch.float64, norm="layer").train()
    model.policy.estimator = Seen()
    for module in model.encoder.modules():  # statistics of the batch would tell a prefix from a bag
        if hasattr(module, "track"):
            module.eval()
    graphs, y = Graphs.of(batch_of(*molecules(5))), torch.randn(5, 1).double()
    step = model.objective(graphs, y, squared, generator=torch.Generator().manual_seed(0))
    (prefix,) = seen
    assert prefix.shape == (4, 5)
    for picks in range(4):
        outputs = model.predict(graphs, step.selection.steps(0, picks))
        assert torch.allclose(prefix[picks], (outputs - y).square().squeeze(1))


def test_what_is_not_declared_is_the_widest() -> None:
    assert scope_of(lambda graphs, bag: bag.marks) == "batch"
    assert depends_on_batch(encoder_of(None))
    assert not depends_on_batch(encoder_of("bag"))
    with raises_naming(ValueError, "'scope'"):
        scope_of(encoder_of("graph"))  # type: ignore[arg-type]


class Named(nn.Module):
    """A policy with a part under some name."""

    def __init__(self, name: str, part: nn.Module) -> None:
        super().__init__()
        self.add_module(name, part)

    def forward(self, graphs: Graphs, *, generator: torch.Generator | None = None) -> Selection:
        return Selection.nothing(graphs.ptr)


@pytest.mark.parametrize(
    ("name", "part", "wanted"),
    [
        ("encoder", nn.Linear(C, 1), False),
        ("network", nn.BatchNorm1d(C), False),
        ("network", nn.BatchNorm1d(C, track_running_stats=False), True),
        ("network", encoder_of("batch"), True),
        ("network", encoder_of("bag"), False),
        ("inner", LearnedPolicy(encoder_of(None), nn.Linear(C, 1), picks=1), True),
        ("inner", LearnedPolicy(encoder_of("copy"), nn.Linear(C, 1), picks=1), False),
    ],
)
def test_a_policy_is_asked_whether_it_looks_at_the_batch(name: str, part: nn.Module, wanted: bool) -> None:
    policy = Named(name, part)
    model = SubgraphGNN(policy, encoder_of("copy"), CopiesThenNodes(), nn.Linear(C, 1))
    assert model.depends_on_batch is wanted
    for said in (True, False):
        policy.depends_on_batch = said
        assert model.depends_on_batch is said, "the policy's own word counts"
    model.encoder = encoder_of(None)
    assert model.depends_on_batch
