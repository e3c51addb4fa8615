"""Molecules are prepared in several processes as in one: in order, few at a time, bad ones with their reason."""

from __future__ import annotations

import gc
import multiprocessing
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import psutil
import pytest
from threadpoolctl import threadpool_info

from policylearn.data import preparation, read_table
from policylearn.data.packed import GRAPH_ARRAYS, DataError
from policylearn.data.preparation import (
    AHEAD,
    MoleculePool,
    find_slow,
    prepare_in_order,
    prepare_molecules,
    prepare_quick,
)
from policylearn.data.structures import Structure
from policylearn.data.transforms import Transform
from policylearn.data.transforms.walk_encoding import WalkEncoding
from policylearn.data.worker_server import PREPARES, process_context
from tests.data.test_rdkit_descriptors import clique

CHUNKS = [[f"{'C' * size}O", "C1", f"{'C' * size}N"] for size in range(1, 9)]
TRANSFORMS = (WalkEncoding(steps=4),)


def test_molecules_that_are_surely_too_large_wait_for_nobody():
    peptide = "N" + "[C@@H](CC(=O)O)C(=O)N" * 60 + "CC(=O)O"
    found = prepare_quick([peptide, "CCO", f"{peptide}.Cl"], (), True, 250)
    assert found.problems.keys() == {0}
    assert list(found.later) == [2]  # of several parts the largest counts, which takes longer to find


def test_several_processes_give_what_one_gives_in_order():
    one = list(prepare_in_order(CHUNKS, list, TRANSFORMS, workers=0))
    two = list(prepare_in_order(CHUNKS, list, TRANSFORMS, workers=2))
    assert [chunk for chunk, _ in two] == CHUNKS
    for (_, here), (_, there) in zip(one, two, strict=True):
        assert here.problems.keys() == there.problems.keys() == {1}
        assert "unclosed ring" in there.problems[1]
        for name in GRAPH_ARRAYS:
            np.testing.assert_array_equal(getattr(here.graphs, name), getattr(there.graphs, name))
        np.testing.assert_array_equal(here.graphs.structures["x_real"].values, there.graphs.structures["x_real"].values)
        assert here.graphs.smiles == there.graphs.smiles


def test_no_more_chunks_are_read_than_are_needed():
    read = []

    def chunks():
        for at, chunk in enumerate(CHUNKS * 4):
            read.append(at)
            yield chunk

    with_answers = prepare_in_order(chunks(), list, (), workers=2)
    for taken, _ in enumerate(with_answers, start=1):
        assert len(read) <= taken + 2 + AHEAD


def test_leaving_early_ends_the_processes():
    walk = prepare_in_order(CHUNKS * 4, list, (), workers=2)
    next(walk)
    before = len(multiprocessing.active_children())
    walk.close()
    until = time.monotonic() + 20
    while multiprocessing.active_children() and time.monotonic() < until:
        time.sleep(0.05)
    assert before >= 1
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(("metal", "reason"), [("[U]", "1 s"), ("[Pu]", "memory")])
def test_a_molecule_that_stalls_or_ends_its_process_is_left_out(metal, reason):
    with MoleculePool([Fragile()], 1, seconds=1.0) as pool:
        smiles = ["CCO", "C1", metal, "CC"]
        prepared = pool.result(smiles, pool.submit(smiles))
        assert sorted(prepared.problems) == [1, 2]
        assert metal in prepared.problems[2]
        assert reason in prepared.problems[2]
        assert prepared.graphs is not None
        assert prepared.graphs.smiles == ["CCO", "CC"]
        assert pool.result(["C"], pool.submit(["C"])).graphs is not None  # the ended process was replaced


@dataclass(frozen=True)
class Fragile(Transform):
    """Stalls at uranium and ends its process at plutonium, as molecules do that RDKit cannot cope with."""

    name: ClassVar[str] = "fragile"

    def compute(self, graphs):
        if "[U]" in graphs.smiles:
            time.sleep(60)
        if "[Pu]" in graphs.smiles:
            os._exit(1)
        return {}


