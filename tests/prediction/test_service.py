"""The service: row-aligned answers that equal the predictor's, limits, many clients at once, and a clean stop."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import policylearn
from policylearn.cli import main
from policylearn.data import DataError
from tests.errors import raises_naming
from tests.training.molecules import molesol, small_run, write_table
from tests.training.tiny import write_graphs
from tests.warm import MAIN, WarmProcess, run_warm

pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")
httpx = pytest.importorskip("httpx", reason="httpx is not installed")

from policylearn.prediction import server as server_module  # noqa: E402 - only with the extra
from policylearn.prediction.service import Limits, make_app  # noqa: E402 - only with the extra
from tests.data.test_rdkit_descriptors import clique  # noqa: E402

BAD = ["C1CC", "", "xyz", "C" * 300, "C" * 5000, "CCO\nCC", "CC\u00e9"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    smiles, values = molesol()
    folder = tmp_path_factory.mktemp("service")
    table = write_table(folder / "m.csv", ("smiles", "logS"), smiles[:150], values[:150])
    words = ["train", str(table), "--target", "logS", "-o", str(folder / "run"), "--epochs", "1"]
    words += ["--data.split", "random", "--ensemble", "2", "--prediction.channels", "8", "--prediction.layers", "2"]
    assert main(words) == 0
    return folder / "run"


class Client:
    """Speaks to an app in memory."""

    def __init__(self, run: Path, **limits: Any) -> None:
        self.app = make_app(policylearn.load(run), Limits(**limits))

    def send(self, *requests: tuple[str, str, dict[str, Any]]) -> list[Any]:
        """Send requests at the same time and give the responses in order."""

        async def all_of_them() -> list[Any]:
            async with (
                self.app.router.lifespan_context(self.app),
                httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://localhost") as client,
            ):
                return await asyncio.gather(*(client.request(how, path, **more) for how, path, more in requests))

        return asyncio.run(all_of_them())

    def predict(self, **question: Any) -> Any:
        (response,) = self.send(("POST", "/predict", {"json": question}))
        return response


def test_rows_are_the_predictors_own(run: Path) -> None:
    smiles = molesol()[0][200:220]
    mixed = [text for pair in zip(smiles, (BAD * 3)[:20], strict=True) for text in pair]
    response = Client(run).predict(smiles=mixed, interval=0.5)
    assert response.status_code == 200
    rows = response.json()["rows"]
    assert len(rows) == len(mixed)
    answer = policylearn.load(run).answer(smiles, level=0.5)
    for at, (good, bad) in enumerate(zip(rows[::2], rows[1::2], strict=True)):
        assert good["smiles"] == smiles[at]
        assert good["error"] is None
        assert good["predicted"]["logS"] == pytest.approx(float(answer.values[at, 0]), abs=1e-5)
        assert good["std"][0] == pytest.approx(float(answer.std[at, 0]), abs=1e-5)
        assert good["lower"]["logS"] == pytest.approx(float(answer.lower[at, 0]), abs=1e-4)
        assert good["upper"]["logS"] == pytest.approx(float(answer.upper[at, 0]), abs=1e-4)
        assert good["picks"] == answer.picks[at]
        assert bad["error"]
        assert bad["predicted"] is None


def test_only_json_is_read(run: Path) -> None:
    """A web page may send plain text to any address unasked, but not JSON."""
    content = {"content": b'{"smiles": ["C"]}', "headers": {"content-type": "text/plain"}}
    (response,) = Client(run).send(("POST", "/predict", content))
    assert response.status_code == 415


def test_requests_at_once_do_not_mix(run: Path) -> None:
    smiles = molesol()[0][:120]
    expected = policylearn.load(run).predict(smiles)[:, 0]
    pieces = [slice(at, at + 1 + at % 7) for at in range(0, 110, 3)]
    responses = Client(run).send(*(("POST", "/predict", {"json": {"smiles": smiles[one]}}) for one in pieces))
    for piece, response in zip(pieces, responses, strict=True):
        values = [row["predicted"]["logS"] for row in response.json()["rows"]]
        np.testing.assert_allclose(values, expected[piece], atol=1e-5)


@pytest.mark.parametrize(
    ("content", "status", "said"),
    [
        (b"{", 422, "malformed"),
        (b"[]", 422, "malformed"),
        (b'{"smiles": []}', 422, "malformed"),
        (b'{"smiles": "CCO"}', 422, "malformed"),
        (b'{"smiles": [1]}', 422, "malformed"),
        (b'{"smiles": ["C"], "run": "/etc/passwd"}', 422, "malformed"),
        (b'{"smiles": ["C"], "interval": 0.42}', 422, "must be one of"),
        (b'{"smiles": ["C","C","C","C"]}', 413, "up to 3"),
        (b'{"smiles": ["' + b"C" * 2000 + b'"]}', 413, "longer than 1000 bytes"),
        (b"\xff\xfe", 422, "malformed"),
    ],
)
def test_what_is_refused_says_why(run: Path, content: bytes, status: int, said: str) -> None:
    headers = {"Content-Type": "application/json"}
    (response,) = Client(run, rows=3, body=1000).send(("POST", "/predict", {"content": content, "headers": headers}))
    assert response.status_code == status
    assert said in response.json()["error"]


def test_other_pages(run: Path) -> None:
    health, info, docs, schema, nothing = Client(run).send(
        *(("GET", path, {}) for path in ("/healthz", "/info", "/docs", "/openapi.json", "/run.json"))
    )
    assert health.json() == {"status": "ok"}
    assert info.json()["members"] == 2
    assert str(run) not in info.text
    assert "/predict" in docs.text
    assert "http" not in docs.text.replace("HTTPValidationError", "")
    assert "/predict" in schema.json()["paths"]
    assert schema.json()["info"]["version"] == version("policylearn")
    assert nothing.status_code == 404


def test_slow_answers_and_long_queues_are_given_up(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from policylearn.prediction.request_queue import RequestQueue

    plain = RequestQueue.answer

    def slow(self: RequestQueue, jobs: Any) -> Any:
        time.sleep(0.4)
        return plain(self, jobs)

    monkeypatch.setattr(RequestQueue, "answer", slow)
    assert Client(run, seconds=0.05).predict(smiles=["CCO"]).status_code == 504
    responses = Client(run, waiting=5).send(*[("POST", "/predict", {"json": {"smiles": ["CCO"] * 3}})] * 3)
    assert sorted(response.status_code for response in responses) == [200, 503, 503]


def test_a_failure_inside_does_not_stop_the_service(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from policylearn.prediction.request_queue import RequestQueue

    client, plain = Client(run), RequestQueue.answer

    def broken(self: RequestQueue, jobs: Any) -> Any:
        if any("CCN" in job.prepared.graphs.smiles for job in jobs):
            raise RuntimeError("out of luck")
        return plain(self, jobs)

    monkeypatch.setattr(RequestQueue, "answer", broken)

    async def both() -> list[int]:
        transport = httpx.ASGITransport(client.app, raise_app_exceptions=False)
        async with (
            client.app.router.lifespan_context(client.app),
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as speaker,
        ):
            one = await speaker.post("/predict", json={"smiles": ["CCN"]})
            other = await speaker.post("/predict", json={"smiles": ["CCO"]})
            return [one.status_code, other.status_code]

    assert asyncio.run(both()) == [500, 200]


def test_a_molecule_that_takes_too_long_holds_up_its_own_request_alone(run: Path) -> None:
    metal = clique(30)  # RDKit's descriptors of it take seconds even without those that list paths
    smiles = molesol()[0][:40]

    async def seconds_of_others() -> tuple[dict[str, Any], list[float]]:
        app = make_app(policylearn.load(run), Limits(molecule_seconds=0.5))
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client,
        ):
            await client.post("/predict", json={"smiles": ["C"]})
            attacks = [asyncio.create_task(client.post("/predict", json={"smiles": [metal]})) for _ in range(3)]
            times = []
            for text in smiles:
                started = time.monotonic()
                answer, health = await asyncio.gather(
                    client.post("/predict", json={"smiles": [text]}), client.get("/healthz")
                )
                assert answer.json()["rows"][0]["error"] is None
                assert health.status_code == 200
                times.append(time.monotonic() - started)
            replies = await asyncio.gather(*attacks)
            return replies[0].json()["rows"][0], times

    row, times = asyncio.run(seconds_of_others())
    assert row["predicted"] is None
    assert "0.5 s" in row["error"]
    assert np.median(times) < 1.0


@pytest.mark.parametrize(
    ("host", "status"), [("localhost", 200), ("127.0.0.1:8000", 200), ("[::1]:8000", 200), ("evil.example", 400)]
)
def test_a_foreign_name_for_the_service_is_refused(run: Path, host: str, status: int) -> None:
    """Or a web page in the user's browser could reach it under a name of its own."""
    (response,) = Client(run).send(("GET", "/healthz", {"headers": {"Host": host}}))
    assert response.status_code == status


