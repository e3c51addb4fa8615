"""A contender in a process of its own, which takes a step when it is asked to.

``python -m lab.bench.worker SPEC`` builds a `StepSpec` and says that it is ready; then it reads the number of a round
from each line, and answers with the milliseconds of its step, or with the peak memory of one.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import msgspec
import psutil

from lab.bench.steps import Steps, StepSpec
from policylearn.bags import RowLimitError

PEAK = -1
"""The round that asks for peak memory."""
MEMORY_SHARE = 0.5
"""Of the memory that is free, as much as a contender may hold: on a shared machine others need theirs."""
LOOK = 0.05
"""Seconds between two looks at the memory of a process."""
GIB = 2**30


class NotRunError(RuntimeError):
    """A contender that needs too much memory; the message says how much."""


class Worker:
    """The process of a contender.

    Args:
        spec: what it builds.
        tight: give freed tensors back to the system at once, for peak memory: by default the C library keeps those
            below 32 MiB, and small models would look larger than they are.
        variables: of the environment of the process, such as PYTHONPATH.
    """

    def __init__(self, spec: StepSpec, *, tight: bool = False, variables: Mapping[str, str] | None = None) -> None:
        self.spec = spec
        self.most_bytes = int(MEMORY_SHARE * psutil.virtual_memory().available)
        words = [sys.executable, "-m", "lab.bench.worker", msgspec.json.encode(spec).decode()]
        environment = os.environ | dict(variables or {}) | ({"MALLOC_MMAP_THRESHOLD_": str(64 * 1024)} if tight else {})
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, env=environment)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.kill()
        self.process.communicate()

    def ask(self, turn: int) -> Any:
        """What a round gives; `answer` reads it."""
        assert self.process.stdin is not None
        print(turn, file=self.process.stdin, flush=True)
        return self.answer()

    def answer(self) -> Any:
        """The next line, looking at the memory of the process meanwhile."""
        out = self.process.stdout
        assert out is not None
        while not select.select([out], [], [], LOOK)[0]:
            if psutil.Process(self.process.pid).memory_info().rss > self.most_bytes:
                raise NotRunError(f"needs more than {self.most_bytes / GIB:.1f} GiB of memory")
        line = out.readline()
        if not line:
            raise RuntimeError(f"{self.spec} ended with code {self.process.wait()}")
        found = json.loads(line)
        if isinstance(found, dict):
            raise NotRunError(found["note"])
        return found


def main(spec: StepSpec) -> None:
    """Build, then answer every line."""
    try:
        steps = Steps(spec)
        print(json.dumps("ready"), flush=True)
        for line in sys.stdin:
            turn = int(line)
            print(json.dumps(steps.peak_bytes() if turn == PEAK else steps.milliseconds(turn)), flush=True)
    except RowLimitError as error:
        print(json.dumps({"note": str(error)}), flush=True)


if __name__ == "__main__":
    main(msgspec.json.decode(sys.argv[1], type=StepSpec))
