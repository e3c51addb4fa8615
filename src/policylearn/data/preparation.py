"""From SMILES to graphs with all that a model reads, in several processes and in order.

Nothing here, nor what it imports, needs torch: a process that prepares molecules starts in about a second.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from rdkit import Chem
from threadpoolctl import threadpool_limits

from policylearn.data.atom_kinds import featurise_molecules
from policylearn.data.convert.stacking import pack_molecules
from policylearn.data.molecules import MoleculeGraph, read_smiles
from policylearn.data.packed import DataError, PackedGraphs
from policylearn.data.transforms import Transform, apply
from policylearn.data.worker_server import process_context

AHEAD = 2
"""Chunks that are prepared beyond one per process, so that neither side waits for the other."""

Item = TypeVar("Item")


@dataclass(frozen=True)
class PreparedMolecules:
    """Some molecules, ready for a model.

    Args:
        graphs: the good ones, in order, with the structures of all transforms; None where there are none.
        problems: why the others have no graph, by their position.
    """

    graphs: PackedGraphs | None
    problems: dict[int, str]


def prepare_molecules(smiles: Sequence[str], transforms: Sequence[Transform]) -> PreparedMolecules:
    """Graphs of molecules with their structures.

    Args:
        smiles: one per molecule.
        transforms: that a training has fitted.
    """
    read: dict[int, Chem.Mol] = {}
    problems: dict[int, str] = {}
    for position, text in enumerate(smiles):
        try:
            read[position] = read_smiles(text)
        except DataError as error:
            problems[position] = str(error)
    good: list[MoleculeGraph] = []
    texts: list[str] = []
    for position, graph in zip(read, featurise_molecules(list(read.values())), strict=True):
        if isinstance(graph, DataError):
            problems[position] = str(graph)
        else:
            good.append(graph)
            texts.append(smiles[position])
    if not good:
        return PreparedMolecules(None, problems)
    return PreparedMolecules(apply(transforms, pack_molecules(good, smiles=texts)), problems)


def prepare_in_order(
    chunks: Iterable[Item],
    smiles_of: Callable[[Item], Sequence[str]],
    transforms: Sequence[Transform],
    workers: int,
) -> Iterator[tuple[Item, PreparedMolecules]]:
    """Each chunk with its molecules, in the order of the chunks, while further ones are being prepared.

    At most ``workers + AHEAD`` chunks are held at a time, so memory does not grow with their number. A single chunk is
    prepared in this process: it is not worth another.

    Args:
        chunks: read as they are needed.
        smiles_of: the molecules of a chunk.
        transforms: that a training has fitted.
        workers: processes; 1 prepares everything in this one.
    """
    if workers < 1:
        raise DataError(f"'workers' must be >= 1 (got {workers})")
    waiting = iter(chunks)
    first = list(islice(waiting, 2)) if workers > 1 else []
    if len(first) < 2:
        for chunk in (*first, *waiting):
            yield chunk, prepare_molecules(smiles_of(chunk), transforms)
        return
    pending: deque[tuple[Item, Future[PreparedMolecules]]] = deque()
    with worker_pool(workers, transforms) as pool:

        def send(chunk: Item) -> None:
            pending.append((chunk, pool.submit(_prepare, list(smiles_of(chunk)))))

        for chunk in first:
            send(chunk)
        for chunk in waiting:
            send(chunk)
            if len(pending) >= workers + AHEAD:
                yield _finished(*pending.popleft())
        while pending:
            yield _finished(*pending.popleft())


def _finished(chunk: Item, future: Future[PreparedMolecules]) -> tuple[Item, PreparedMolecules]:
    try:
        return chunk, future.result()
    except BrokenProcessPool as error:
        raise DataError(
            "a process that reads molecules was killed, by the system (memory) or by a molecule that RDKit cannot"
            " bear; run again with --workers 1 to see which"
        ) from error


@contextmanager
def worker_pool(workers: int, transforms: Sequence[Transform]) -> Iterator[ProcessPoolExecutor]:
    """Processes that prepare molecules; when the block is left early, they are ended without waiting for their work."""
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, mp_context=process_context(), initializer=_begin, initargs=(tuple(transforms),))
    try:
        yield pool
        pool.shutdown()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        started = set(multiprocessing.active_children()) - before
        for process in started:
            process.terminate()
        for process in started:
            process.join()
        raise


_transforms: tuple[Transform, ...] = ()
"""Of a worker process, sent to it once."""


def _begin(transforms: tuple[Transform, ...]) -> None:
    global _transforms
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the first one ends the others
    threadpool_limits(1)  # the variables that BLAS reads are read already
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _transforms = transforms


def _end_with_parent() -> None:
    """A process that was killed cannot tell its workers to end; they would wait for its next chunk for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _prepare(smiles: Sequence[str]) -> PreparedMolecules:
    return prepare_molecules(smiles, _transforms)