def test_molecules_that_may_take_long_are_tried_alone_and_stay_in_their_places():
    smiles = ["CCO", clique(8), "[Na+].CC(=O)[O-]", "C1", clique(9, "W"), "CC"]
    whole = prepare_molecules(smiles, TRANSFORMS, True)
    with MoleculePool(TRANSFORMS, 1, parents=True) as pool:
        begun = pool.submit(smiles)
        assert list(begun.result().later) == [1, 4]
        found = pool.result(smiles, begun)
    assert found.problems == whole.problems
    for name in GRAPH_ARRAYS:
        np.testing.assert_array_equal(getattr(found.graphs, name), getattr(whole.graphs, name))
    np.testing.assert_array_equal(found.graphs.extras["atoms"], whole.graphs.extras["atoms"])
    assert found.graphs.smiles == whole.graphs.smiles


def test_few_quick_molecules_start_no_process(monkeypatch):
    monkeypatch.setattr(MoleculePool, "submit", None)
    monkeypatch.setattr(MoleculePool, "submit_alone", None)
    ((chunk, found),) = prepare_in_order([["CCO", "C1"]], list, TRANSFORMS, workers=2)
    assert chunk == ["CCO", "C1"]
    assert found.problems.keys() == {1}


def test_a_training_leaves_out_what_takes_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr(preparation, "find_slow", partial(find_slow, seconds=1.0))
    path = tmp_path / "table.csv"
    path.write_text("smiles,y\n" + "".join(f"{text},{at}\n" for at, text in enumerate(["CCO", clique(30), "CC"])))
    table = read_table(path, on_error="skip")
    assert table.graphs.smiles == ["CCO", "CC"]
    (dropped,) = table.report.dropped
    assert dropped.line == 3
    assert "1 s" in dropped.reason


def test_nothing_good_and_nothing_at_all():
    assert prepare_molecules(["C1", "("], ()).graphs is None
    assert list(prepare_in_order([], list, (), workers=2)) == []
    assert prepare_molecules(["CCO"], (), most_atoms=2).problems.keys() == {0}
    with pytest.raises(DataError):
        list(prepare_in_order(CHUNKS, list, (), workers=-1))


def test_a_process_that_prepares_molecules_does_without_torch():
    code = (
        "import sys; from policylearn.data.preparation import prepare_molecules;"
        "from policylearn.data.transforms import Transform;"
        "prepare_molecules(['CCO'], [Transform.from_json('walk_encoding')]);"
        "assert not {'torch', 'torch_geometric', 'pandas', 'networkx'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_server_is_started_without_waiting_for_anything() -> None:
    assert prepare_molecules.__module__ == PREPARES
    code = (
        "import sys; from policylearn.data.worker_server import start_server; start_server();"
        "print([name for name in ('numpy', 'rdkit', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["[]"]


def test_a_process_that_prepares_molecules_has_one_thread_for_products() -> None:
    """More would wait for each other: there are as many processes as cores."""
    with MoleculePool([CountThreads()], 1) as pool:
        graphs = pool.result(["CCO"], pool.submit(["CCO"])).graphs
    assert graphs is not None
    assert graphs.structures["threads"].values.tolist() == [1]


@dataclass(frozen=True)
class CountThreads(Transform):
    """The threads that products may use in this process."""

    name: ClassVar[str] = "count_threads"

    def compute(self, graphs):
        most = max(found["num_threads"] for found in threadpool_info())
        return {"threads": Structure(np.full(len(graphs), most), "graph")}


def test_a_process_that_still_starts_finds_its_lock() -> None:
    """A pool lets go of its locks before it ends its processes: a process that still started printed a traceback."""
    context = process_context()
    lock = context.RLock()
    process = context.Process(target=bool, args=(lock,))
    process.start()
    del lock
    gc.collect()
    process.join(60)
    assert process.exitcode == 0


def test_processes_end_with_one_that_is_killed() -> None:
    code = (
        "import multiprocessing, time\n"
        "from policylearn.data.preparation import MoleculePool\n"
        "with MoleculePool((), 1) as pool:\n"
        "    pool.submit(['CCO']).result()\n"
        "    print([child.pid for child in multiprocessing.active_children()][0], flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = psutil.Process(int(parent.stdout.readline()))
        assert worker.is_running()
        parent.kill()
    worker.wait(timeout=30)
