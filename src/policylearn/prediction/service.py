"""A run behind HTTP: SMILES in, row-aligned answers out. Nothing in a request names a file or becomes code."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.middleware.trustedhost import TrustedHostMiddleware

from policylearn.data import DataError, Task
from policylearn.prediction.answer_columns import YES
from policylearn.prediction.calibration import LEVELS, USUAL
from policylearn.prediction.predictor import Answer, Predictor
from policylearn.prediction.request_queue import QueueFullError, RequestQueue, RowAnswer

LONGEST_SMILES = 4000
Message = MutableMapping[str, Any]


@dataclass(frozen=True)
class Limits:
    """What a request may ask for.

    Args:
        rows: molecules of a request.
        body: bytes of a request.
        atoms: of a molecule.
        seconds: until a request is given up.
        waiting: rows of all requests together; beyond, clients are told to come back later.
        batch_rows: rows that are answered together.
        molecule_seconds: time limit of one molecule.
        workers: processes that read molecules.
    """

    rows: int = 1000
    body: int = 1_000_000
    atoms: int = 250
    seconds: float = 30.0
    waiting: int = 20_000
    batch_rows: int = 256
    molecule_seconds: float = 5.0
    workers: int = 2

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value <= 0:
                raise ValueError(f"'{name}' must be > 0 (got {value})")


class Question(BaseModel):
    """What ``POST /predict`` takes."""

    model_config = ConfigDict(extra="forbid")
    smiles: list[str] = Field(min_length=1, description="molecules, each with a row of the answer")
    interval: float = Field(USUAL, description=f"how often intervals shall hold the truth: one of {LEVELS}")


class Row(BaseModel):
    """The answer to one molecule; all but ``smiles`` and ``error`` is null where there is an error."""

    smiles: str
    error: str | None = None
    predicted: dict[str, float | str] | None = None
    probability: dict[str, float] | None = None
    std: list[float] | None = None
    lower: dict[str, float | None] | None = None
    upper: dict[str, float | None] | None = None
    labels: dict[str, list[str]] | None = None
    picks: list[int] | None = None
    similarity: float | None = None
    unseen: float | None = None
    warning: str | None = None


class Reply(BaseModel):
    """Rows in the order of the question."""

    rows: list[Row]


LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
"""Names by which a browser or program on this machine calls it."""


def make_app(predictor: Predictor, limits: Limits | None = None, hosts: Sequence[str] = LOOPBACK) -> FastAPI:
    """The service of one run.

    Args:
        predictor: of a run on molecules.
        limits: of requests.
        hosts: names that a request may address; any other is refused, so that a web page cannot reach the service
            under a name of its own (DNS rebinding). "*" accepts all.
    """
    if predictor.run.facts.featuriser is None:
        raise DataError(
            f"{predictor.run.folder}: was trained on graphs and cannot read molecules, which a request holds"
        )
    limits = limits or Limits()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        requests = app.state.requests = RequestQueue(
            predictor,
            batch_rows=limits.batch_rows,
            most_atoms=limits.atoms,
            most_waiting=limits.waiting,
            workers=limits.workers,
            seconds=limits.molecule_seconds,
        )
        worker = asyncio.create_task(requests.work())
        try:
            yield
        finally:
            worker.cancel()
            requests.close()

    app = FastAPI(title="policylearn", lifespan=lifespan, docs_url=None, redoc_url=None)
    app.add_middleware(BodyLimit, limits=limits)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)

    @app.exception_handler(RequestValidationError)
    async def malformed(_request: Request, error: RequestValidationError) -> JSONResponse:
        places = [{"where": ".".join(map(str, one["loc"])), "what": one["msg"]} for one in error.errors()[:10]]
        return JSONResponse({"error": "the request is malformed", "places": places}, 422)

    @app.exception_handler(HTTPException)
    async def refused(_request: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Whether the service answers."""
        return {"status": "ok"}

    @app.get("/info")
    async def info() -> dict[str, Any]:
        """What is served, and what a request may ask for."""
        return about(predictor, limits)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        schema = escape(json.dumps(app.openapi(), indent=2))
        return HTMLResponse(f"<!doctype html><title>policylearn</title><h1>policylearn</h1><pre>{schema}</pre>")

    @app.post("/predict")
    async def predict(question: Question) -> Reply:
        """Answers to SMILES, row by row; a row that cannot be answered says why, and the others are answered."""
        if len(question.smiles) > limits.rows:
            raise HTTPException(413, f"{len(question.smiles)} rows; this service takes up to {limits.rows} per request")
        if question.interval not in LEVELS:
            raise HTTPException(422, f"'interval' must be one of {', '.join(map(str, LEVELS))}")
        short = [text if len(text) <= LONGEST_SMILES else "" for text in question.smiles]
        try:
            rows = await asyncio.wait_for(app.state.requests.ask(short), limits.seconds)
        except TimeoutError:
            raise HTTPException(504, f"no answer within {limits.seconds:g} s; send fewer rows") from None
        except QueueFullError:
            raise HTTPException(503, "too many rows wait; try again", {"Retry-After": "1"}) from None
        return Reply(
            rows=[
                to_row(predictor, text, row, question.interval) for text, row in zip(question.smiles, rows, strict=True)
            ]
        )

    return app


