"""The list of matrix products is what the passes really multiply."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from torch import nn

from lab.bench.limit import Gemm, GemmReplay, record_gemms
from tests.graphs import batch_of, molecules, small_model

BATCH = batch_of(*molecules(5, seed=1))
NODES, GRAPHS, CHANNELS, LAYERS = BATCH.num_nodes, BATCH.num_graphs, 8, 2


def shapes(gemms: list[Gemm]) -> Counter[tuple[int, int, int]]:
    return Counter((gemm.rows, gemm.inner, gemm.columns) for gemm in gemms)


def flops(*products: tuple[int, int, int]) -> int:
    return sum(2 * rows * inner * columns for rows, inner, columns in products)


HEAD = [(GRAPHS, CHANNELS, 2 * CHANNELS), (GRAPHS, 2 * CHANNELS, 1)]


def test_a_step_has_three_products_a_map_but_no_gradient_of_the_first_input() -> None:
    network = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))
    x = torch.randn(7, 3)
    gemms = record_gemms(lambda: network(x).square().sum().backward())
    forward, weights, inputs = [(7, 3, 5), (7, 5, 2)], [(2, 7, 5), (5, 7, 3)], [(7, 2, 5)]
    assert shapes(gemms) == Counter(forward + weights + inputs)
    assert gemms[0] == Gemm(7, 3, 5, left_transposed=False, right_transposed=True)
    assert gemms[0].flops == 2 * 7 * 3 * 5


def test_products_without_gradients_are_those_of_the_forward_pass() -> None:
    model = small_model("none", layers=LAYERS).eval()
    with torch.no_grad():
        gemms = record_gemms(lambda: model(BATCH))
    assert shapes(gemms) == Counter([(NODES, CHANNELS, CHANNELS)] * 2 * LAYERS + HEAD)


def test_a_training_step_multiplies_three_times_as_much() -> None:
    model = small_model("none", layers=LAYERS).train()
    gemms = record_gemms(lambda: model(BATCH).sum().backward())
    wanted = 3 * flops(*[(NODES, CHANNELS, CHANNELS)] * 2 * LAYERS, *HEAD)
    assert sum(gemm.flops for gemm in gemms) == wanted


def test_two_picks_are_three_copies_of_two_streams() -> None:
    model = small_model("random", picks=2, layers=LAYERS).train()
    gemms = record_gemms(lambda: model(BATCH).sum().backward())
    rows = 3 * NODES
    streams = []
    for marks in (1, CHANNELS):
        streams += [(rows, CHANNELS + marks, CHANNELS), (rows, marks, CHANNELS)] + [(rows, CHANNELS, CHANNELS)] * 2
    assert sum(gemm.flops for gemm in gemms) == 3 * flops(*streams, *HEAD)


def test_sums_over_neighbours_are_no_products() -> None:
    matrix = torch.eye(3).to_sparse_csr()
    assert record_gemms(lambda: torch.sparse.mm(matrix, torch.ones(3, 2))) == []


@pytest.mark.parametrize("transposed", [False, True])
def test_a_replay_multiplies_the_same_shapes_in_the_same_layout(transposed: bool) -> None:
    gemm = Gemm(4, 6, 3, left_transposed=transposed, right_transposed=not transposed)
    replay = GemmReplay({0: [gemm, Gemm(2, 2, 2)], 1: []}, torch.Generator().manual_seed(0))
    assert record_gemms(lambda: replay(0)) == [gemm, Gemm(2, 2, 2)]
    assert record_gemms(lambda: replay(1)) == []
    left, right, out = replay.products[0][0]
    torch.mm(left, right, out=out)
    assert torch.equal(out, left @ right)
