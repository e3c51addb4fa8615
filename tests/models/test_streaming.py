"""The full bag in pieces: the same output as at once, in memory that the setting bounds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from policylearn.bags import Bag, Graphs
from policylearn.data import PackedGraphs, data_root, make_batch
from policylearn.models import Inputs, SubgraphGNN, build_model
from tests.graphs import batch_of, molecules, small_model, symmetric_graphs

REDDIT = "reddit-binary.npz"


class Watched(nn.Module):
    """An encoder that notes how many rows each piece has."""

    scope = "copy"

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder, self.pieces = encoder, []

    def forward(self, graphs: Graphs, bag: Bag) -> Tensor:
        self.pieces.append(int(bag.row_ptr[-1]))
        return self.encoder(graphs, bag)


@pytest.fixture(scope="module")
def reddit() -> PackedGraphs:
    path = data_root() / REDDIT
    if not path.exists():
        pytest.skip(f"{REDDIT} is not in the data root; set POLICYLEARN_DATA to the folder that holds it")
    return PackedGraphs.load(Path(path))


def full_model(max_rows: int, *, channels: int = 8, layers: int = 2) -> SubgraphGNN:
    torch.manual_seed(0)
    network = {"channels": channels, "layers": layers}
    settings = {"prediction": network, "selection": {"name": "full"}, "max_rows": max_rows}
    model = build_model(settings=settings, inputs=Inputs(outputs=2)).eval()
    assert isinstance(model, SubgraphGNN)
    model.encoder = Watched(model.encoder)
    return model


@pytest.mark.parametrize("pooling", ["mean", "sum", "min"])
@pytest.mark.parametrize("level", ["graph", "node"])
@pytest.mark.parametrize("max_rows", [1, 7, 60, 1000])
def test_pieces_change_nothing(pooling: str, level: str, max_rows: int) -> None:
    batch = batch_of(*molecules(6), *symmetric_graphs()[:4])
    model = small_model("full", pooling=pooling, level=level, dtype=torch.float64).eval()
    with torch.no_grad():
        whole = model(batch)
        model.max_rows = max_rows
        assert torch.allclose(model(batch), whole, atol=1e-12)


def test_norms_that_take_statistics_of_the_bag_see_all_of_it() -> None:
    """A piece has other statistics, and memory would decide what comes out."""
    batch = batch_of(*molecules(6))
    model = small_model("full", track_running_stats=False, dtype=torch.float64).eval()
    with_gradients = model(batch).detach()
    for max_rows in (7, 60, 1 << 20):
        model.max_rows = max_rows
        with torch.no_grad():
            assert torch.allclose(model(batch), with_gradients, atol=1e-12)


def test_with_gradients_the_bag_is_whole() -> None:
    model = full_model(max_rows=5)
    model(batch_of(*molecules(3)))
    assert len(model.encoder.pieces) == 1


@torch.no_grad()
def test_the_setting_bounds_the_rows_on_a_real_graph(reddit: PackedGraphs) -> None:
    sizes = reddit.num_nodes
    middle = int(np.argsort(sizes, kind="stable")[len(sizes) // 2])
    batch, nodes = make_batch(reddit, [middle]), int(sizes[middle])
    bound = 20 * nodes
    model, at_once = full_model(bound), full_model(1 << 30)
    assert torch.allclose(model(batch), at_once(batch), atol=1e-5)
    assert at_once.encoder.pieces == [nodes * (nodes + 1)]
    assert sum(model.encoder.pieces) == nodes * (nodes + 1)
    assert max(model.encoder.pieces) <= bound


@torch.no_grad()
def test_unlike_real_graphs_in_one_batch(reddit: PackedGraphs) -> None:
    sizes = reddit.num_nodes
    some = np.argsort(sizes, kind="stable")[[0, 400, 800, 1000]]
    batch, rows = make_batch(reddit, some), int((sizes[some].astype(np.int64) * (sizes[some] + 1)).sum())
    bound = 50_000
    model, at_once = full_model(bound), full_model(1 << 30)
    assert torch.allclose(model(batch), at_once(batch), atol=1e-5)
    assert at_once.encoder.pieces == [rows]
    assert sum(model.encoder.pieces) == rows
    assert max(model.encoder.pieces) <= bound


@torch.no_grad()
def test_the_largest_real_graph_runs(reddit: PackedGraphs) -> None:
    """All at once its last layer's states alone would take 14 million rows."""
    largest = int(reddit.num_nodes.argmax())
    assert reddit.num_nodes[largest] == 3782
    model = full_model(1 << 18, channels=4, layers=1)
    assert model(make_batch(reddit, [largest])).isfinite().all()
    assert sum(model.encoder.pieces) == 3782 * 3783
    assert max(model.encoder.pieces) <= 1 << 18
