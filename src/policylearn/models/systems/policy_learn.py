"""Policy-learn: few marked copies, picked by a policy that is trained end to end (Bevilacqua et al., ICLR 2024).

The method itself is in `policies.learned` (Algorithm 1) and `models.subgraph_gnn`; this file puts it together from its
settings. Random, full, ranked and no picks are the same system with another policy.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from policylearn.bags import RULES, BagRule, MarkNodes
from policylearn.models.registry import FindPreset, Inputs, System, register
from policylearn.models.subgraph_gnn import STREAMED_ROWS, SubgraphGNN
from policylearn.nn.encoders import NetworkConfig, single_stream_encoder, two_stream_encoder
from policylearn.nn.graph_columns import DESCRIPTORS, ColumnHeads, GraphColumns
from policylearn.nn.norms import MLP, RowBatchNorm
from policylearn.nn.readouts import CopiesThenNodes, NodesThenCopies, Readout
from policylearn.policies import POLICIES, PolicyInputs, PolicySettings
from policylearn.settings import CopyPooling, GraphReadout, PoolingOrder
from policylearn.settings.run_config import POLICY_LEARN
from policylearn.settings.schema import DropShare, NotNegative, Positive, RunNote, Settings, plain, put

WITHOUT_EDGES = ("gcn", "sage")
"""Convolutions that do not read edge features."""
ENTROPY = 0.05
"""Entropy bonus of `reinforce` in the recipe 'modern'."""
MANY_PICKS = 3
"""From this T on, a preset with the suffix ``-t3`` holds where there is one."""


class PolicyLearnSettings(Settings, frozen=True):
    """A policy and a prediction network."""

    prediction: NetworkConfig = NetworkConfig()
    selection: dict[str, Any] = {}
    """The policy's `name` (learned, random, full, none, degree, centrality, or one of your own) and its settings."""
    bag: dict[str, Any] = {}
    """How copies are made of the picks: a `rule` (mark, ego, delete, or one of your own), and its settings."""
    pooling: CopyPooling = "mean"
    """How the prediction network pools the copies of a node."""
    readout: GraphReadout = "mean"
    """How nodes are pooled to a graph vector: their mean, their sum, or both side by side, with a batch norm before the
    head. A mean alone does not know how large the graph is."""
    order: PoolingOrder = "copies"
    """What is pooled first: the copies of each node, or the nodes of each copy."""
    descriptor_dropout: DropShare = 0.0
    """Share of the descriptors (see `data.transforms`) that is set to zero in training."""
    regression_heads: NotNegative | None = None
    """In regression, perceptrons that see the descriptors alone and learn beside the network; their mean prediction and
    the network's are averaged. Other tasks, and data without descriptors, have none."""
    max_rows: Positive = STREAMED_ROWS
    """Rows (node and copy) held at once at inference; a larger bag is streamed in pieces."""


def read_policy(selection: Mapping[str, Any]) -> tuple[str, PolicySettings]:
    """The name of a policy and its settings."""
    name = str(selection.get("name", "learned"))
    rest = {key: value for key, value in selection.items() if key != "name"}
    return name, POLICIES[name].settings.read(rest, "selection.")


def read_rule(bag: Mapping[str, Any]) -> tuple[str, Any]:
    """The name of a bag rule, and the rule."""
    name = str(bag.get("rule", "mark"))
    rest = {key: value for key, value in bag.items() if key != "rule"}
    return name, put(RULES[name](), rest, "bag.")


def normalise(settings: PolicyLearnSettings) -> PolicyLearnSettings:
    """The settings with those of the policy and the rule checked and written out."""
    name, policy = read_policy(settings.selection)
    rule_name, rule = read_rule(settings.bag)
    return settings.replace(selection={"name": name, **policy.written()}, bag={"rule": rule_name, **plain(rule)})


