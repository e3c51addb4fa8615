"""``policylearn serve`` says what stands in its way before it loads anything."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from policylearn.cli import main
from policylearn.cli.verbs.serve import bound

pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")


def test_an_address_that_is_taken_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert main(["serve", str(tmp_path), "--port", str(port)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"cannot listen on 127.0.0.1, port {port}" in said.err
    assert "--port" in said.err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--port", "70000"], "'port' must be from 0 to 65535"),
        (["--port", "0", "--host", "no.such.host.invalid"], "cannot listen on no.such.host.invalid"),
        (["--port", "0"], "no such run folder"),
    ],
)
def test_what_cannot_be_served_is_one_line(
    words: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", str(tmp_path / "none"), *words]) == 2
    assert reason in capsys.readouterr().err


def test_nothing_is_accepted_before_it_is_ready() -> None:
    with bound("127.0.0.1", 0) as listener, pytest.raises(ConnectionRefusedError):
        socket.create_connection(listener.getsockname(), timeout=5)
