"""The tutorial, from the table to the service: every command runs, and prints what the page says."""

from __future__ import annotations

import re
import shlex
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from policylearn.cli import main
from tests.warm import MAIN, PIPE, WarmProcess

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "docs" / "tutorial.md"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
PORT = "8000"


def blocks() -> Iterator[tuple[str, str, str]]:
    """Language and text of each block, with the text block that says what it prints, if one comes next."""
    found = FENCE.findall(PAGE.read_text(encoding="utf-8"))
    for at, (language, code) in enumerate(found):
        if language != "text":
            said = found[at + 1] if at + 1 < len(found) else ("", "")
            yield language, code, said[1] if said[0] == "text" else ""


def plain(text: str) -> list[str]:
    """Lines without what differs from machine to machine: numbers, folders, and how wide a table is drawn."""
    text = re.sub(r"[━─┃│┏┓┡┩╇┳└┘┴]+", " ", text)
    lines = (re.sub(r"-?\d[\d.,]*", "#", re.sub(r"\s+", " ", line)).strip() for line in text.splitlines())
    return [line for line in lines if line]


class Reader:
    """Does what a reader of the page would do.

    Args:
        port: where the service listens, in place of the page's.
        capsys: pytest's own.
    """

    def __init__(self, port: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.port, self.capsys = port, capsys
        self.server: WarmProcess | None = None

    def do(self, code: str) -> str:
        """Run a block of shell commands and give what they print."""
        if "<<" in code:
            subprocess.run(["bash", "-ec", code], check=True)
            return ""
        printed = ""
        for line in code.replace("\\\n", " ").replace(PORT, self.port).splitlines():
            printed += self.command(shlex.split(line, comments=True))
        return printed

    def command(self, words: list[str]) -> str:
        """One command; those of other programs are done here, as they need not be installed."""
        if not words:
            return ""
        if words[:2] == ["policylearn", "serve"]:
            return self.serve(words[1 : words.index("&")])
        if words[0] == "policylearn":
            self.capsys.readouterr()
            code = main(words[1:])
            printed = self.capsys.readouterr()
            assert code in (0, 1), printed.err
            return printed.out
        if words[0] == "cat":
            return Path(words[1]).read_text(encoding="utf-8")
        if words[0] == "curl":
            return self.ask(words)
        assert words == ["kill", "%1"], words
        assert self.server is not None
        self.server.send_signal(signal.SIGTERM)
        assert self.server.wait(timeout=120) in (0, -signal.SIGTERM)
        return ""

    def leave(self) -> None:
        """Let no service run on, whatever has happened."""
        if self.server is not None:
            self.server.kill()
            self.server.communicate()

    def serve(self, words: list[str]) -> str:
        """Start the service, and wait until it listens."""
        self.server = WarmProcess(MAIN, *words, "--port", self.port, stdout=PIPE)
        assert self.server.stdout is not None
        said = self.server.stdout.readline()
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=30).close()
            except (urllib.error.URLError, ConnectionError):
                assert self.server.poll() is None, "the service has ended"
                time.sleep(0.2)
            else:
                return said.replace(self.port, PORT)
        raise AssertionError("the service did not start")

    @staticmethod
    def ask(words: list[str]) -> str:
        """What curl does with these words."""
        (url,) = (word for word in words if word.startswith("http://"))
        data = words[words.index("-d") + 1].encode() if "-d" in words else None
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"} if data else {})
        with urllib.request.urlopen(request, timeout=120) as response:
            text: str = response.read().decode()
        return text + "\n" * ("-w" in words)


def test_every_command_prints_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        reader = Reader(str(probe.getsockname()[1]), capsys)
    namespace: dict[str, object] = {}
    steps = 0
    try:
        for language, code, said in blocks():
            if language == "python":
                exec(code, namespace)
                continue
            printed, steps = plain(reader.do(code)), steps + 1
            rest = iter(printed)
            for line in plain(said):
                assert line == "..." or line in rest, f"after\n{code}\nthe page says {line!r}; it printed {printed}"
    finally:
        reader.leave()
    assert steps >= 8
