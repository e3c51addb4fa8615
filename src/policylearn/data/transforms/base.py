"""What a transform is, the registry, and how to write one.

A transform computes structures from graphs: encodings, counts, rings, distances. A new one is one file in this folder
(found by itself), or a file of your own such as ``docs/examples/my_transform.py``.

`compute` is the slow part: it is cut into chunks of graphs for several processes, and its result is kept on disk under
a hash of the graphs, the settings and ``version``. Raise ``version`` when the same settings give other numbers. For a
class outside the package the hash also covers the file that defines it; what that file imports is not looked at.

What must be learned from the training graphs (a vocabulary, a mean) are fields named in ``learned``, with a default
that means "not yet": `learn` returns a copy with them filled in, `finish` uses them. Both get what `compute` gave, so
nothing slow is done twice. `to_json` keeps the learned values: a run stores them and a prediction reuses them.

`policylearn.data.transforms.dense` gives padded adjacency matrices of many graphs at once, `cycles` lists rings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar, Self, SupportsIndex, TypeVar, get_type_hints

import numpy as np

from policylearn.data.packed import DataError, PackedGraphs
from policylearn.data.structures import REAL_COLUMNS, Structure, check_structures
from policylearn.registry import Registry, file_of, import_file, source_hash
from policylearn.settings.schema import read_value

Structures = Mapping[str, Structure]


class Transform:
    """Structures computed from graphs; a frozen dataclass with settings that JSON can hold.

    Args:
        name: in the registry, in files and on the command line.
        version: of the code of `compute`; another number means that stored results are recomputed.
        learned: the fields that `learn` fills in.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    learned: ClassVar[tuple[str, ...]] = ()
    source_hash: ClassVar[str | None]
    """See `policylearn.registry`; taken as the class is made, since its file may change before results are stored."""

    def __init_subclass__(cls) -> None:
        cls.source_hash = source_hash(cls)

    def compute(self, graphs: PackedGraphs) -> Structures:
        """Structures of the graphs, each graph by itself, whatever was learned."""
        raise NotImplementedError(f"{type(self).__name__} lacks compute(graphs)")

    def compute_needed(self, graphs: PackedGraphs) -> Structures:
        """What `finish` reads of what `compute` gives; for graphs that are seen once, after `learn`."""
        return self.compute(graphs)

    def learn(self, computed: Structures) -> Self:
        """Itself, with ``learned`` filled in from what `compute` gave for the training graphs."""
        return self

    def finish(self, computed: Structures) -> Structures:
        """What the graphs get, from what `compute` gave."""
        return computed

    def fit(self, graphs: PackedGraphs) -> Self:
        """Itself, with what it learns from the training graphs."""
        return self.learn(self.compute(only_graphs(graphs))) if self.learned else self

    def __call__(self, graphs: PackedGraphs) -> PackedGraphs:
        """The graphs with the structures added."""
        return add_structures(graphs, self.finish(self.compute(only_graphs(graphs))), self.name)

    def settings(self) -> dict[str, Any]:
        """Every field but what was learned."""
        return {name: value for name, value in self.to_json().items() if name not in ("name", *self.learned)}

    def code_version(self) -> str:
        """What a stored result depends on beside graphs and settings."""
        return str(self.version)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """A worker process knows a class of a user's file once it has imported the file."""
        file = file_of(type(self))
        return super().__reduce_ex__(protocol) if file is None else (_of_file, (file, self.name, vars(self)))

    def to_json(self) -> dict[str, Any]:
        """Name, settings and what was learned, as JSON can hold them."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {"name": self.name} | {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}

    @staticmethod
    def from_json(stored: str | Mapping[str, Any]) -> Transform:
        """The transform that `to_json` described; a name alone means its default settings."""
        given = {"name": stored} if isinstance(stored, str) else dict(stored)
        name = str(given.pop("name", None))
        kind = TRANSFORMS[name]
        known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
        unknown = [key for key in given if key not in known]
        if unknown:
            settings = ", ".join(key for key in known if key not in kind.learned) or "none"
            raise DataError(f"transform '{name}' has no setting '{unknown[0]}'; its settings are: {settings}")
        return kind(**{key: _typed(kind, key, value) for key, value in given.items()})


def _typed(kind: type[Transform], key: str, value: Any) -> Any:
    """A setting as its field has it: a tuple for JSON's list, and what a word of the command line says."""
    declared = get_type_hints(kind)[key]
    if isinstance(value, str) and declared is not str:
        return read_value(declared, value, f"data.transforms.{kind.name}.{key}")
    return tuple(value) if isinstance(value, list) else value


def _of_file(file: str, name: str, values: Mapping[str, Any]) -> Transform:
    """A transform that a user's file defines."""
    import_file(file)
    return TRANSFORMS[name](**values)


TRANSFORMS = Registry[type[Transform]]("transform", "policylearn.data.transforms", DataError)
TransformType = TypeVar("TransformType", bound=type[Transform])


def register(kind: TransformType) -> TransformType:
    """Make a transform known by its name; for use as a decorator."""
    TRANSFORMS.register(kind.name, kind)
    return kind


def only_graphs(graphs: PackedGraphs) -> PackedGraphs:
    """The graphs without targets and structures, so that neither can enter a transform."""
    smiles = {name: graphs.extras[name] for name in ("smiles",) if name in graphs.extras}
    return replace(graphs, y=np.zeros(len(graphs)), extras=smiles, structures={})


def add_structures(graphs: PackedGraphs, new: Structures, source: str) -> PackedGraphs:
    """The graphs with more structures; those called ``x_real`` are put side by side, other names must be new."""
    merged = dict(graphs.structures)
    for name, structure in new.items():
        if name == REAL_COLUMNS and name in merged:
            columns = np.concatenate([merged[name].values, structure.values], axis=1)
            merged[name] = Structure(columns, "node")
        elif name in merged:
            raise DataError(f"transform '{source}': there is a '{name}' already; name another by the setting 'into'")
        else:
            merged[name] = structure
    check_structures(merged, graphs.node_ptr, graphs.edge_ptr, f"transform '{source}'")
    return replace(graphs, structures=merged)


def columns_of_nodes(values: Sequence[Any] | np.ndarray[Any, Any], into: str) -> dict[str, Structure]:
    """Numbers of nodes as the structure ``into``, float32 where the network reads it as ``x_real``."""
    table = np.asarray(values)
    whole = np.issubdtype(table.dtype, np.integer) and into != REAL_COLUMNS
    return {into: Structure(table if whole else table.astype(np.float32), "node")}


def smiles_needed(graphs: PackedGraphs, by: str) -> list[str]:
    """The SMILES of the graphs, or a `DataError` where they have none."""
    if graphs.smiles is None:
        raise DataError(f"{by}: the graphs have no SMILES; leave the transform out, or use data with SMILES")
    return graphs.smiles
