"""Cells, codes of cycle counts and degrees against networkx, and what they promise of single graphs."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from policylearn.data import DataError, PackedGraphs, make_batch, pack_networkx
from policylearn.data.transforms import Transform, apply, fit_apply
from policylearn.data.transforms.cells import Cells
from policylearn.data.transforms.cycle_counts import CycleCodes
from policylearn.data.transforms.laplacian_encoding import LaplacianEncoding
from policylearn.data.transforms.mean_log_degree import MeanLogDegree
from tests.data.transforms.samples import corner_graphs


def rings_of(graphs: PackedGraphs, graph: int) -> list[list[int]]:
    """The rings of one graph as sorted nodes, put together from the structures of that graph alone."""
    batch = make_batch(graphs, [graph])
    rings = []
    for ring, size in enumerate(batch.ring.flatten().tolist()):
        sides = batch.cell_edge[batch.ring_edge[batch.ring_id == ring]]
        assert len(sides) == len(sides.unique()) == size
        rings.append(sorted(sides.unique().tolist()))
    return sorted(rings)


@pytest.mark.parametrize("longest", [3, 5, 18])
def test_rings_are_those_of_networkx(longest: int) -> None:
    plain, packed = corner_graphs()
    graphs = Cells(longest_ring=longest)(packed)
    for number, graph in enumerate(plain):
        expected = sorted(sorted(ring) for ring in nx.chordless_cycles(graph, length_bound=longest))
        assert rings_of(graphs, number) == [ring for ring in expected if len(ring) > 2]


def test_triangles_are_rings_of_three() -> None:
    graphs = Cells(longest_ring=3)(pack_networkx([nx.complete_graph(4)]))
    assert len(rings_of(graphs, 0)) == 4


def test_edges_come_once_without_loops_and_know_their_column() -> None:
    _, packed = corner_graphs()
    graphs = Cells()(packed)
    batch = make_batch(graphs, range(len(graphs)))
    ends = batch.edge_index[:, batch.cell_column].t().sort(1).values
    assert ends.equal(batch.cell_edge.sort(1).values)
    assert len(ends.unique(dim=0)) == len(ends) == batch.edge_index.shape[1] // 2


def test_self_loops_and_parallel_edges_are_no_cells() -> None:
    edges = np.array([[0, 1, 0, 1, 2, 1, 2], [1, 0, 1, 2, 1, 1, 0]])  # 0-1 three times, 1-2 twice, a loop, 2-0 one way
    packed = PackedGraphs(
        np.zeros((3, 1), dtype=np.int64),
        edges,
        np.arange(7)[:, None],
        np.array([0, 3]),
        np.array([0, 7]),
        np.zeros(1),
    )
    graphs = Cells()(packed)
    assert graphs.structures["cell_edge"].values.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert graphs.structures["cell_column"].values.tolist() == [0, 6, 3]
    assert rings_of(graphs, 0) == [[0, 1, 2]]


def test_codes_are_ranks_and_strangers_get_the_next_smaller() -> None:
    wheel, ring, clique = nx.wheel_graph(6), nx.cycle_graph(5), nx.complete_graph(5)
    train, rest = pack_networkx([wheel, ring]), pack_networkx([ring, clique])
    transform = CycleCodes(sizes=(3, 5)).fit(train)
    assert transform.vocabularies[0] == [0, 2, 5]
    codes = transform(rest).structures["cycle_code"].values
    assert codes[:5, 0].tolist() == [0] * 5
    assert codes[5:, 0].tolist() == [2] * 5  # 6 triangles at each node, and 5 is the most that has a code
    again = Transform.from_json(transform.to_json())
    assert np.array_equal(again(rest).structures["cycle_code"].values, codes)


def test_codes_need_fitting() -> None:
    with pytest.raises(DataError):
        CycleCodes()(pack_networkx([nx.cycle_graph(4)]))


def test_degrees_are_averaged_over_training_nodes_only() -> None:
    graphs = pack_networkx([nx.star_graph(3), nx.complete_graph(6)])
    (fitted,), after = fit_apply([MeanLogDegree()], graphs, [0])
    assert fitted.mean == pytest.approx((np.log(4) + 3 * np.log(2)) / 4)
    assert not after.structures


def test_an_eigenvector_does_not_depend_on_the_company() -> None:
    """Repeated eigenvalues leave a choice, which must be the graph's own."""
    alone = LaplacianEncoding(k=4)(pack_networkx([nx.petersen_graph()])).structures["x_real"].values
    company = [nx.empty_graph(1), nx.petersen_graph(), *(nx.cycle_graph(size) for size in (3, 10, 12, 30))]
    together = apply([LaplacianEncoding(k=4)], pack_networkx(company)).structures["x_real"].values
    assert np.array_equal(together[1:11], alone)
