"""A run behind HTTP: SMILES in, row-aligned answers out. Nothing in a request names a file or becomes code."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from html import escape
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect

from policylearn.data import DataError
from policylearn.data.preparation import MoleculePool
from policylearn.prediction.answer import Answer
from policylearn.prediction.answer_columns import AnswerColumns, label_names
from policylearn.prediction.calibration import LEVELS, USUAL
from policylearn.prediction.predictor import Predictor
from policylearn.prediction.request_queue import QueueFullError, RequestQueue

LONGEST_SMILES = 4000


@dataclass(frozen=True)
class Limits:
    """What a request may ask for, and what the service does at a time."""

    rows: int = 1000  # molecules of a request
    body: int = 1_000_000  # bytes of a request
    atoms: int = 250  # of a molecule
    seconds: float = 30.0  # until a request is given up
    waiting: int = 20_000  # rows of all requests together; beyond, clients are told to come back later
    batch_rows: int = 256  # that are answered together
    molecule_seconds: float = 5.0  # time limit of one molecule
    workers: int = 2  # processes that read molecules

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
    """The service of one run on molecules.

    Requests may address it by one of ``hosts``; any other name is refused, so that a web page cannot reach it under a
    name of its own (DNS rebinding). "*" accepts all.
    """
    facts, limits = predictor.run.facts, limits or Limits()
    if facts.featuriser is None:
        raise DataError(f"{predictor.run.folder}: was trained on graphs, and requests hold molecules")

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        readers = MoleculePool(
            predictor.transforms,
            limits.workers,
            parents=facts.parents,
            seconds=limits.molecule_seconds,
            most_atoms=limits.atoms,
        )
        with readers:  # processes end once they have begun and finished what they do
            rows = {"batch_rows": limits.batch_rows, "most_waiting": limits.waiting}
            app.state.requests = RequestQueue(predictor, readers, **rows)
            worker = asyncio.create_task(app.state.requests.work())
            try:
                yield
            finally:
                worker.cancel()
                await asyncio.gather(worker, return_exceptions=True)

    app = FastAPI(title="policylearn", version=version("policylearn"), lifespan=lifespan, docs_url=None, redoc_url=None)
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

    async def question_of(request: Request) -> Question:
        """The body of a request, refused before it is read whole where it is too long or too slow."""
        kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
        if kind != "application/json":  # without this a web page could send requests unasked
            raise HTTPException(415, "send the request with Content-Type: application/json")
        try:
            body = await asyncio.wait_for(read_body(request, limits.body), limits.seconds)
        except TimeoutError:
            reason = f"the request did not arrive within {limits.seconds:g} s"
            raise HTTPException(408, reason, {"Connection": "close"}) from None
        except ClientDisconnect:
            raise HTTPException(400, "the client has gone") from None
        try:
            return Question.model_validate(json.loads(body))
        except ValidationError as error:
            raise RequestValidationError([{**one, "loc": ("body", *one["loc"])} for one in error.errors()]) from None
        except (ValueError, RecursionError) as error:
            raise RequestValidationError([{"loc": ("body",), "msg": str(error)}]) from None

    schema = {"application/json": {"schema": Question.model_json_schema()}}

    @app.post("/predict", openapi_extra={"requestBody": {"content": schema, "required": True}})
    async def predict(request: Request) -> Reply:
        """Answers to SMILES, row by row; a row that cannot be answered says why, and the others are answered."""
        question = await question_of(request)
        if len(question.smiles) > limits.rows:
            raise HTTPException(413, f"{len(question.smiles)} rows; this service takes up to {limits.rows} per request")
        if question.interval not in LEVELS:
            raise HTTPException(422, f"'interval' must be one of {', '.join(map(str, LEVELS))}")
        short = [text if len(text) <= LONGEST_SMILES else "" for text in question.smiles]
        try:
            answer, problems = await asyncio.wait_for(app.state.requests.ask(short), limits.seconds)
        except TimeoutError:
            raise HTTPException(504, f"no answer within {limits.seconds:g} s; send fewer rows") from None
        except QueueFullError:
            raise HTTPException(503, "too many rows wait; try again", {"Retry-After": "1"}) from None
        bounded = predictor.with_intervals(answer, question.interval)
        return Reply(rows=list(reply_rows(predictor, question.smiles, bounded, problems)))

    return app


async def read_body(request: Request, most: int) -> bytes:
    """The whole body, or an error where it has more bytes than ``most``."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            raise HTTPException(413, f"the request is longer than {most} bytes", {"Connection": "close"})
    return bytes(body)


def reply_rows(
    predictor: Predictor, smiles: Sequence[str], answer: Answer, problems: Mapping[int, str]
) -> Iterator[Row]:
    """A row per molecule; the answer has rows for those without a problem."""
    warnings = [] if predictor.domain is None or answer.near is None else predictor.domain.warnings(answer.near)
    at = 0
    for place, text in enumerate(smiles):
        if len(text) > LONGEST_SMILES:
            reason = f"the SMILES is longer than {LONGEST_SMILES} characters"
            yield Row(smiles=sendable(text[:80]) + "...", error=reason)
        elif place in problems:
            yield Row(smiles=sendable(text), error=sendable(problems[place]))
        else:
            row = reply_row(predictor, text, answer, at)
            row.warning = (warnings[at] or None) if warnings else None
            yield row
            at += 1


def reply_row(predictor: Predictor, text: str, answer: Answer, at: int) -> Row:
    """The reply to one molecule."""
    task = predictor.task
    values = answer.values[at].tolist()
    row = Row(smiles=text, picks=answer.picks[at])
    if task.kind == "regression":
        row.predicted = dict(zip(task.targets, values, strict=True))
    else:
        named = AnswerColumns(task).likeliest(answer.values[at])
        row.predicted = dict(zip(task.targets, named, strict=True))
        row.probability = dict(zip(task.classes if task.kind == "classes" else task.targets, values, strict=True))
    if answer.std is not None:
        row.std = answer.std[at].tolist()
    if answer.lower is not None and answer.upper is not None:
        row.lower, row.upper = (
            {target: finite(end) for target, end in zip(task.targets, ends[at].tolist(), strict=True)}
            for ends in (answer.lower, answer.upper)
        )
    if answer.labels is not None:
        sets = [label_names(task, fits) for fits in answer.labels[at]]
        row.labels = dict(zip(task.targets, sets, strict=True))
    if answer.near is not None:
        row.similarity, row.unseen = finite(float(answer.near.similarity[at])), float(answer.near.unseen[at])
    return row


def sendable(text: str) -> str:
    """The text with ``?`` for halves of letters, which JSON can say and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()


def finite(value: float) -> float | None:
    """The value, or None where JSON has none."""
    return value if math.isfinite(value) else None


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
