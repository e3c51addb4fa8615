"""GNN-AK, GNN-SSWL, NGNN and Reconstruction GNN: each equal to its official code."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from policylearn.bags import NO_PICK, Bag, Graphs, attached_ego_nets
from policylearn.data.transforms.ego_nets import AttachedEgoNets, Distances
from policylearn.models import Inputs, build_model
from policylearn.models.systems.ngnn import NestedSettings, labelled_ego_nets
from policylearn.models.systems.reconstruction import Deck, RandomDeck
from policylearn.nn import Features
from tests.golden.case import Case, cases_of, check_evaluation, check_training, computed

AK_CASES = cases_of({"GNN-AK", "GNN-AK+"})
SSWL_CASES = cases_of({"GNN-SSWL", "GNN-SSWL+"})
NGNN_CASES = cases_of({"NGNN"})
NGNN_ZINC_CASES = cases_of({"NGNN (ZINC network)"})
NGNN_SUN_CASES = cases_of({"NGNN (SUN code, ZINC)"})
RECONSTRUCTION_CASES = cases_of({"Reconstruction GNN"})
CASES = [*AK_CASES, *SSWL_CASES, *NGNN_CASES, *NGNN_ZINC_CASES, *NGNN_SUN_CASES, *RECONSTRUCTION_CASES]

DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])


def each(cases: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", cases, ids=[path.stem for path in cases])


def renamer(*rules: tuple[str, str | Callable[[re.Match[str]], str]]) -> Callable[[str], str]:
    """Official weight names to ours: every rule that fits is applied, in order."""

    def rename(name: str) -> str:
        for pattern, ours in rules:
            name = re.sub(pattern, ours, name)
        return name

    return rename


def tables(case: Case, pattern: str) -> Features:
    """Features with as many categories as the weights that fit a pattern have rows."""
    found = [name for name in case.arrays if re.fullmatch(f"weight/{pattern}", name)]
    return Features(tuple(len(case[name]) for name in found))


def outputs(case: Case) -> int:
    return case["eval/prediction"].shape[1]


def check_case(
    case: Case,
    model: nn.Module,
    graphs: Graphs,
    rename: Callable[[str], str],
    predict: Callable[[], Tensor] | None = None,
) -> None:
    """Everything that a case holds of a network."""
    run = predict or (lambda: model(graphs))
    case.load(model, rename)
    assert sum(weight.numel() for weight in model.parameters()) == case.meta["parameters"]
    with torch.no_grad():
        model.eval()
        check_evaluation(case, run())
    model.train()
    check_training(case, model, run(), rename, graphs)


def rows_of(*columns: Tensor) -> list[tuple[float, ...]]:
    return sorted(zip(*(column.double().flatten().tolist() for column in columns), strict=True))


def check_rows_and_edges(case: Case, bag: Bag, marks: Tensor, *, tolerance: float = 1e-8) -> None:
    """The bag holds the rows and the edges of the case, whatever their order."""
    root, node = case["subgraph/batch"], case["subgraph/node"]
    got = rows_of(bag.root, bag.node, *bag.marks.unbind(1))
    for a, b in zip(got, rows_of(root, node, *marks.unbind(1)), strict=True):
        assert a == pytest.approx(b, abs=tolerance)
    edges, (source, target) = bag.row_adjacency, case["subgraph/edge_index"]
    ours = [bag.root[edges.target], bag.node[edges.source], bag.node[edges.target]]
    theirs = [root[target], node[source], node[target]]
    if "subgraph/edge" in case:
        ours, theirs = [*ours, edges.edge], [*theirs, case["subgraph/edge"]]
    assert rows_of(*ours) == rows_of(*theirs)


# GNN-AK and GNN-AK+

AK_NAMES = renamer(
    (r"^input_encoder\.embeddings", "node_encoder.tables"),
    (r"^edge_encoders\.(\d+)\.embeddings", r"layers.\1.edges.tables"),
    (r"^subgraph_layers\.", "layers."),
    (r"\.hop_embedder\.", ".hops."),
    (r"\.gnns\.0\.convs\.(\d+)\.layer\.eps", r".inner.\1.eps"),
    (r"\.gnns\.0\.convs\.(\d+)\.nn\.layers\.0", r".inner.\1.lin1"),
    (r"\.gnns\.0\.convs\.(\d+)\.nn\.layers\.1", r".inner.\1.lin2"),
    (r"\.gnns\.0\.convs\.(\d+)\.nn\.norms\.0", r".inner.\1.norm1"),
    (r"\.gnns\.0\.norms\.(\d+)", r".inner.\1.norm2"),
    (r"\.gnns\.0\.output_encoder\.layers\.0", ".narrow"),
    (r"\.(subgraph|context)_transform\.layers\.0", r".transforms.\1.lin"),
    (r"\.(subgraph|context)_transform\.norms\.0", r".transforms.\1.norm"),
    (r"\.gate_mapper_(\w+)\.0", r".gates.\1"),
    (r"\.out_encoder\.layers\.0", ".out"),
    (r"^output_decoder\.layers\.0", "lin1"),
    (r"^output_decoder\.layers\.1", "lin2"),
    (r"^output_decoder\.norms\.0", "norm"),
)
AK_PARTS = ("centroid", "subgraph", "context")


@DTYPES
@each(AK_CASES)
def test_gnn_ak(path: Path, dtype: torch.dtype) -> None:
    case = Case(path, dtype)
    meta = case.meta
    inputs = Inputs(
        tables(case, r"input_encoder\.embeddings\.\d+\.weight"),
        tables(case, r"edge_encoders\.0\.embeddings\.\d+\.weight"),
        outputs=outputs(case),
    )
    settings = {
        "channels": meta["channels"],
        "layers": meta["layers"],
        "hop_channels": meta["hop_channels"],
        "inner_layers": meta["inner_layers"],
        "parts": [AK_PARTS[part] for part in meta["embs"]],
        "combine": meta["combine"],
        "pool": {"add": "sum", "mean": "mean"}[meta["pool"]],
        "dropout": meta["dropout"],
    }
    model = build_model("gnn-ak", settings, inputs)
    graphs = Graphs.of(case.batch(**computed(case, AttachedEgoNets(meta["hops"]))))
    check_rows_and_edges(case, attached_ego_nets(graphs), case["subgraph/hop"].unsqueeze(1))
    check_case(case, model, graphs, AK_NAMES)


# GNN-SSWL and GNN-SSWL+


def sswl_names(layers: int) -> Callable[[str], str]:
    return renamer(
        (r"^encode\.embed_v\.atom_embedding_list", "node_encoder.tables"),
        (r"^encode\.embed_d", "distances"),
        (rf"^A{layers}\.mlp\.uG\.", "pool."),
        (rf"^A{layers}\.nr\.bn", "norm"),
        (r"^A(\d+)\.eps\.vv", r"layers.\1.eps"),
        (r"^A(\d+)\.(?:eps|enc|mlp)\.uL", r"layers.\1.within"),
        (r"^A(\d+)\.(?:eps|enc|mlp)\.vL", r"layers.\1.across"),
        (r"^A(\d+)\.mlp\.vv", r"layers.\1.own"),
        (r"(within|across)$", r"\1.eps"),
        (r"\.embed\.bond_embedding_list", ".edges.tables"),
        (r"^A(\d+)\.nr\.bn", r"layers.\1.norm"),
        (r"^pool\.predict", "head"),
        (r"\.input\.", ".lin1."),
        (r"\.input_nr\.bn\.", ".norm."),
        (r"\.output\.", ".lin2."),
    )


@DTYPES
@each(SSWL_CASES)
def test_gnn_sswl(path: Path, dtype: torch.dtype) -> None:
    case = Case(path, dtype)
    meta = case.meta
    inputs = Inputs(
        tables(case, r"encode\.embed_v\.atom_embedding_list\.\d+\.weight"),
        tables(case, r"A0\.enc\.uL\.embed\.bond_embedding_list\.\d+\.weight"),
        outputs=outputs(case),
    )
    settings = {"channels": meta["channels"], "layers": meta["layers"], "cap": meta["max_distance"]}
    model = build_model("gnn-sswl-plus" if meta["system"] == "GNN-SSWL+" else "gnn-sswl", settings, inputs)
    extras = computed(case, Distances(meta["max_distance"]))
    assert torch.equal(extras["pair_distance"].flatten(), case["pair/distance"].clamp(max=meta["max_distance"]))
    check_case(case, model, Graphs.of(case.batch(**extras)), sswl_names(meta["layers"]))


# NGNN, its three published forms

NGNN_NAMES = renamer(
    (r"^gnn_node\.", ""),
    (r"^node_encoder\.atom_embedding_list", "node_encoder.tables"),
    (r"^z_embedding", "labels.table"),
    (r"^rd_projection", "labels.resistance"),
    (r"^virtualnode_embedding\.weight", "virtual"),
    (r"\.edge_encoder\.bond_embedding_list", ".edges.tables"),
    (r"^convs\.(\d+)\.mlp\.0", r"convs.\1.lin1"),
    (r"^convs\.(\d+)\.mlp\.1", r"convs.\1.norm"),
    (r"^convs\.(\d+)\.mlp\.3", r"convs.\1.lin2"),
    (r"^batch_norms", "norms"),
    (r"^mlp_virtualnode_list\.(\d+)\.0", r"updates.\1.lin1"),
    (r"^mlp_virtualnode_list\.(\d+)\.1", r"updates.\1.norm1"),
    (r"^mlp_virtualnode_list\.(\d+)\.3", r"updates.\1.lin2"),
    (r"^mlp_virtualnode_list\.(\d+)\.4", r"updates.\1.norm2"),
    (r"^graph_pred_linear", "head"),
)


def nested_graphs(case: Case) -> Graphs:
    """The graphs with their ego nets, whose rows, labels and resistances are those of the case."""
    transform = AttachedEgoNets(case.meta["height"], arrivals=True, resistance=case.meta["resistance"])
    graphs = Graphs.of(case.batch(**computed(case, transform)))
    bag = labelled_ego_nets(graphs, NestedSettings(resistance=case.meta["resistance"]))
    first = bag.marks[:, 0] + 1
    columns = [first, first * (bag.marks[:, 1] >= 2), *bag.marks[:, 2:].unbind(1)]
    wanted = [case["subgraph/label"], *([case["subgraph/resistance"]] if case.meta["resistance"] else [])]
    ours = replace(bag, marks=torch.stack([column.double() for column in columns], dim=1))
    tolerance = 1e-8 if case.dtype == torch.float64 else 1e-4
    check_rows_and_edges(case, ours, torch.cat([one.double() for one in wanted], dim=1), tolerance=tolerance)
    return graphs


@DTYPES
@each(NGNN_CASES)
def test_ngnn(path: Path, dtype: torch.dtype) -> None:
    case = Case(path, dtype)
    meta = case.meta
    inputs = Inputs(
        tables(case, r"gnn_node\.node_encoder\.atom_embedding_list\.\d+\.weight"),
        tables(case, r"gnn_node\.convs\.0\.edge_encoder\.bond_embedding_list\.\d+\.weight"),
        outputs=outputs(case),
    )
    settings = {
        "channels": meta["channels"],
        "layers": meta["layers"],
        "height": meta["height"],
        "resistance": meta["resistance"],
        "virtual_node": meta["virtual_node"],
        "residual": meta["residual"],
        "dropout": meta["dropout"],
    }
    model = build_model("ngnn", settings, inputs)
    assert (meta["subgraph_pool"], meta["graph_pool"]) == ("mean", "mean"), "the network knows no other"
    check_case(case, model, nested_graphs(case), NGNN_NAMES)


NGNN_ZINC_NAMES = renamer(
    (r"^node_type_embedding", "node_encoder.tables.0"),
    (r"^z_embedding_list\.(\d+)", r"layers.\1.labels.table"),
    (r"^rd_projection_list\.(\d+)", r"layers.\1.labels.resistance"),
    (r"^convs\.(\d+)", r"layers.\1.conv"),
    (r"^norms\.(\d+)", r"layers.\1.norm"),
    (r"\.edge_encoder\.", ".edges.tables.0."),
    (r"\.mlp\.0\.", ".lin1."),
    (r"\.mlp\.1\.", ".norm."),
    (r"\.mlp\.3\.", ".lin2."),
    (r"^fc(\d)", r"lin\1"),
)


@DTYPES
@each(NGNN_ZINC_CASES)
def test_ngnn_zinc(path: Path, dtype: torch.dtype) -> None:
    case = Case(path, dtype)
    meta = case.meta
    inputs = Inputs(
        tables(case, r"node_type_embedding\.weight"),
        tables(case, r"convs\.0\.edge_encoder\.weight"),
        outputs=outputs(case),
    )
    settings = {
        "channels": meta["channels"],
        "layers": meta["layers"],
        "height": meta["height"],
        "resistance": meta["resistance"],
        "pool": {"mean": "mean", "center": "root"}[meta["subgraph_pool"]],
    }
    model = build_model("ngnn-zinc", settings, inputs)
    assert meta["graph_pool"] == "mean", "the network knows no other"
    assert meta["residual"], "the network always has it"
    check_case(case, model, nested_graphs(case), NGNN_ZINC_NAMES)


NGNN_SUN_NAMES = renamer(
    (r"^subgraph_gnn\.gnn_node\.", ""),
    (r"^atom_encoder\.enc", "node_encoder.tables.0"),
    (r"^convs\.(\d+)", r"layers.\1.conv"),
    (r"^batch_norms\.(\d+)", r"layers.\1.norm"),
    (r"\.bond_encoder\.", ".edges.tables.0."),
    (r"\.mlp\.0\.", ".lin1."),
    (r"\.mlp\.1\.", ".norm."),
    (r"\.mlp\.3\.", ".lin2."),
    (r"^final_layers\.0", "head.lin1"),
    (r"^final_layers\.2", "head.lin2"),
)


@DTYPES
@each(NGNN_SUN_CASES)
def test_ngnn_sun(path: Path, dtype: torch.dtype) -> None:
    case = Case(path, dtype)
    meta = case.meta
    inputs = Inputs(
        tables(case, r"subgraph_gnn\.gnn_node\.atom_encoder\.enc\.weight"),
        tables(case, r"subgraph_gnn\.gnn_node\.convs\.0\.bond_encoder\.weight"),
        outputs=outputs(case),
    )
    settings = {
        "channels": meta["channels"],
        "layers": meta["layers"],
        "hops": meta["hops"],
    }
    model = build_model("ngnn-sun", settings, inputs)
    assert (meta["jk"], meta["residual"]) == ("concat", False), "the network knows no other"
    graphs = Graphs.of(case.batch())
    bag = model.copies(graphs)
    check_rows_and_edges(case, bag, torch.zeros(bag.num_rows, 0))
    check_case(case, model, graphs, NGNN_SUN_NAMES)


# Reconstruction GNN

RECONSTRUCTION_NAMES = renamer(
    (r"^conv(\d)", lambda found: f"convs.{int(found[1]) - 1}"),
    (r"^bn(\d)", lambda found: f"norms.{int(found[1]) - 1}"),
    (r"\.bond_encoder\.0", ".edges.lin1"),
    (r"\.bond_encoder\.2", ".edges.lin2"),
    (r"\.mlp\.0", ".mlp.lin1"),
    (r"\.mlp\.2", ".mlp.lin2"),
    (r"\.linear\.", ".lin."),
    (r"\.root_emb\.weight", ".root"),
    (r"^fc0", "readout.between.0"),
    (r"^fc4", "lin1"),
    (r"^fc5", "lin2"),
    (r"^pred", "lin3"),
)


def deck_of(case: Case) -> Deck:
    """The members of the case, by what they lack."""
    graph, ptr = case["deck/graph"], case["ptr"]
    gone = torch.full((len(graph), case.meta["removed"]), NO_PICK)
    for member, of in enumerate(graph.tolist()):
        left = set(case["deck/node"][case["deck/batch"] == member].tolist())
        missing = sorted(set(range(int(ptr[of]), int(ptr[of + 1]))) - left)
        gone[member, : len(missing)] = torch.tensor(missing, dtype=torch.long)
    return Deck(graph, gone)


def ways(deck: Deck) -> Tensor:
    """The members that differ, ``(members, 1 + k)``."""
    return torch.cat([deck.graph.unsqueeze(1), deck.gone], dim=1).unique(dim=0)


@DTYPES
@each(RECONSTRUCTION_CASES)
def test_reconstruction(path: Path, dtype: torch.dtype) -> None:
    case = Case(path, dtype)
    meta = case.meta
    inputs = Inputs(Features((meta["node_types"],)), Features((meta["edge_types"],)), outputs=meta["outputs"])
    settings = {name: meta[name] for name in ("removed", "base", "channels", "layers")}
    model = build_model("reconstruction", settings | {"deck_size": meta["sample_size"]}, inputs)
    graphs, deck = Graphs.of(case.batch()), deck_of(case)
    check_case(case, model, graphs, RECONSTRUCTION_NAMES, lambda: model.predict(graphs, deck))

    bag, (source, target) = deck.bag(graphs), case["deck/edge_index"]
    assert deck.num_rows(graphs) == bag.num_rows
    assert rows_of(bag.copy, bag.node) == rows_of(case["deck/batch"], case["deck/node"])
    edges, kinds = bag.row_adjacency, case["edge_attr"].flatten()
    ours = rows_of(bag.copy[edges.target], bag.node[edges.source], bag.node[edges.target], kinds[edges.edge])
    member, node = case["deck/batch"], case["deck/node"]
    assert ours == rows_of(member[target], node[source], node[target], case["deck/edge_type"])


@each(RECONSTRUCTION_CASES)
def test_decks_are_as_large_as_the_official_ones(path: Path) -> None:
    """Whole decks are the very same; drawn ones have as many members, and those of the official sampler repeat some."""
    case = Case(path)
    graphs, wanted, removed = Graphs.of(case.batch()), deck_of(case), case.meta["removed"]
    assert len(wanted.graph) - len(ways(wanted)) == case.meta["repeated_subgraphs"]
    for by_order in (False, True):
        deck = RandomDeck(removed, case.meta["sample_size"], by_order=by_order)(graphs)
        assert torch.equal(deck.graph.bincount(), wanted.graph.bincount())
        if removed == 1 and case.meta["sample_size"] >= int(graphs.sizes.max()):
            assert rows_of(deck.graph, deck.gone) == rows_of(wanted.graph, wanted.gone)
        if not by_order:
            assert len(ways(deck)) == len(deck.graph)