@pytest.mark.parametrize(
    ("words", "statuses"),
    [
        ([], [200, 400, 400]),
        (["--allow-host", "my.machine", "other"], [200, 200, 400]),
        (["--allow-host=*"], [200] * 3),
    ],
)
def test_the_command_allows_further_names(
    words: list[str], statuses: list[int], run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client(run)
    monkeypatch.setattr(server_module, "run_server", lambda app, listener: setattr(client, "app", app))
    assert main(["serve", str(run), "--port", "0", *words]) == 0
    hosts = ("localhost:8000", "my.machine", "evil.example")
    answers = client.send(*(("GET", "/healthz", {"headers": {"Host": host}}) for host in hosts))
    assert [answer.status_code for answer in answers] == statuses


WHOLE = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@contextmanager
def listening() -> Iterator[tuple[str, int]]:
    """The address of a service that knows /healthz."""
    from fastapi import FastAPI

    app = FastAPI()
    app.get("/healthz")(lambda: {"status": "ok"})
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=server_module.run_server, args=(app, listener), daemon=True).start()
        yield listener.getsockname()


def test_connections_without_whole_headers_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "HEADER_SECONDS", 0.3)
    with listening() as address:
        for requests in ([], [b"GET /heal"], [WHOLE, b"GET /heal"]):
            with socket.create_connection(address, timeout=20) as slow:
                for sent in requests:
                    slow.sendall(sent)
                    if sent == WHOLE:
                        assert b"200 OK" in slow.recv(1000)
                while slow.recv(1000):  # ends when the other side closes
                    pass
        with socket.create_connection(address, timeout=20) as usual:
            usual.sendall(WHOLE)
            assert b"200 OK" in usual.recv(1000)


