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
from typing import Self, TypeVar

import numpy as np
from pebble import ProcessExpired, ProcessPool
from threadpoolctl import threadpool_limits

from policylearn.data.convert.stacking import pack_molecules
from policylearn.data.molecule_cost import least_atoms, surely_quick
from policylearn.data.molecules import MoleculeGraph, featurise, shown
from policylearn.data.packed import DataError, PackedGraphs
from policylearn.data.parents import parent_of
from policylearn.data.subset import join_graphs, take_graphs
from policylearn.data.transforms import Transform, apply
from policylearn.data.worker_server import process_context

AHEAD = 2
"""Chunks that are prepared beyond one per process, so that neither side waits for the other."""
SECONDS = 5.0
"""Time limit of one molecule; descriptors of a drug take a fiftieth of a second."""
USUAL_SECONDS = 0.2
"""Time per molecule after which a chunk is tried again molecule by molecule."""
FEW = 64
"""So many quick molecules are prepared before a process has started."""

Item = TypeVar("Item")


@dataclass(frozen=True)
class PreparedMolecules:
    """Some molecules, ready for a model.

    Args:
        graphs: the good ones, in order, with the structures of all transforms; None where there are none.
        problems: why others have no graph, by their position.
        later: positions of those that were not tried, as they may take long.
    """

    graphs: PackedGraphs | None
    problems: dict[int, str]
    later: Sequence[int] = ()


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
                raise DataError(too_large(len(graph.x), most_atoms))
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
    """As `prepare_molecules`, for those that are `surely_quick` or surely too large; the others are left for later."""
    unsure = {at: least_atoms(text) for at, text in enumerate(smiles) if not surely_quick(text)}
    problems = {at: too_large(size, most_atoms) for at, size in unsure.items() if most_atoms and size > most_atoms}
    places = [at for at in range(len(smiles)) if at not in unsure]
    found = prepare_molecules([smiles[at] for at in places], transforms, parents, most_atoms)
    problems |= {places[at]: one for at, one in found.problems.items()}
    return PreparedMolecules(found.graphs, problems, [at for at in unsure if at not in problems])


def too_large(atoms: int, most: int) -> str:
    """The problem of a molecule with too many atoms."""
    return f"the molecule has {atoms} atoms, and up to {most} are accepted"