def build(settings: PolicyLearnSettings, inputs: Inputs) -> SubgraphGNN:
    """The model that settings describe."""
    network, (name, policy) = settings.prediction, read_policy(settings.selection)
    rule: BagRule = read_rule(settings.bag)[1]
    marks_nothing = policy.copies(MANY_PICKS) == 0
    edges = len(inputs.edge_features.categorical) + inputs.edge_features.real
    if edges and network.conv in WITHOUT_EDGES:
        _note(
            f"the convolution '{network.conv}' does not read edge features, and edges have {edges} of them; use gin or"
            " gatv2 to have them read"
        )
    if marks_nothing and rule != MarkNodes():
        _note(
            f"the policy '{name}' makes no marked copies, so the bag rule '{settings.bag.get('rule')}' has no effect;"
            " choose a policy that picks nodes, such as --policy learned"
        )
    encoder = single_stream_encoder if marks_nothing else two_stream_encoder
    both = settings.readout == "both" and inputs.level == "graph"  # a task of nodes pools none
    width = 2 * network.channels if both else network.channels
    if inputs.descriptors and inputs.level == "node":
        raise ValueError("descriptors belong to whole graphs, and a task of nodes cannot read them; leave them out")
    heads = (settings.regression_heads or 0) if inputs.regression else 0
    return SubgraphGNN(
        POLICIES[name].build(policy, PolicyInputs(network, inputs.node_features, inputs.edge_features, rule)),
        encoder(network, inputs.node_features, inputs.edge_features),
        _readout(settings, inputs),
        MLP(width + inputs.descriptors, 2 * network.channels, inputs.outputs),
        rule=rule,
        columns=GraphColumns(inputs.descriptors, dropout=settings.descriptor_dropout) if inputs.descriptors else None,
        column_heads=ColumnHeads(heads, inputs.descriptors, inputs.outputs) if heads and inputs.descriptors else None,
        vector_norm=RowBatchNorm(width) if both else None,
        max_rows=settings.max_rows,
    )


def _readout(settings: PolicyLearnSettings, inputs: Inputs) -> Readout:
    if settings.order == "copies":
        return CopiesThenNodes(settings.pooling, settings.readout, level=inputs.level)
    if inputs.level == "node":
        raise ValueError("nodes of a copy cannot be pooled first in a task of nodes; use order 'copies'")
    if settings.pooling == "min":
        raise ValueError("vectors of copies are pooled by 'mean' or 'sum'; use order 'copies' for 'min'")
    return NodesThenCopies(settings.readout, settings.pooling)


def _note(text: str) -> None:
    warnings.warn(text, RunNote, stacklevel=3)


def label(settings: PolicyLearnSettings) -> str:
    """The policy's name, with T where it has one."""
    name, policy = read_policy(settings.selection)
    return f"{name}{policy.label}"


def facts(settings: PolicyLearnSettings) -> dict[str, Any]:
    """What a run's metrics say of the policy."""
    written = normalise(settings).selection
    known = {key: written.get(key) for key in ("picks", "mode", "estimator")}
    return {"policy": written["name"], **known}


def presets(settings: PolicyLearnSettings, find: FindPreset) -> Mapping[str, Any] | None:
    """A dataset's settings for the policy: ``learned-t3`` from three picks on where there is one, else ``learned``."""
    name, policy = read_policy(settings.selection)
    declared = POLICIES[name].presets or name
    found = find(f"{declared}-t{MANY_PICKS}") if policy.copies(MANY_PICKS) >= MANY_PICKS else None
    found = find(declared) if found is None else found
    if found is None or declared == name:
        return found
    return {key: value for key, value in found.items() if key != "selection"}  # it is another policy's


def recipe(asked: Mapping[str, Any], name: str, table: bool) -> Mapping[str, Any]:
    """What the recipe 'modern' changes: the estimator, the readout, and on tables depth, perceptrons and the policy.

    On tables picks brought nothing beside descriptors and fingerprints (docs/assays.md): unless a policy is asked for,
    there is none.
    """
    if name != "modern":
        return {}
    selection = asked.get("selection") or ({"name": "none"} if table else {})
    if read_policy(selection)[1].written().get("estimator") == "reinforce":
        selection = {"entropy": ENTROPY, **selection, "estimator": "reinforce"}
    picks = {"selection": selection}
    return {"readout": "both"} | picks | ({"prediction": {"layers": 3}, "regression_heads": 4} if table else {})


register(
    System(
        name=POLICY_LEARN,
        title="few marked copies, picked by a learned policy (Bevilacqua et al., 2024)",
        settings=PolicyLearnSettings,
        network=build,
        normalise=normalise,
        reads=(DESCRIPTORS,),
        levels=("graph", "node"),
        copies=lambda settings, nodes: 1 + read_policy(settings.selection)[1].copies(nodes),
        label=label,
        facts=facts,
        presets=presets,
        recipe=recipe,
    )
)
