"""Registries of policies, systems, datasets and other parts by name."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import pkgutil
import sys
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from policylearn.wording import hint

Thing = TypeVar("Thing")

PLUGIN = "policylearn_plugin_"
"""What the modules of users' files are called, before the file's name."""
IMPORTED: list[str] = []
"""Files of users that were imported; a run remembers them, so that a message can name them."""
REGISTRIES: list[Registry[Any]] = []


class Registry(Mapping[str, Thing]):
    """A mapping from names to objects of one kind, filled by importing a package on first use.

    Args:
        kind: what the things are, for messages: "policy".
        package: its modules register what they define. A thing is looked for in the module of its name first; then,
            and for a list of all things, every module is imported.
        error: raised for an unknown name, for a name that is taken and for a thing that lacks a member.
        members: what each thing must have.
    """

    def __init__(
        self,
        kind: str,
        package: str | None = None,
        error: type[ValueError] = ValueError,
        members: tuple[str, ...] = (),
    ) -> None:
        self.kind, self.error, self.members = kind, error, members
        self._package = package
        self._things: dict[str, Thing] = {}
        REGISTRIES.append(self)

    def register(self, name: str, thing: Thing) -> Thing:
        """Make a thing known under a name; returns the thing."""
        if name in self._things:
            raise self.error(f"the name '{name}' is taken by another {self.kind}; give this one another name")
        lacking = [member for member in self.members if not hasattr(thing, member)]
        if lacking:
            raise self.error(f"the {self.kind} '{name}' lacks {' and '.join(lacking)}; define what is missing")
        self._things[name] = thing
        return thing

    def __getitem__(self, name: str) -> Thing:
        if name not in self._things:
            self._import_home(name)
        if name not in self._things and name not in self:
            known = sorted(self._things)
            way_out = hint(name, known, f"known are {', '.join(known)}")
            raise self.error(f"there is no {self.kind} '{name}'; {way_out}")
        return self._things[name]

    def __contains__(self, name: object) -> bool:
        self._fill()
        return name in self._things

    def __iter__(self) -> Iterator[str]:
        self._fill()
        return iter(sorted(self._things))

    def __len__(self) -> int:
        self._fill()
        return len(self._things)

    def _import_home(self, name: str) -> None:
        """Import the module of that name alone, to avoid importing the others."""
        module = name.replace("-", "_")
        if self._package is not None and module.isidentifier():
            home = f"{self._package}.{module}"
            if importlib.util.find_spec(home) is not None:
                importlib.import_module(home)

    def _fill(self) -> None:
        if self._package is None:
            return
        package, self._package = self._package, None
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
            importlib.import_module(f"{package}.{module.name}")


def file_of(kind: type) -> str | None:
    """The user's file that defines a class; None for other classes."""
    return sys.modules[kind.__module__].__file__ if kind.__module__.startswith(PLUGIN) else None


def source_hash(kind: type) -> str | None:
    """Hash of the files outside the package that define a class and its parents.

    It is empty for a class of the package, and None for one without a file, such as a class of a notebook.
    """
    modules = {one.__module__ for one in kind.__mro__ if not one.__module__.startswith(("policylearn.", "builtins"))}
    files = [Path(getattr(sys.modules.get(name), "__file__", None) or "") for name in sorted(modules)]
    if not all(file.is_file() for file in files):
        return None
    return "".join(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)


def import_file(path: str | Path) -> None:
    """Import a Python file by its path, so that what it defines is registered; a second time does nothing.

    A registry that the file adds to is filled at once: a name that a built-in thing has is refused.
    """
    path = Path(path).resolve()
    if not path.is_file():
        raise ValueError(f"{path}: there is no such file; give the path of a .py that registers your own parts")
    name = f"{PLUGIN}{path.stem}_{zlib.crc32(str(path).encode()):08x}"
    if name in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path}: is not a Python file; give the path of a .py that registers your own parts")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    before = {id(registry): set(registry._things) for registry in REGISTRIES}
    try:
        spec.loader.exec_module(module)
        for registry in REGISTRIES:
            if set(registry._things) != before.get(id(registry), set()):
                registry._fill()
    except BaseException:
        del sys.modules[name]  # a second try must not find half a module
        raise
    IMPORTED.append(str(path))