class MoleculePool:
    """Worker processes that prepare molecules; one that exceeds the time limit is ended and replaced.

    Molecules that may take long wait for a process of their own, so that the other processes go on with the rest. Use
    it as a context: its processes start with the first task and end with the block.

    Args:
        transforms: that a training has fitted.
        workers: processes.
        parents: as in `prepare_molecules`.
        seconds: time limit of one molecule.
        most_atoms: as in `prepare_molecules`.
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
        self.seconds, self._begin = seconds, (tuple(transforms), parents, most_atoms)
        self._workers = self._pool(workers)
        self._slow_lane = self._pool(1)

    def _pool(self, workers: int) -> ProcessPool:
        return ProcessPool(workers, initializer=_begin, initargs=self._begin, context=process_context())

    def submit(self, smiles: Sequence[str]) -> Future[PreparedMolecules]:
        """Begin to prepare some molecules: those that are surely quick."""
        limit = min(self.seconds, 1.0) + USUAL_SECONDS * len(smiles)
        future: Future[PreparedMolecules] = self._workers.schedule(_prepare_quick, args=[list(smiles)], timeout=limit)
        return future

    def submit_alone(self, smiles: str) -> Future[PreparedMolecules]:
        """Begin to prepare one molecule that may take long, once those before it are done."""
        future: Future[PreparedMolecules] = self._slow_lane.schedule(_prepare, args=[[smiles]], timeout=self.seconds)
        return future

    def result(self, smiles: Sequence[str], begun: Future[PreparedMolecules]) -> PreparedMolecules:
        """All molecules that `submit` was given; those that exceed the time limit are problems."""
        found = quick_part(smiles, begun)
        return self.complete(smiles, found, {at: self.submit_alone(smiles[at]) for at in found.later})

    def complete(
        self, smiles: Sequence[str], found: PreparedMolecules, alone: Mapping[int, Future[PreparedMolecules]]
    ) -> PreparedMolecules:
        """All molecules, of which some were tried alone.

        Args:
            smiles: of all.
            found: the others.
            alone: what `submit_alone` began, by position.
        """
        if not alone:
            return found
        tried = {at: self._outcome(smiles[at], begun) for at, begun in alone.items()}
        problems = found.problems | {at: one.problems[0] for at, one in tried.items() if one.graphs is None}
        added = {at: one.graphs for at, one in tried.items() if one.graphs is not None}
        places = [at for at in range(len(smiles)) if at not in alone and at not in problems] + list(added)
        graphs = join_graphs([one for one in (found.graphs, *added.values()) if one is not None])
        return PreparedMolecules(None if graphs is None else take_graphs(graphs, np.argsort(places)), problems)

    def _outcome(self, smiles: str, begun: Future[PreparedMolecules]) -> PreparedMolecules:
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
            for pool in (self._workers, self._slow_lane):
                pool.close()  # type: ignore[no-untyped-call]
                pool.join()
        else:
            self.stop()

    def stop(self) -> None:
        """End the processes without waiting for their work."""
        for pool in (self._workers, self._slow_lane):
            pool.stop()  # type: ignore[no-untyped-call]
            pool.join()


def quick_part(smiles: Sequence[str], begun: Future[PreparedMolecules]) -> PreparedMolecules:
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

    At most ``workers + AHEAD`` chunks are held at a time, so memory does not grow with their number. One chunk of few
    molecules is prepared in this process, which takes less time than to start another, unless one may take long.

    Args:
        chunks: read as they are needed.
        smiles_of: the molecules of a chunk.
        transforms: that a training has fitted.
        workers: processes, each molecule with a time limit; 0 prepares everything in this one, without a limit.
        parents: as in `prepare_molecules`.
    """
    if workers == 0:
        for chunk in chunks:
            yield chunk, prepare_molecules(smiles_of(chunk), transforms, parents)
        return
    every = iter(chunks)
    first = list(islice(every, 2))
    pending: deque[tuple[Item, Future[PreparedMolecules]]] = deque()
    with MoleculePool(transforms, workers, parents=parents) as pool:

        def begin(chunk: Item) -> tuple[Item, Future[PreparedMolecules]]:
            return chunk, pool.submit(smiles_of(chunk))

        def finished(chunk: Item, begun: Future[PreparedMolecules]) -> tuple[Item, PreparedMolecules]:
            return chunk, pool.result(smiles_of(chunk), begun)

        if len(first) == 1 and len(smiles_of(first[0])) <= FEW:
            here: Future[PreparedMolecules] = Future()
            here.set_result(prepare_quick(smiles_of(first[0]), transforms, parents))
            yield finished(first[0], here)
            return
        for chunk in chain(first, every):
            pending.append(begin(chunk))
            if len(pending) >= workers + AHEAD:
                yield finished(*pending.popleft())
        while pending:
            yield finished(*pending.popleft())


_settings: tuple[tuple[Transform, ...], bool, int | None] = (), False, None
"""Of a worker process, sent to it once."""


def _begin(transforms: tuple[Transform, ...], parents: bool, most_atoms: int | None) -> None:
    global _settings
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the first one ends the others
    threadpool_limits(1)  # the variables that BLAS reads are read already
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _settings = transforms, parents, most_atoms


def _end_with_parent() -> None:
    """A process that was killed cannot tell its workers to end; they would wait for its next chunk for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _prepare(smiles: Sequence[str]) -> PreparedMolecules:
    return prepare_molecules(smiles, *_settings)


def _prepare_quick(smiles: Sequence[str]) -> PreparedMolecules:
    return prepare_quick(smiles, *_settings)
