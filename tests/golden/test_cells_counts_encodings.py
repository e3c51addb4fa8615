"""CIN, SIN, GSN, PNA, GIN + RWSE & LapPE and HyMN: each equal to its official code."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch

from policylearn.bags import Graphs, Selection
from policylearn.data import PackedGraphs
from policylearn.data.batches import make_batch
from policylearn.data.transforms.cells import Cells
from policylearn.data.transforms.cycle_counts import CycleCodes
from policylearn.data.transforms.laplacian_encoding import LaplacianEncoding
from policylearn.data.transforms.walk_encoding import ClosedWalkCounts, WalkEncoding
from policylearn.models import Inputs, build_model
from policylearn.models.systems.gin_pe import LAPLACIAN, WALKS, EncodedGIN, EncodedGINSettings
from policylearn.models.systems.gsn import CODES, GSN, GSNSettings
from policylearn.models.systems.hymn import TERMS, TIES, HyMNSettings, centrality
from policylearn.policies import RankedPolicy
from tests.golden.case import OUTPUTS, Case, cases_of, check_evaluation, check_training, close, packed

GSN_CASES = cases_of({"GSN-v"})
PNA_CASES = cases_of({"PNA"})
GIN_PE_CASES = cases_of({"GIN + RWSE & LapPE"})
CELL_CASES = cases_of({"CIN", "SIN"})
HYMN_CASES = cases_of({"HyMN (GIN)"})
CASES = [*HYMN_CASES, *CELL_CASES, *GSN_CASES, *PNA_CASES, *GIN_PE_CASES]

DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])


def each(cases: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", cases, ids=[path.stem for path in cases])


def same(name: str) -> str:
    return name


def gsn_case(path: Path, dtype: torch.dtype) -> tuple[Case, GSN, Batch]:
    case = Case(path, dtype)
    inputs = Inputs(
        case.features("node_features"),
        case.features("edge_features"),
        outputs=case.meta["output"],
        learned={"cycle_codes": {"vocabularies": [range(size) for size in case.meta["id_vocabulary_sizes"]]}},
    )
    model = GSN(GSNSettings(layers=case.meta["layers"], channels=case.meta["channels"]), inputs)
    case.load(model)
    return case, model, case.batch(**{CODES: case["codes"]})


@DTYPES
@each(GSN_CASES)
def test_gsn(path: Path, dtype: torch.dtype) -> None:
    case, model, batch = gsn_case(path, dtype)
    graphs = Graphs.of(batch)
    with torch.no_grad():
        check_evaluation(case, model.eval()(graphs))
        close(model.node_states(graphs), case["eval/node_states"], OUTPUTS[dtype])
    check_training(case, model, model.train()(graphs), same, graphs)


@each(GSN_CASES)
def test_codes_of_cycle_counts(path: Path) -> None:
    case = Case(path)
    graphs = packed(case)
    sizes = tuple(int(name.removeprefix("cycle-")) for name in case.meta["substructures"])
    transform = CycleCodes(sizes=sizes, chordless=case.meta["induced"])
    assert np.array_equal(transform.compute(graphs)[transform.into].values, case["counts"])
    fitted = transform.fit(graphs)
    assert [list(known) for known in fitted.vocabularies] == [case[f"vocabulary/{size}"].tolist() for size in sizes]
    assert np.array_equal(fitted(graphs).structures[transform.into].values, case["codes"])


def tables(name: str) -> str:
    """An embedding of one column of ids is the first of several in our encoders."""
    return re.sub(r"(node|edge)_embedding\.weight", r"\1_embedding.tables.0.weight", name)


@DTYPES
@each(PNA_CASES)
def test_pna(path: Path, dtype: torch.dtype) -> None:
    case = Case(path, dtype)
    meta = case.meta
    assert meta["aggregators"] == ["mean", "max", "min", "std"]
    assert meta["scalers"] == ["identity", "amplification", "attenuation"]
    assert meta["residual"]
    assert meta["graph_norm"]
    inputs = Inputs(
        case.features("node_features"),
        case.features("edge_features"),
        outputs=meta["output"],
        learned={"mean_log_degree": {"mean": float(case["average_log_degree"])}},
    )
    same_names = ("layers", "channels", "last_channels", "edge_channels", "towers")
    divide = {"divide_input": meta["divide_input_first"], "divide_last_input": meta["divide_input_last"]}
    model = build_model("pna", {name: meta[name] for name in same_names} | divide, inputs)
    case.load(model, tables)
    graphs = Graphs.of(case.batch())
    with torch.no_grad():
        check_evaluation(case, model.eval()(graphs))
    check_training(case, model, model.train()(graphs), tables, graphs)


@DTYPES
@each(GIN_PE_CASES)
def test_gin_with_encodings(path: Path, dtype: torch.dtype) -> None:
    case = Case(path, dtype)
    meta = case.meta
    settings = EncodedGINSettings(
        walk_steps=meta["rw_steps"],
        eigenvectors=meta["laplacian_vectors"],
        encoding_channels=meta["pe_channels"],
        layers=meta["layers"],
        channels=meta["channels"],
        set2set_steps=int(meta["pooling"].removeprefix("set2set-")),
    )
    model = EncodedGIN(settings, Inputs(case.features("node_features"), outputs=meta["output"]))
    case.load(model)
    graphs = Graphs.of(case.batch(**{WALKS: case["rwse"], LAPLACIAN: case["lappe"]}))
    with torch.no_grad():
        check_evaluation(case, model.eval()(graphs))
    check_training(case, model, model.train().predict(graphs, case["train/lappe_sign"]), same, graphs)


@each(GIN_PE_CASES)
def test_encodings(path: Path) -> None:
    """Walk probabilities are found again; eigenvectors too, up to the choice that repeated eigenvalues leave."""
    case = Case(path)
    graphs = packed(case)
    walks = WalkEncoding(steps=case.meta["rw_steps"], into=WALKS)(graphs).structures[WALKS].values
    close(torch.from_numpy(walks).double(), case["rwse"], 1e-6)
    vectors = LaplacianEncoding(k=case.meta["laplacian_vectors"], into=LAPLACIAN)(graphs).structures[LAPLACIAN].values
    for start, end in pairwise(case["ptr"].tolist()):
        ours, theirs = vectors[start:end].astype(np.float64), case["lappe"][start:end].numpy()
        within = (case["edge_index"][0] >= start) & (case["edge_index"][0] < end)
        matrix = np.zeros((end - start, end - start))
        matrix[tuple((case["edge_index"][:, within] - start).numpy())] = 1
        scale = 1 / np.sqrt(matrix.sum(0))
        laplacian = np.eye(end - start) - scale[:, None] * matrix * scale
        for mine, other in zip(ours.T, theirs.T, strict=True):
            assert abs(mine @ laplacian @ mine - other @ laplacian @ other) < 1e-5


def cell_structures(case: Case) -> tuple[PackedGraphs, dict[str, Tensor]]:
    """What the transform attaches to the graphs of a case."""
    longest = 3 if case.meta["lifting"] == "clique" else case.meta["max_ring_size"]
    graphs = Cells(longest_ring=longest)(packed(case))
    batch = make_batch(graphs, np.arange(len(graphs)))
    return graphs, {name: getattr(batch, name) for name in graphs.structures}


@DTYPES
@each(CELL_CASES)
def test_cin_and_sin(path: Path, dtype: torch.dtype) -> None:
    case = Case(path, dtype)
    meta = case.meta
    assert meta["sum_over_dimensions"] == "sum"
    settings = {
        "cell_features": meta["cell_features_from"].removeprefix("nodes-"),
        "layers": meta["layers"],
        "channels": meta["channels"],
        "norm": {"bn": "batch", "id": "none"}[meta["norm"]],
        "coboundary": meta["coboundary_in_message"],
        "jumping": meta["jumping_knowledge"] == "cat",
        "pooling": meta["pooling"],
    }
    inputs = Inputs(case.features("node_features"), case.features("edge_features"), outputs=meta["output"])
    model = build_model("cin", settings, inputs)
    case.load(model, tables)
    graphs, cells = cell_structures(case)
    # Sorted by graph, as a dataset holds them: `cell_column` points into these columns.
    edges = make_batch(graphs, np.arange(len(graphs)))
    batch = case.batch(**cells)
    batch.edge_index, batch.edge_attr = edges.edge_index, edges.edge_attr
    prepared = Graphs.of(batch)
    with torch.no_grad():
        check_evaluation(case, model.eval()(prepared))
        close(model.pooled(prepared), case["eval/pooled"], OUTPUTS[dtype])
    check_training(case, model, model.train()(prepared), tables, prepared)


@each(CELL_CASES)
def test_cells(path: Path) -> None:
    case = Case(path)
    _, cells = cell_structures(case)
    ours = {tuple(sorted(ends)) for ends in cells["cell_edge"].tolist()}
    assert ours == {tuple(sorted(ends)) for ends in case["cells/edges"].t().tolist()}
    assert len(ours) == len(cells["cell_edge"])
    faces = [sorted(part.tolist()) for part in case["cells/face_nodes"].split(case["cells/face_ptr"].diff().tolist())]
    rings = []
    for ring in range(len(cells["ring"])):
        sides = cells["cell_edge"][cells["ring_edge"][cells["ring_id"] == ring]]
        rings.append(sorted(sides.unique().tolist()))
        assert len(sides) == len(rings[-1]) == cells["ring"][ring]
    assert sorted(rings) == sorted(faces)


def hymn_names(name: str) -> str:
    return tables(name) if name.startswith("head.") else f"encoder.{tables(name)}"


@DTYPES
@each(HYMN_CASES)
def test_hymn(path: Path, dtype: torch.dtype) -> None:
    case = Case(path, dtype)
    meta = case.meta
    assert meta["residual"]
    settings = HyMNSettings(
        picks=meta["T"],
        terms=meta["walk_lengths"],
        centrality_channels=meta["centrality_channels"],
        layers=meta["layers"],
        channels=meta["channels"],
        head_layers=meta["head_layers"],
        over_copies=meta["over_copies"].replace("add", "sum"),
        over_nodes=meta["over_nodes"].replace("add", "sum"),
        norm=meta["norm_after_layer"],
    )
    inputs = Inputs(case.features("node_features"), case.features("edge_features"), meta["output"])
    model = build_model("hymn", settings, inputs)
    case.load(model, hymn_names)
    graphs = Graphs.of(case.batch(**{TERMS: case["centrality"]}))
    roots = Selection(case["roots"] + graphs.ptr[:-1])
    with torch.no_grad():
        check_evaluation(case, model.eval().predict(graphs, roots))
    check_training(case, model, model.train().predict(graphs, roots), hymn_names, graphs)


@each(HYMN_CASES)
def test_centralities_and_the_nodes_that_they_pick(path: Path) -> None:
    case = Case(path)
    terms = ClosedWalkCounts(steps=case.meta["walk_lengths"], into=TERMS)(packed(case)).structures[TERMS].values
    close(torch.from_numpy(terms).double() / case["centrality"].clamp(min=1), case["centrality"].clamp(max=1), 1e-6)
    graphs = Graphs.of(case.batch(**{TERMS: case["centrality"]}))
    scores, picks = case["centrality"].sum(1), case.meta["T"]
    ours = RankedPolicy(centrality, picks, tie_tolerance=TIES)(graphs).roots
    for graph, (start, end) in enumerate(pairwise(case["ptr"].tolist())):
        count = min(picks, end - start)  # what is marked again in a smaller graph is up to whoever does it
        highest = scores[start:end].topk(count).values
        for roots in (ours[:count, graph], case["roots"][:count, graph] + start):
            assert len(roots.unique()) == count
            close(scores[roots], highest, 1e-9)
