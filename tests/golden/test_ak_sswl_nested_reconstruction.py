"""GNN-AK, GNN-SSWL, NGNN and Reconstruction GNN: each equal to its official code."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from policylearn.bags import Bag, Graphs, attached_ego_nets
from policylearn.data.transforms.distances import Distances
from policylearn.data.transforms.ego_nets import EgoNets
from policylearn.models.systems.gnn_ak import GNNAK
from policylearn.models.systems.gnn_sswl import GNNSSWL
from policylearn.models.systems.ngnn import NGNN
from policylearn.models.systems.ngnn_sun import NGNNSun
from policylearn.models.systems.ngnn_zinc import NGNNZinc
from policylearn.nn import Features, labelled_ego_nets
from tests.golden.case import Case, cases_of, check_evaluation, check_training, computed

AK_CASES = cases_of({"GNN-AK", "GNN-AK+"})
SSWL_CASES = cases_of({"GNN-SSWL", "GNN-SSWL+"})
NGNN_CASES = cases_of({"NGNN"})
NGNN_ZINC_CASES = cases_of({"NGNN (ZINC network)"})
NGNN_SUN_CASES = cases_of({"NGNN (SUN code, ZINC)"})
CASES = [*AK_CASES, *SSWL_CASES, *NGNN_CASES, *NGNN_ZINC_CASES, *NGNN_SUN_CASES]

DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])


def each(cases: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", cases, ids=[path.stem for path in cases])


def renamer(*rules: tuple[str, str]) -> Callable[[str], str]:
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


def check_case(case: Case, model: nn.Module, graphs: Graphs, rename: Callable[[str], str]) -> None:
    """Everything that a case holds of a network."""
    case.load(model, rename)
    assert sum(weight.numel() for weight in model.parameters()) == case.meta["parameters"]
    with torch.no_grad():
        check_evaluation(case, model.eval()(graphs))
    check_training(case, model, model.train()(graphs), rename, graphs.members)


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
    model = GNNAK(
        tables(case, r"input_encoder\.embeddings\.\d+\.weight"),
        tables(case, r"edge_encoders\.0\.embeddings\.\d+\.weight"),
        channels=meta["channels"],
        outputs=outputs(case),
        layers=meta["layers"],
        hop_channels=meta["hop_channels"],
        inner_layers=meta["inner_layers"],
        parts=[AK_PARTS[part] for part in meta["embs"]],
        combine=meta["combine"],
        pool={"add": "sum", "mean": "mean"}[meta["pool"]],
        dropout=meta["dropout"],
    )
    graphs = Graphs.of(case.batch(**computed(case, EgoNets(meta["hops"]))))
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
    model = GNNSSWL(
        tables(case, r"encode\.embed_v\.atom_embedding_list\.\d+\.weight"),
        tables(case, r"A0\.enc\.uL\.embed\.bond_embedding_list\.\d+\.weight"),
        channels=meta["channels"],
        outputs=outputs(case),
        layers=meta["layers"],
        cap=meta["max_distance"],
        own=meta["system"] == "GNN-SSWL+",
    )
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
    transform = EgoNets(case.meta["height"], arrivals=True, resistance=case.meta["resistance"])
    graphs = Graphs.of(case.batch(**computed(case, transform)))
    bag = labelled_ego_nets(graphs, resistance=case.meta["resistance"])
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
    model = NGNN(
        tables(case, r"gnn_node\.node_encoder\.atom_embedding_list\.\d+\.weight"),
        tables(case, r"gnn_node\.convs\.0\.edge_encoder\.bond_embedding_list\.\d+\.weight"),
        channels=meta["channels"],
        outputs=outputs(case),
        layers=meta["layers"],
        height=meta["height"],
        resistance=meta["resistance"],
        virtual_node=meta["virtual_node"],
        residual=meta["residual"],
        dropout=meta["dropout"],
    )
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
    model = NGNNZinc(
        tables(case, r"node_type_embedding\.weight"),
        tables(case, r"convs\.0\.edge_encoder\.weight"),
        channels=meta["channels"],
        outputs=outputs(case),
        layers=meta["layers"],
        height=meta["height"],
        resistance=meta["resistance"],
        pool={"mean": "mean", "center": "root"}[meta["subgraph_pool"]],
    )
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
    model = NGNNSun(
        tables(case, r"subgraph_gnn\.gnn_node\.atom_encoder\.enc\.weight"),
        tables(case, r"subgraph_gnn\.gnn_node\.convs\.0\.bond_encoder\.weight"),
        channels=meta["channels"],
        outputs=outputs(case),
        layers=meta["layers"],
        hops=meta["hops"],
    )
    assert (meta["jk"], meta["residual"]) == ("concat", False), "the network knows no other"
    graphs = Graphs.of(case.batch())
    bag = model.copies(graphs)
    check_rows_and_edges(case, bag, torch.zeros(bag.num_rows, 0))
    check_case(case, model, graphs, NGNN_SUN_NAMES)
