"""Requests of many clients in one queue: those that wait together are answered in one batch."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from policylearn.data import DataError, pack_molecules
from policylearn.data.molecules import MoleculeGraph, featurise
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
    """Rows of one request with where their answers go."""

    smiles: tuple[str, ...]
    done: asyncio.Future[list[RowAnswer]]


class QueueFullError(Exception):
    """More rows wait than may; come back later."""


class RequestQueue:
    """Answers requests in turn, in a thread of its own, so that the server keeps listening.

    Args:
        predictor: the model; its calibration is applied by the caller, as requests may ask for different levels.
        batch_rows: rows that are answered together, at most (a request with more is answered alone).
        most_atoms: larger molecules get an error.
        most_waiting: rows in the queue beyond which requests are turned away.
    """

    def __init__(self, predictor: Predictor, *, batch_rows: int, most_atoms: int, most_waiting: int) -> None:
        self.predictor = replace(predictor, calibration=None)
        self.batch_rows = 1 if predictor.depends_on_batch else batch_rows
        self.most_atoms, self.most_waiting = most_atoms, most_waiting
        self.waiting = 0
        self.queue: asyncio.Queue[PendingRequest] = asyncio.Queue()
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="predict")

    async def ask(self, smiles: Sequence[str]) -> list[RowAnswer]:
        """The answers of some rows, in their order."""
        if self.waiting and self.waiting + len(smiles) > self.most_waiting:
            raise QueueFullError
        job = PendingRequest(tuple(smiles), asyncio.get_running_loop().create_future())
        self.waiting += len(smiles)
        try:
            self.queue.put_nowait(job)
            return await job.done
        finally:
            self.waiting -= len(smiles)

    async def work(self) -> None:
        """Answer without end; a failure goes to the requests that it concerns, and the next ones are answered."""
        loop = asyncio.get_running_loop()
        while True:
            jobs = await self.gather()
            rows = [text for job in jobs for text in job.smiles]
            try:
                answers = await loop.run_in_executor(self.thread, self.answer, rows)
            except (RuntimeError, ValueError, MemoryError) as error:
                for job in jobs:
                    if not job.done.done():
                        job.done.set_exception(error)
                continue
            begin = 0
            for job in jobs:
                if not job.done.done():
                    job.done.set_result(answers[begin : begin + len(job.smiles)])
                begin += len(job.smiles)

    async def gather(self) -> list[PendingRequest]:
        """The next job with those that come within a moment; jobs whose client has gone are dropped."""
        while (first := await self.queue.get()).done.done():
            pass
        jobs, rows = [first], len(first.smiles)
        if self.queue.empty() and rows < self.batch_rows:
            await asyncio.sleep(TOGETHER)
        while rows < self.batch_rows and not self.queue.empty():
            job = self.queue.get_nowait()
            if not job.done.done():
                jobs.append(job)
                rows += len(job.smiles)
        return jobs

    def answer(self, smiles: Sequence[str]) -> list[RowAnswer]:
        """The answer of each row, or the reason for none."""
        read = [self.read(text) for text in smiles]
        good = [(text, one) for text, one in zip(smiles, read, strict=True) if isinstance(one, MoleculeGraph)]
        found: list[Answer] = []
        if good:
            packed = pack_molecules([one for _, one in good], smiles=[text for text, _ in good])
            whole = self.predictor.answer(packed)
            found = [row_of(whole, at) for at in range(len(good))]
        rest = iter(found)
        return [RowAnswer(None, one) if isinstance(one, str) else RowAnswer(next(rest)) for one in read]

    def read(self, text: str) -> MoleculeGraph | str:
        """The graph of a SMILES, or what is wrong with it."""
        try:
            graph = featurise(text)
        except DataError as error:
            return str(error)
        if len(graph.x) > self.most_atoms:
            return f"the molecule has {len(graph.x)} atoms, and this service takes up to {self.most_atoms}"
        return graph

    def close(self) -> None:
        """End the thread once it has finished what it does."""
        self.thread.shutdown(wait=True, cancel_futures=True)


def row_of(answer: Answer, row: int) -> Answer:
    """One row of an answer, without intervals."""
    std = None if answer.std is None else np.asarray(answer.std[row : row + 1])
    return Answer(answer.values[row : row + 1], [answer.picks[row]], std)