def test_a_client_beyond_the_most_connections_is_told_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "MOST_CONNECTIONS", 4)
    with listening() as address, ExitStack() as held:

        def status() -> bytes:
            with socket.create_connection(address, timeout=20) as client:
                client.sendall(WHOLE)
                return client.recv(1000)[:12]

        assert status() == b"HTTP/1.1 200"
        for _ in range(4):
            held.enter_context(socket.create_connection(address, timeout=20))
        assert status() == b"HTTP/1.1 503"
        held.close()
        until = time.monotonic() + 20
        while status() != b"HTTP/1.1 200":
            assert time.monotonic() < until


def test_graphs_cannot_be_served(tmp_path: Path) -> None:
    folder = small_run(tmp_path / "run", write_graphs(tmp_path / "g.npz"))
    with pytest.raises(DataError):
        make_app(policylearn.load(folder))
    with raises_naming(ValueError, "'rows'"):
        Limits(rows=0)


STOPPED_AT_ONCE = """
import asyncio, sys, warnings
async def serve():
    import policylearn
    from policylearn.prediction.service import make_app
    app = make_app(policylearn.load(sys.argv[1]))
    async with app.router.lifespan_context(app):
        asking = asyncio.create_task(app.state.requests.ask(["CCO"]))
        await asyncio.sleep(0.01)
        asking.cancel()
warnings.simplefilter("ignore")
asyncio.run(serve())
"""


def test_a_stop_while_workers_start_is_quiet(run: Path) -> None:
    done = run_warm(STOPPED_AT_ONCE, run)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.fixture
def server(run: Path) -> Iterator[tuple[WarmProcess, int]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = WarmProcess(MAIN, "serve", run, "--port", port, env=os.environ | {"OMP_NUM_THREADS": "1"})
    try:
        yield process, port
    finally:
        process.kill()
        process.wait()


def test_it_listens_and_stops_when_told(server: tuple[WarmProcess, int]) -> None:
    process, port = server
    until = time.monotonic() + 180
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            body, headers = json.dumps({"smiles": ["CCO", "C1"]}), {"Content-Type": "application/json"}
            connection.request("POST", "/predict", body, headers)
            reply = json.loads(connection.getresponse().read())
            break
        except ConnectionError:
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.2)
    connection.close()
    assert [row["error"] is None for row in reply["rows"]] == [True, False]
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) in (0, -signal.SIGTERM)
