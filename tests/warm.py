"""New Python processes that need not import torch and Lightning, which takes longer than what most tests do in them.

A server imports other people's packages once and forks a process for each `WarmProcess`. Our own packages are imported
in the new process, after its environment is set. The server and what it started end with the process of the tests.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO

PROJECT = Path(__file__).parents[1]
PACKAGES = ("torch.distributed.run", "torch_geometric", "lightning", "sklearn.svm", "lightgbm", "rdkit.Chem", "pandas")
PIPE = subprocess.PIPE
LOOK = 0.02
"""Seconds between two looks at a process."""
EXIT_CODES = [0]
"""That of this process is the last one."""
MAIN = "import sys; from policylearn.cli import main; sys.exit(main(sys.argv[1:]))"
"""The command, as code of a process."""


class WarmProcess:
    """A process as `subprocess.Popen` starts it with ``-c``, and as far as tests need one.

    Args:
        code: what it runs.
        words: its arguments.
        env: its environment; without it ours.
        cwd: its folder; without it ours.
        stdin: ``PIPE`` or an open file; without it nothing is to be read.
        stdout: ``PIPE`` or an open file; without it ours.
        stderr: an open file; without it ours.
    """

    def __init__(
        self,
        code: str,
        *words: object,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: int | IO[str] | None = None,
        stdout: int | IO[str] | None = None,
        stderr: IO[str] | None = None,
    ) -> None:
        self.returncode: int | None = None
        self.stdin: IO[str] | None = None
        self.stdout: IO[str] | None = None
        self.line, theirs = socket.socketpair()
        nothing = os.open(os.devnull, os.O_RDONLY)
        opened = [theirs.fileno(), nothing]
        files = [nothing if stdin is None else stdin, 1 if stdout is None else stdout, 2 if stderr is None else stderr]
        if stdin == PIPE:
            files[0], ours = os.pipe()
            self.stdin = os.fdopen(ours, "w")
            opened.append(files[0])
        if stdout == PIPE:
            ours, files[1] = os.pipe()
            self.stdout = os.fdopen(ours)
            opened.append(files[1])
        numbers = [file if isinstance(file, int) else file.fileno() for file in files]
        socket.send_fds(server(), [b"."], [*numbers, theirs.fileno()])
        theirs.detach()
        for number in opened:
            os.close(number)
        wish = {"code": code, "words": list(map(str, words)), "env": dict(os.environ if env is None else env)}
        self.line.sendall(json.dumps(wish | {"cwd": str(cwd or Path.cwd())}).encode() + b"\n")
        self.answers = self.line.makefile()
        self.pid = int(self.answers.readline())

    def poll(self) -> int | None:
        """Its exit code if it has ended."""
        if self.returncode is None and select.select([self.line], [], [], 0)[0]:
            self.returncode = int(self.answers.readline())
            self.answers.close(), self.line.close()
        return self.returncode

    def wait(self, timeout: float = 300) -> int:
        """Its exit code, which is minus a number where a signal ended it."""
        if self.returncode is None and not select.select([self.line], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(str(self.pid), timeout)
        code = self.poll()
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float = 300) -> str:
        """Wait for its end and give what it has written."""
        assert self.stdout is not None
        if self.stdin is not None:
            self.stdin.close()
        with self.stdout:
            text = self.stdout.read()
        self.wait(timeout)
        return text


def run_warm(
    code: str, *words: object, env: Mapping[str, str] | None = None, cwd: Path | None = None, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """Wait for the end of a process; ends it where that takes too long."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as error:
        process = WarmProcess(code, *words, env=env, cwd=cwd, stdout=out, stderr=error)
        try:
            process.wait(timeout)
        finally:
            process.kill()
        out.seek(0), error.seek(0)
        return subprocess.CompletedProcess(words, process.wait(), out.read(), error.read())


@cache
def server() -> socket.socket:
    """The line to the server, which is started when first asked for and ends when this line is closed."""
    ours, theirs = socket.socketpair()
    code = f"import sys; sys.path.insert(0, {str(PROJECT)!r}); from tests.warm import serve; serve({theirs.fileno()})"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    theirs.close()
    atexit.register(lambda: (ours.close(), process.wait()))
    return ours


def serve(number: int) -> None:
    """The server: what returns from here is a new process that has done its work."""
    atexit.register(leave)  # as the first one, so that it is called last
    for name in PACKAGES:
        import_module(name)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(fileno=number) as line:
        while True:
            word, files, *_ = socket.recv_fds(line, 1, 4)
            if not word:
                return
            if os.fork() == 0:
                break
            for file in files:
                os.close(file)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    reply = socket.socket(fileno=files.pop())
    wish = json.loads(reply.makefile().readline())
    pid = os.fork()
    if pid:
        watch(pid, files, reply)
    reply.close()
    run(wish, files)


def watch(pid: int, files: list[int], reply: socket.socket) -> None:
    """Say when a process has ended, and end it when nobody listens any more."""
    for file in (0, 1, 2, *files):
        os.close(file)
    reply.sendall(f"{pid}\n".encode())
    while (ended := os.waitpid(pid, os.WNOHANG)) == (0, 0):
        if select.select([reply], [], [], LOOK)[0]:
            os.kill(pid, signal.SIGKILL)
            ended = os.waitpid(pid, 0)
            break
    try:
        reply.sendall(f"{os.waitstatus_to_exitcode(ended[1])}\n".encode())
    finally:
        os._exit(0)


def run(wish: dict, files: list[int]) -> None:
    """Become the process that was asked for."""
    os.setsid()
    for at, file in enumerate(files):
        os.dup2(file, at)
        os.close(file)
    os.environ.clear()
    os.environ.update(wish["env"])
    os.chdir(wish["cwd"])
    sys.argv = ["-c", *wish["words"]]
    sys.path[:0] = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    try:
        exec(compile(wish["code"], "<string>", "exec"), sys.modules["__main__"].__dict__)
    except SystemExit as stop:
        EXIT_CODES.append(stop.code if isinstance(stop.code, int) else int(stop.code is not None))
    except BaseException:
        traceback.print_exc()
        EXIT_CODES.append(1)


def leave() -> None:
    """End this process without taking apart what was imported, which takes seconds."""
    sys.stdout.flush(), sys.stderr.flush()
    os._exit(EXIT_CODES[-1])