def to_row(predictor: Predictor, text: str, row: RowAnswer, level: float) -> Row:
    """The reply to one molecule."""
    if row.answer is None:
        if len(text) > LONGEST_SMILES:
            return Row(
                smiles=sendable(text[:80]) + "...", error=f"the SMILES is longer than {LONGEST_SMILES} characters"
            )
        return Row(smiles=sendable(text), error=sendable(row.error))
    answer, task = predictor.with_intervals(row.answer, level), predictor.task
    values = [float(value) for value in answer.values[0]]
    found = Row(smiles=text, picks=answer.picks[0], predicted=predicted(task, values))
    if task.kind == "classes":
        found.probability = dict(zip(task.classes, values, strict=True))
    elif task.kind == "binary":
        found.probability = dict(zip(task.targets, values, strict=True))
    if answer.std is not None:
        found.std = [float(value) for value in answer.std[0]]
    found.lower, found.upper = bounds(task, answer.lower), bounds(task, answer.upper)
    found.labels = label_names(task, answer)
    if predictor.domain is not None and answer.near is not None:
        similarity = float(answer.near.similarity[0])
        found.similarity = similarity if math.isfinite(similarity) else None
        found.unseen = float(answer.near.unseen[0])
        found.warning = predictor.domain.warnings(answer.near)[0] or None
    return found


def sendable(text: str) -> str:
    """The text with ``?`` for halves of letters, which JSON can say and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()


def predicted(task: Task, values: list[float]) -> dict[str, float | str]:
    """Numbers, or the names of the likeliest labels."""
    if task.kind == "regression":
        return dict(zip(task.targets, values, strict=True))
    if task.kind == "classes":
        return {task.targets[0]: task.classes[values.index(max(values))]}
    names = task.classes or ("0", "1")
    return {target: names[value >= YES] for target, value in zip(task.targets, values, strict=True)}


def bounds(task: Task, ends: Any) -> dict[str, float | None] | None:
    """One end of the interval of each target; null where it is infinite."""
    if ends is None:
        return None
    return {
        target: float(value) if math.isfinite(value) else None
        for target, value in zip(task.targets, ends[0], strict=True)
    }


def label_names(task: Task, answer: Answer) -> dict[str, list[str]] | None:
    """The labels in the set of each target."""
    if answer.labels is None:
        return None
    names = task.classes or ("0", "1")
    return {
        target: [name for name, fit in zip(names, fits, strict=True) if fit]
        for target, fits in zip(task.targets, answer.labels[0], strict=True)
    }


def about(predictor: Predictor, limits: Limits) -> dict[str, Any]:
    """What ``GET /info`` says; no path of this machine is in it."""
    task, facts, found = predictor.task, predictor.run.facts, predictor.calibration
    return {
        "task": task.kind,
        "targets": list(task.targets),
        "classes": list(task.classes),
        **predictor.run.model_facts,
        "members": len(predictor.models),
        "levels": list(found.levels) if found is not None else [],
        "coverage": asdict(found.coverage) if found is not None and found.coverage is not None else None,
        "limits": asdict(limits),
        "versions": facts.versions,
    }


class BodyLimit:
    """Reads the body before anything else does, and refuses one that is too long or too slow.

    Args:
        app: what comes after.
        limits: bytes and seconds.
    """

    def __init__(self, app: Any, limits: Limits) -> None:
        self.app, self.limits = app, limits

    async def __call__(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            body = await asyncio.wait_for(self.read(receive), self.limits.seconds)
        except TimeoutError:
            body, refusal = None, (408, f"the request did not arrive within {self.limits.seconds:g} s")
        else:
            refusal = (413, f"the request is longer than {self.limits.body} bytes")
        if body is None:
            await JSONResponse({"error": refusal[1]}, refusal[0], {"Connection": "close"})(scope, receive, send)
            return
        held: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return held.pop() if held else await receive()

        await self.app(scope, replay, send)

    async def read(self, receive: Callable[[], Awaitable[Message]]) -> bytes | None:
        """The whole body; None where it is too long."""
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return b"".join(parts)
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self.limits.body:
                return None
            if not message.get("more_body", False):
                return b"".join(parts)
