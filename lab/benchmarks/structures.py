"""Structures of graphs against a networkx form, on ZINC: ``python -m lab.benchmarks.structures``.

Both take turns on the same graphs, each right after the other; what is compared is the processor time of one process,
a ratio per round, and its median. The networkx form has its graphs made beforehand, and what both find is compared once
before anything is timed. Results are not read from the cache of transforms. ``--table`` writes the table of the record
into docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from lab.bench import find_falls
from lab.benchmarks.machine import RESULTS, keep
from lab.benchmarks.page import PAGE, with_table
from policylearn.data import PackedGraphs, data_root, take_graphs
from policylearn.data.transforms import Transform
from policylearn.data.transforms.cells import Cells
from policylearn.data.transforms.cycle_counts import CycleCounts
from policylearn.data.transforms.distances import Distances
from policylearn.data.transforms.ego_nets import AttachedEgoNets
from policylearn.wording import markdown_table

NAME = "structures"
HEADINGS = ("structure", "ours, us per graph", "networkx, us per graph", "faster by", "range over rounds")
HOPS, CAP, LONGEST_RING, SIZES = 3, 5, 18, (3, 4, 5, 6)


@dataclass(frozen=True)
class Contest:
    """One structure in two forms.

    Args:
        title: what it is.
        transform: ours.
        plain: the networkx form, of one graph: rows in our order.
        column: the structure to compare, as rows.
    """

    title: str
    transform: Transform
    plain: Callable[[nx.Graph], list[Any]]
    column: str


def ego_nets(graph: nx.Graph) -> list[Any]:
    """Distances to the root of every ego net, nodes in order."""
    found = []
    for root in graph:
        within = nx.single_source_shortest_path_length(graph, root, cutoff=HOPS)
        found += [within[node] for node in sorted(within)]
    return found


def distances(graph: nx.Graph) -> list[Any]:
    """All pairs, those beyond the cap being at the cap."""
    found = []
    for _, row in nx.all_pairs_shortest_path_length(graph, cutoff=CAP - 1):
        found += [row.get(node, CAP) for node in graph]
    return found


def rings(graph: nx.Graph) -> list[Any]:
    """Sizes of the cycles that no edge cuts short."""
    return sorted(len(ring) for ring in nx.chordless_cycles(graph, length_bound=LONGEST_RING))


def counts(graph: nx.Graph) -> list[Any]:
    """How many cycles of each size pass through each node."""
    found = np.zeros((len(graph), len(SIZES)))
    for cycle in nx.simple_cycles(graph, length_bound=max(SIZES)):
        found[cycle, SIZES.index(len(cycle))] += 1
    return list(found.ravel())


def resistances(graph: nx.Graph) -> list[Any]:
    """From the root of every ego net to its nodes, in order, inside the net."""
    found = []
    for root in graph:
        net = nx.ego_graph(graph, root, radius=HOPS)
        values = nx.resistance_distance(net, root)
        found += [values[node] for node in sorted(net)]
    return found


CONTESTS = (
    Contest("ego nets of 3 hops", AttachedEgoNets(hops=HOPS), ego_nets, "ego_distance"),
    Contest("distances up to 5", Distances(cap=CAP), distances, "pair_distance"),
    Contest("rings of up to 18 nodes", Cells(longest_ring=LONGEST_RING), rings, "ring"),
    Contest("counts of cycles of 3 to 6", CycleCounts(sizes=SIZES, into="counts"), counts, "counts"),
    Contest("resistances in ego nets", AttachedEgoNets(hops=HOPS, resistance=True), resistances, "ego_resistance"),
)


def as_networkx(graphs: PackedGraphs) -> list[nx.Graph]:
    """The graphs without direction, nodes in order."""
    made = []
    for at in range(len(graphs)):
        graph = nx.empty_graph(int(graphs.num_nodes[at]))
        graph.add_edges_from(graphs.edge_index[:, graphs.edge_ptr[at] : graphs.edge_ptr[at + 1]].T.tolist())
        made.append(graph)
    return made


def check(contest: Contest, graphs: PackedGraphs, plain: list[nx.Graph]) -> None:
    """Raise unless both forms find the same."""
    structure = contest.transform.compute(graphs)[contest.column]
    pointer = structure.pointer(graphs.node_ptr, graphs.edge_ptr)
    for at, graph in enumerate(plain):
        ours = structure.values[pointer[at] : pointer[at + 1]].ravel()
        wanted = contest.plain(graph)
        ours = np.sort(ours) if contest.column == "ring" else ours  # networkx lists rings in another order
        np.testing.assert_allclose(ours, np.array(wanted, dtype=np.float64), atol=1e-9, err_msg=contest.title)


def spent(work: Callable[[], object]) -> float:
    """Seconds of a processor."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def measure(contest: Contest, graphs: PackedGraphs, plain: list[nx.Graph], rounds: int) -> dict[str, Any]:
    """Both forms turn by turn; microseconds per graph."""
    check(contest, take_graphs(graphs, np.arange(min(20, len(graphs)))), plain[:20])
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(1e6 * spent(lambda: contest.transform.compute(graphs)) / len(graphs))
        theirs.append(1e6 * spent(lambda: [contest.plain(graph) for graph in plain]) / len(graphs))
    ratios = [slow / fast for slow, fast in zip(theirs, ours, strict=True)]
    return {
        "structure": contest.title, "ours_us": ours, "networkx_us": theirs, "ratio": statistics.median(ratios),
        "ratios": ratios,
    }  # fmt: skip


def table(record: dict[str, Any]) -> str:
    """The record as documents hold it."""
    rows = [
        (
            result["structure"],
            f"{statistics.median(result['ours_us']):.3g}",
            f"{statistics.median(result['networkx_us']):,.0f}",
            f"{result['ratio']:.0f}",
            f"{min(result['ratios']):.0f} to {max(result['ratios']):.0f}",
        )
        for result in record["results"]
    ]
    return markdown_table(HEADINGS, rows)


def ratios_of(record: dict[str, Any]) -> dict[str, float]:
    """How many times as fast as networkx, by structure."""
    return {result["structure"]: result["ratio"] for result in record["results"]}


def written(page: str, record: Path = RESULTS / f"{NAME}.json") -> str:
    """The page with the table of the record."""
    return with_table(page, NAME, table(json.loads(record.read_text())))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=500, help="of ZINC's training part")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--table", action="store_true", help="write the table of the last record into the docs instead")
    options = parser.parse_args()
    if options.table:
        PAGE.write_text(written(PAGE.read_text()))
        return
    graphs = take_graphs(PackedGraphs.load(data_root() / "zinc12k.npz"), np.arange(options.graphs))
    plain = as_networkx(graphs)
    results = [measure(contest, graphs, plain, options.rounds) for contest in CONTESTS]
    record = {"graphs": options.graphs, "dataset": "ZINC-12k, the first graphs", "results": results}
    print(table(record))
    last = RESULTS / f"{NAME}.json"
    before = ratios_of(json.loads(last.read_text())) if last.exists() else {}
    for fall in find_falls(ratios_of(record), before):
        print(f"fell since the last record: {fall}")
    print(keep(NAME, {"command": f"python -m lab.benchmarks.structures --graphs {options.graphs}", **record}))


if __name__ == "__main__":
    main()
