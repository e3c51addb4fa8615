"""A headless Chromium, driven over its DevTools pipe with nothing but the standard library."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1200,900",
    "--remote-debugging-pipe",
)
# The browser reads commands from descriptor 3 and answers on 4. The copies are made first to numbers beyond both.
LAUNCH = """
import os, sys
commands, answers = (os.dup(os.dup(os.dup(int(word)))) for word in sys.argv[1:3])
os.dup2(commands, 3)
os.dup2(answers, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def browser_in(folder: Path) -> Browser:
    """A running browser with its profile in a folder; skips the test where none is installed."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"no browser is installed; install one of {', '.join(NAMES)}")
    return Browser(program, folder)


class Browser:
    """One page of a running browser; messages are JSON, each ended by a zero byte."""

    def __init__(self, program: str, profile: Path, patience: float = 120) -> None:
        to_read, self.out = os.pipe()
        self.into, to_write = os.pipe()
        command = [sys.executable, "-c", LAUNCH, str(to_read), str(to_write), program, *FLAGS]
        self.process = subprocess.Popen(
            [*command, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self.held, self.number, self.patience = b"", 0, patience
        self.session: str | None = None
        self.complaints: list[str] = []
        try:
            target = self.ask("Target.createTarget", url="about:blank")["targetId"]
            self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            self.ask("Runtime.enable")
            self.ask("Log.enable")
        except BaseException:
            self.close()
            raise

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while (answer := self.receive()).get("id") != self.number:
            pass
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def receive(self) -> dict[str, Any]:
        """The next message."""
        until = time.monotonic() + self.patience
        while b"\0" not in self.held:
            ready, _, _ = select.select([self.into], [], [], max(0.0, until - time.monotonic()))
            assert ready, f"the browser did not answer within {self.patience} s"
            piece = os.read(self.into, 1 << 16)
            assert piece, "the browser has ended"
            self.held += piece
        message, _, self.held = self.held.partition(b"\0")
        content: dict[str, Any] = json.loads(message)
        if content.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.complaints.append(json.dumps(content["params"])[:500])
        return content

    def open(self, path: Path) -> None:
        """Open a file and wait until it has loaded."""
        address = path.resolve().as_uri()
        self.ask("Page.navigate", url=address)
        until = time.monotonic() + self.patience
        while not self.run(f"document.readyState === 'complete' && location.href === {json.dumps(address)}"):
            assert time.monotonic() < until, f"{path} did not load within {self.patience} s"
            time.sleep(0.05)

    def resize(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Look at the page as on a screen of this size, in this scheme of colours."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def overflowing(self) -> list[str]:
        """What sticks out of the page to the right, apart from what scrolls in a box of its own."""
        found: list[str] = self.run(
            "Array.from(document.body.querySelectorAll('*')).filter(e => !e.closest('svg svg, .wide table')"
            " && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)"
            ".map(e => e.tagName + '.' + e.className)"
        )
        wider = self.run("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        return [*found, *["the page scrolls sideways"] * wider]

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression on the page."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def screenshot(self, path: Path) -> None:
        """A PNG of the whole page, without the scroll bar, which would hide a strip of it."""
        self.ask("Emulation.setScrollbarsHidden", hidden=True)
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=True)
        self.ask("Emulation.setScrollbarsHidden", hidden=False)
        path.write_bytes(base64.b64decode(shot["data"]))

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the browser."""
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.into)
