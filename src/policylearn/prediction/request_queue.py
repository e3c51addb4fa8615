"""Requests of many clients in one queue: those that wait together are answered in one batch."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from policylearn.data import join_graphs
from policylearn.data.preparation import MoleculePool, PreparedMolecules, quick_part
from policylearn.data.transforms import Transform
from policylearn.prediction.predictor import Answer, Predictor

TOGETHER = 0.004
"""Seconds that the first request of a batch waits for others."""


@dataclass(frozen=True)
class RowAnswer:
    """What is said of one row: the answer's row (of one), or why there is none."""

    answer: Answer | None
    error: str = ""


@dataclass(frozen=True)
class PendingRequest:
    """The molecules of one request with where their answers go."""

    rows: int
    prepared: PreparedMolecules
    done: asyncio.Future[list[RowAnswer]]


class QueueFullError(Exception):
    """More rows wait than may; come back later."""


class RequestQueue:
    """Answers requests in turn: worker processes read molecules, a thread runs the model, the server keeps listening.

    Args:
        predictor: the model; its calibration is applied by the caller, as requests may ask for different levels.
        batch_rows: rows that are answered together, at most (a request with more is answered alone).
        most_atoms: larger molecules get an error.
        most_waiting: rows in the queue beyond which requests are turned away.
        workers: processes that read molecules.
        seconds: time limit of one molecule.
    """

    def __init__(
        self,
        predictor: Predictor,
        *,
        batch_rows: int,
        most_atoms: int,
        most_waiting: int,
        workers: int,
        seconds: float,
    ) -> None:
        self.predictor = replace(predictor, calibration=None)
        self.batch_rows = 1 if predictor.depends_on_batch else batch_rows
        self.most_waiting = most_waiting
        self.waiting = 0
        self.queue: asyncio.Queue[PendingRequest] = asyncio.Queue()
        fitted = [Transform.from_json(stored) for stored in predictor.run.facts.transforms]
        self.readers = MoleculePool(
            fitted, workers, parents=predictor.run.facts.parents, seconds=seconds, most_atoms=most_atoms
        )
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="predict")

    async def ask(self, smiles: Sequence[str]) -> list[RowAnswer]:
        """The answers of some rows, in their order."""
        if self.waiting and self.waiting + len(smiles) > self.most_waiting:
            raise QueueFullError
        self.waiting += len(smiles)
        try:
            prepared = await self.read(smiles)
            job = PendingRequest(len(smiles), prepared, asyncio.get_running_loop().create_future())
            self.queue.put_nowait(job)
            return await job.done
        finally:
            self.waiting -= len(smiles)

    async def read(self, smiles: Sequence[str]) -> PreparedMolecules:
        """The molecules of a request; those that may take long hold up their own request alone."""
        begun = self.readers.submit(smiles)
        await finished([begun])
        found = quick_part(smiles, begun)
        alone = {at: self.readers.submit_alone(smiles[at]) for at in found.later}
        await finished(alone.values())
        return self.readers.complete(smiles, found, alone)

    async def work(self) -> None:
        """Answer without end; a failure goes to the requests that it concerns, and the next ones are answered."""
        loop = asyncio.get_running_loop()
        while True:
            jobs = await self.gather()
            try:
                answers = await loop.run_in_executor(self.thread, self.answer, jobs)
            except (RuntimeError, ValueError, MemoryError) as error:
                for job in jobs:
                    if not job.done.done():
                        job.done.set_exception(error)
                continue
            for job, rows in zip(jobs, answers, strict=True):
                if not job.done.done():
                    job.done.set_result(rows)

    async def gather(self) -> list[PendingRequest]:
        """The next job with those that come within a moment; jobs whose client has gone are dropped."""
        while (first := await self.queue.get()).done.done():
            pass
        jobs, rows = [first], first.rows
        if self.queue.empty() and rows < self.batch_rows:
            await asyncio.sleep(TOGETHER)
        while rows < self.batch_rows and not self.queue.empty():
            job = self.queue.get_nowait()
            if not job.done.done():
                jobs.append(job)
                rows += job.rows
        return jobs

    def answer(self, jobs: Sequence[PendingRequest]) -> list[list[RowAnswer]]:
        """The answers of each request: of each row its answer, or the reason for none."""
        graphs = join_graphs([job.prepared.graphs for job in jobs if job.prepared.graphs is not None])
        whole = None if graphs is None else self.predictor.answer_prepared(graphs)
        found, at = [], 0
        for job in jobs:
            rows = []
            for row in range(job.rows):
                problem = job.prepared.problems.get(row)
                if problem is None:
                    assert whole is not None, "every row has a graph or a problem"
                    rows.append(RowAnswer(row_of(whole, at)))
                    at += 1
                else:
                    rows.append(RowAnswer(None, problem))
            found.append(rows)
        return found

    def close(self) -> None:
        """End the thread and the processes once they have finished what they do."""
        self.thread.shutdown(wait=True, cancel_futures=True)
        self.readers.stop()


async def finished(futures: Iterable[Future[PreparedMolecules]]) -> None:
    """Wait until all have a result or an error; where nobody waits any more, they are cancelled."""
    await asyncio.gather(*map(asyncio.wrap_future, futures), return_exceptions=True)


def row_of(answer: Answer, row: int) -> Answer:
    """One row of an answer, without intervals."""
    std = None if answer.std is None else np.asarray(answer.std[row : row + 1])
    near = None if answer.near is None else answer.near.rows(slice(row, row + 1))
    return Answer(answer.values[row : row + 1], [answer.picks[row]], std, near=near)
