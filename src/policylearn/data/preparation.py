"""From SMILES to graphs with all that a model reads, in worker processes with a time limit per molecule.

Nothing here, nor what it imports, needs torch: a process that prepares molecules starts in about a second.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import chain, islice
from types import TracebackType
from typing import ClassVar, Self, TypeVar

import numpy as np
from pebble import ProcessExpired, ProcessPool
from rdkit import rdBase
from threadpoolctl import threadpool_limits

from policylearn.data.convert.stacking import pack_molecules
from policylearn.data.molecules import MoleculeGraph, count_walks, featurise, parse, shown
from policylearn.data.packed import DataError, PackedGraphs
from policylearn.data.parents import parent_of
from policylearn.data.scaffolds import scaffold
from policylearn.data.subset import join_graphs, take_graphs
from policylearn.data.transforms import Transform, apply
from policylearn.data.transforms.base import Structures
from policylearn.data.transforms.descriptors import Descriptors
from policylearn.data.transforms.fingerprint import Fingerprint
from policylearn.data.worker_server import process_context

AHEAD = 2
"""Chunks that are prepared beyond one per process, so that neither side waits for the other."""
SECONDS = 5.0
"""Time limit of one molecule; descriptors of a drug take a fiftieth of a second."""
USUAL_SECONDS = 0.2
"""Time per molecule after which a chunk is tried again molecule by molecule."""
SMALL_CHUNK = 64
"""Quick molecules that are prepared in less time than a process needs to start."""
MOST_CHARACTERS = 1000
MOST_ATOMS = 250
WALK_BONDS = 5
"""RDKit lists paths and connected parts of up to so many bonds."""
MOST_WALKS = 50_000
"""Walks of that length; drugs have some thousands, C60 has 15,000, seven metal atoms bonded to one another 54,000."""

Item = TypeVar("Item")


@dataclass(frozen=True)
class PreparedMolecules:
    """Some molecules, ready for a model."""

    graphs: PackedGraphs | None  # the good ones in order, with all structures; None if there are none
    problems: dict[int, str]  # why the others have no graph, by position
    untried: Sequence[int] = ()  # positions of molecules not tried yet: they may take long


def is_quick(smiles: str) -> bool:
    """Whether a molecule has too few atoms and walks to keep RDKit busy for a second; most others are quick as well.

    What is no SMILES is rejected at once, and so is quick. Atoms and bonds alone are read in time proportional to the
    length of the text.
    """
    if len(smiles) > MOST_CHARACTERS:
        return False
    try:
        with rdBase.BlockLogs():
            molecule = parse(smiles, sanitize=False)
    except UnicodeEncodeError:
        return True
    if molecule is None or molecule.GetNumAtoms() == 0:
        return True
    return bool(molecule.GetNumAtoms() <= MOST_ATOMS and count_walks(molecule, WALK_BONDS)[-1] <= MOST_WALKS)


def prepare_molecules(
    smiles: Sequence[str], transforms: Sequence[Transform], parents: bool = False, most_atoms: int | None = None
) -> PreparedMolecules:
    """Graphs of molecules with their structures, computed in this process without a time limit.

    Where a salt is read as its parent, ``extras["atoms"]`` of the graphs says which atom of the given molecule each
    node is.

    Args:
        smiles: one per molecule.
        transforms: that a training has fitted.
        parents: whether salts and charged molecules are read as their parent (see `parent_of`).
        most_atoms: larger molecules are a problem; None accepts any.
    """
    good: list[MoleculeGraph] = []
    texts: list[str] = []
    atoms: list[Sequence[int]] = []
    changed = False
    problems: dict[int, str] = {}
    for position, text in enumerate(smiles):
        try:
            parent = parent_of(text) if parents else None
            used = text if parent is None else parent.smiles
            graph = featurise(used)
            if most_atoms is not None and len(graph.x) > most_atoms:
                raise DataError(f"the molecule has {len(graph.x)} atoms, and up to {most_atoms} are accepted")
        except DataError as error:
            problems[position] = str(error)
        else:
            good.append(graph)
            texts.append(used)
            atoms.append(range(len(graph.x)) if parent is None else parent.atoms)
            changed = changed or parent is not None
    if not good:
        return PreparedMolecules(None, problems)
    extras = {"atoms": np.concatenate([np.asarray(one, dtype=np.int32) for one in atoms])} if changed else None
    return PreparedMolecules(apply(transforms, pack_molecules(good, smiles=texts, extras=extras)), problems)


def prepare_quick(
    smiles: Sequence[str], transforms: Sequence[Transform], parents: bool = False, most_atoms: int | None = None
) -> PreparedMolecules:
    """As `prepare_molecules`, for those that are `is_quick` or surely too large; the others are left for later."""
    places = [at for at, text in enumerate(smiles) if is_quick(text)]
    found = prepare_molecules([smiles[at] for at in places], transforms, parents, most_atoms)
    problems = {places[at]: one for at, one in found.problems.items()}
    untried = sorted(set(range(len(smiles))) - set(places))
    for at in untried if most_atoms else ():
        if (atoms := least_atoms(smiles[at])) > (most_atoms or 0):
            problems[at] = f"the molecule has {atoms} atoms, and up to {most_atoms} are accepted"
    return PreparedMolecules(found.graphs, problems, [at for at in untried if at not in problems])


def least_atoms(smiles: str) -> int:
    """Atoms without hydrogens, found quickly; 0 for several parts, of which only the largest may count."""
    try:
        with rdBase.BlockLogs():
            molecule = None if "." in smiles else parse(smiles, sanitize=False)
    except UnicodeEncodeError:
        return 0
    return 0 if molecule is None else sum(atom.GetAtomicNum() > 1 for atom in molecule.GetAtoms())


class MoleculePool:
    """Worker processes that prepare molecules; one that exceeds the time limit is ended and replaced.

    Molecules that may take long wait for a process of their own, so that the other processes go on with the rest. Use
    it as a context: its processes start with the first task and end with the block. ``seconds`` is the time limit of
    one molecule; the other arguments are those of `prepare_molecules`.
    """

    def __init__(
        self,
        transforms: Sequence[Transform],
        workers: int,
        *,
        parents: bool = False,
        seconds: float = SECONDS,
        most_atoms: int | None = None,
    ) -> None:
        if workers < 1:
            raise DataError(f"'workers' must be >= 1 (got {workers})")
        self.seconds, self._settings = seconds, (tuple(transforms), parents, most_atoms)
        self._workers = ProcessPool(workers, initializer=_start_worker, context=process_context())
        self._slow_lane = ProcessPool(1, initializer=_start_worker, context=process_context())

    def submit(self, smiles: Sequence[str]) -> Future[PreparedMolecules]:
        """Begin to prepare some molecules: those that are surely quick."""
        limit = min(self.seconds, 1.0) + USUAL_SECONDS * len(smiles)
        task = [list(smiles), *self._settings]
        future: Future[PreparedMolecules] = self._workers.schedule(prepare_quick, args=task, timeout=limit)
        return future

    def submit_slow(self, smiles: str) -> Future[PreparedMolecules]:
        """Begin to prepare one molecule that may take long, once those before it are done."""
        task = [[smiles], *self._settings]
        future: Future[PreparedMolecules] = self._slow_lane.schedule(prepare_molecules, args=task, timeout=self.seconds)
        return future

    def result(self, smiles: Sequence[str], begun: Future[PreparedMolecules]) -> PreparedMolecules:
        """All molecules that `submit` was given; those that exceed the time limit are problems."""
        found = quick_result(smiles, begun)
        return self.add_slow(smiles, found, {at: self.submit_slow(smiles[at]) for at in found.untried})

    def add_slow(
        self, smiles: Sequence[str], found: PreparedMolecules, alone: Mapping[int, Future[PreparedMolecules]]
    ) -> PreparedMolecules:
        """All molecules: those ``found``, and those that `submit_slow` began, by position."""
        if not alone:
            return found
        tried = {at: self.outcome(smiles[at], begun) for at, begun in alone.items()}
        problems = found.problems | {at: one.problems[0] for at, one in tried.items() if one.graphs is None}
        added = {at: one.graphs for at, one in tried.items() if one.graphs is not None}
        places = [at for at in range(len(smiles)) if at not in alone and at not in problems] + list(added)
        graphs = join_graphs([one for one in (found.graphs, *added.values()) if one is not None])
        return PreparedMolecules(None if graphs is None else take_graphs(graphs, np.argsort(places)), problems)

    def outcome(self, smiles: str, begun: Future[PreparedMolecules]) -> PreparedMolecules:
        """What `submit_slow` has found; a problem where it exceeded the time limit."""
        try:
            return begun.result()
        except TimeoutError:
            reason = f"takes more than {self.seconds:g} s to read and describe"
        except ProcessExpired:
            reason = "ended the process that read it, as when memory runs out"
        return PreparedMolecules(None, {0: f"SMILES {shown(smiles)} {reason}; leave the molecule out"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if kind is None:
            self._workers.close()  # type: ignore[no-untyped-call]
            self._slow_lane.close()  # type: ignore[no-untyped-call]
            self._workers.join()
            self._slow_lane.join()
        else:
            self.stop()

    def stop(self) -> None:
        """End the processes without waiting for their work."""
        for pool in (self._workers, self._slow_lane):
            pool.stop()  # type: ignore[no-untyped-call]
            pool.join()


def find_slow(smiles: Sequence[str], *, parents: bool, seconds: float = SECONDS) -> dict[int, str]:
    """Why molecules take too long for a training, by position; only those that are not `is_quick` are tried."""
    unsure = [at for at, text in enumerate(smiles) if not is_quick(text)]
    if not unsure:
        return {}
    with MoleculePool([EveryRDKitFeature()], 1, parents=parents, seconds=seconds) as pool:
        tried = {at: pool.submit_slow(smiles[at]) for at in unsure}
        found = {at: pool.outcome(smiles[at], begun).problems for at, begun in tried.items()}
    return {at: problems[0] for at, problems in found.items() if problems}


@dataclass(frozen=True)
class EveryRDKitFeature(Transform):
    """Computes all that a training may compute with RDKit, to find out whether it takes too long; keeps nothing."""

    name: ClassVar[str] = "every_rdkit_feature"

    def compute(self, graphs: PackedGraphs) -> Structures:
        """No structures."""
        Descriptors().compute(graphs)
        Fingerprint().compute(graphs)
        for text in graphs.smiles or ():
            scaffold(text)
        return {}


def quick_result(smiles: Sequence[str], begun: Future[PreparedMolecules]) -> PreparedMolecules:
    """What `MoleculePool.submit` has found; all are left for later where it took too long."""
    try:
        return begun.result()
    except (TimeoutError, ProcessExpired):
        return PreparedMolecules(None, {}, range(len(smiles)))


def prepare_in_order(
    chunks: Iterable[Item],
    smiles_of: Callable[[Item], Sequence[str]],
    transforms: Sequence[Transform],
    workers: int,
    *,
    parents: bool = False,
) -> Iterator[tuple[Item, PreparedMolecules]]:
    """Each chunk with its molecules, in the order of the chunks, while further ones are being prepared.

    At most ``workers + AHEAD`` chunks are held at a time, so memory does not grow with their number. A single small
    chunk is prepared in this process, except molecules that may take long; with 0 ``workers`` everything is, without
    a time limit.
    """
    if workers == 0:
        for chunk in chunks:
            yield chunk, prepare_molecules(smiles_of(chunk), transforms, parents)
        return
    every = iter(chunks)
    first = list(islice(every, 2))
    pending: deque[tuple[Item, Future[PreparedMolecules]]] = deque()
    with MoleculePool(transforms, workers, parents=parents) as pool:

        def finished(chunk: Item, begun: Future[PreparedMolecules]) -> tuple[Item, PreparedMolecules]:
            return chunk, pool.result(smiles_of(chunk), begun)

        if len(first) == 1 and len(smiles_of(first[0])) <= SMALL_CHUNK:
            here: Future[PreparedMolecules] = Future()
            here.set_result(prepare_quick(smiles_of(first[0]), transforms, parents))
            yield finished(first[0], here)
            return
        for chunk in chain(first, every):
            pending.append((chunk, pool.submit(smiles_of(chunk))))
            if len(pending) >= workers + AHEAD:
                yield finished(*pending.popleft())
        while pending:
            yield finished(*pending.popleft())


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the first one ends the others
    threadpool_limits(1)  # the variables that BLAS reads are read already
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    """A process that was killed cannot tell its workers to end; they would wait for its next chunk for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
