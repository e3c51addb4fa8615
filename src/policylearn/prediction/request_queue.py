"""Requests of many clients in one queue: those that wait together are answered in one batch."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from policylearn.data import join_graphs
from policylearn.data.preparation import MoleculePool, PreparedMolecules, quick_result
from policylearn.prediction.answer import Answer
from policylearn.prediction.predictor import Predictor

TOGETHER = 0.004
"""Seconds that the first request of a batch waits for others."""


@dataclass(frozen=True)
class PendingRequest:
    """The molecules of one request with where their answer goes, which has a row for each that has no problem."""

    rows: int
    prepared: PreparedMolecules
    done: asyncio.Future[Answer]


class QueueFullError(Exception):
    """More rows wait than may; come back later."""


class RequestQueue:
    """Answers requests in turn: worker processes read molecules, a thread runs the model, the server keeps listening.

    Args:
        predictor: the model; its calibration is applied by the caller, as requests may ask for different levels.
        readers: worker processes that read molecules.
        batch_rows: rows that are answered together, at most (a request with more is answered alone).
        most_waiting: rows in the queue beyond which requests are turned away.
    """

    def __init__(self, predictor: Predictor, readers: MoleculePool, *, batch_rows: int, most_waiting: int) -> None:
        self.predictor, self.readers = replace(predictor, calibration=None), readers
        self.batch_rows = 1 if predictor.depends_on_batch else batch_rows
        self.most_waiting = most_waiting
        self.waiting = 0
        self.queue: asyncio.Queue[PendingRequest] = asyncio.Queue()

    async def ask(self, smiles: Sequence[str]) -> tuple[Answer, dict[int, str]]:
        """The answer of the molecules that can be read, in their order, and why the others cannot, by position."""
        if self.waiting and self.waiting + len(smiles) > self.most_waiting:
            raise QueueFullError
        self.waiting += len(smiles)
        try:
            prepared = await self.read(smiles)
            job = PendingRequest(len(smiles), prepared, asyncio.get_running_loop().create_future())
            self.queue.put_nowait(job)
            return await job.done, prepared.problems
        finally:
            self.waiting -= len(smiles)

    async def read(self, smiles: Sequence[str]) -> PreparedMolecules:
        """The molecules of a request; those that may take long hold up their own request alone."""
        begun = self.readers.submit(smiles)
        await finished([begun])
        found = quick_result(smiles, begun)
        alone = {at: self.readers.submit_slow(smiles[at]) for at in found.untried}
        await finished(alone.values())
        return self.readers.add_slow(smiles, found, alone)

    async def work(self) -> None:
        """Answer without end; a failure goes to the requests that it concerns, and the next ones are answered."""
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, thread_name_prefix="predict") as thread:
            while True:
                jobs = await self.gather()
                try:
                    answers = await loop.run_in_executor(thread, self.answer, jobs)
                except (RuntimeError, ValueError, MemoryError) as error:
                    for job in jobs:
                        if not job.done.done():
                            job.done.set_exception(error)
                    continue
                for job, answer in zip(jobs, answers, strict=True):
                    if not job.done.done():
                        job.done.set_result(answer)

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

    def answer(self, jobs: Sequence[PendingRequest]) -> list[Answer]:
        """The answer of each request."""
        graphs = [job.prepared.graphs for job in jobs]
        whole = self.predictor.answer_prepared(join_graphs([one for one in graphs if one is not None]))
        found, start = [], 0
        for one in graphs:
            end = start + (0 if one is None else len(one))
            found.append(whole.part(slice(start, end)))
            start = end
        return found


async def finished(futures: Iterable[Future[PreparedMolecules]]) -> None:
    """Wait until all have a result or an error; where nobody waits any more, they are cancelled."""
    await asyncio.gather(*map(asyncio.wrap_future, futures), return_exceptions=True)
