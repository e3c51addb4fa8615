"""Lock files, so that several processes share the work and none is done twice."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Owner:
    """The process that holds a lock; ``born`` tells it from a later one with the same number."""

    host: str
    pid: int
    born: str

    @property
    def alive(self) -> bool:
        """Whether it still runs; a process of another machine counts as running, since nobody here can tell."""
        if self.host != socket.gethostname():
            return True
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # it runs, for somebody else
        return birth(self.pid) == self.born


def birth(pid: int) -> str:
    """When a process began, in the kernel's ticks; empty where the system does not say, and for one that ended."""
    path = Path(f"/proc/{pid}/stat")
    try:
        fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    # A killed process that nobody has waited for yet still has its number.
    return "" if fields[0] in "ZX" else fields[19]


def myself() -> Owner:
    """The process at hand."""
    return Owner(socket.gethostname(), os.getpid(), birth(os.getpid()))


@contextmanager
def claim(path: Path) -> Iterator[Owner | None]:
    """Hold a lock file for the length of a block; gives the owner that holds it already, None where it is ours.

    A lock whose owner is dead is taken over.

    Args:
        path: the lock file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with guard(path):
        holder = read_owner(path) if path.exists() else None
        if holder is None:
            path.unlink(missing_ok=True)
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(json.dumps(asdict(myself())) + "\n")
    if holder is not None:
        yield holder
        return
    try:
        yield None
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def guard(path: Path) -> Iterator[None]:
    """Let one process at a time look at a lock and act on it; the kernel lets go when a process dies."""
    with (path.parent / ".guard").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


def read_owner(path: Path) -> Owner | None:
    """Who holds a lock; None where that process is gone."""
    try:
        owner = Owner(**json.loads(path.read_text(encoding="utf-8")))
    except (json.JSONDecodeError, TypeError):
        return None  # Written under the guard and not to its end: its writer was killed.
    return owner if owner.alive else None
