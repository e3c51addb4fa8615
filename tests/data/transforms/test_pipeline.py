"""Transforms over whole datasets: chunks, processes, and a cache that is never trusted blindly."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import pytest

from policylearn.data import DataError, PackedGraphs, Structure, make_batch, take_graphs
from policylearn.data.transforms import TRANSFORMS, Transform, apply, fit_apply, register
from policylearn.data.transforms.base import Structures
from policylearn.data.transforms.cycles import list_cycles
from policylearn.registry import import_file
from tests.data.transforms.samples import corner_graphs

_, PACKED = corner_graphs()
CALLS: list[int] = []


@register
@dataclass(frozen=True)
class RingCodes(Transform):
    """Rings of their own number, ids of nodes, and codes that are learned: all that a transform can do."""

    name: ClassVar[str] = "ring_codes_of_a_test"
    learned: ClassVar[tuple[str, ...]] = ("sizes",)
    longest: int = 5
    sizes: tuple[int, ...] = ()

    def compute(self, graphs: PackedGraphs) -> Structures:
        CALLS.append(len(graphs))
        assert not graphs.y.any(), "targets must not enter"
        nodes, ptr, graph_ptr = list_cycles(graphs, self.longest, chordless=True)
        return {
            "ring": Structure(np.diff(ptr), graph_ptr),
            "ring_node": Structure(nodes, ptr[graph_ptr], "node"),
            "ring_id": Structure(
                np.repeat(np.arange(len(ptr) - 1) - np.repeat(graph_ptr[:-1], np.diff(graph_ptr)), np.diff(ptr)),
                ptr[graph_ptr],
                "ring",
            ),
        }

    def learn(self, computed: Structures) -> Self:
        return replace(self, sizes=tuple(np.unique(computed["ring"].values).tolist()))

    def finish(self, computed: Structures) -> Structures:
        codes = np.searchsorted(self.sizes, computed["ring"].values)
        return {**computed, "ring": replace(computed["ring"], values=codes)}


def assert_equal(a: PackedGraphs, b: PackedGraphs) -> None:
    assert a.structures.keys() == b.structures.keys()
    for name, structure in a.structures.items():
        np.testing.assert_array_equal(structure.values, b.structures[name].values)
        np.testing.assert_array_equal(structure.ptr, b.structures[name].ptr)


def test_chunks_and_processes_give_what_one_call_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    walks = Transform.from_json({"name": "walk_encoding", "steps": 5})
    counts = Transform.from_json("cycle_counts")
    whole = counts(walks(PACKED))
    seen: list[tuple[str, int, int]] = []
    assert_equal(apply([walks, counts], PACKED, progress=lambda *step: seen.append(step)), whole)
    assert seen[-1] == ("cycle_counts", len(PACKED), len(PACKED))
    assert_equal(apply([walks, counts], PACKED, workers=2), whole)
    monkeypatch.setattr("policylearn.data.transforms.pipeline.CHUNK", 3)
    seen.clear()
    assert_equal(apply([walks, counts], PACKED, progress=lambda *step: seen.append(step)), whole)
    assert [done for _, done, _ in seen[:3]] == [3, 6, 9]


def test_rows_of_their_own_and_ids_survive_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    rings = RingCodes().fit(PACKED)
    whole = rings(PACKED).validate()
    monkeypatch.setattr("policylearn.data.transforms.pipeline.CHUNK", 4)
    chunked = apply([rings], PACKED).validate()
    assert_equal(chunked, whole)
    batch = make_batch(chunked, [7, 4])
    assert batch.ring_ptr.tolist() == [0, 1, 1]  # a square and a path; a ring of six is too long
    assert batch.batch[batch.ring_node].tolist() == [0] * 4


def test_fit_apply_learns_from_the_training_graphs_alone_and_computes_once() -> None:
    train = np.array([4, 5, 6, 7])
    CALLS.clear()
    (fitted,), graphs = fit_apply([RingCodes()], PACKED, train)
    assert sum(CALLS) == len(PACKED)
    assert fitted == RingCodes().fit(take_graphs(PACKED, train))
    assert_equal(graphs, apply([Transform.from_json(fitted.to_json())], PACKED))


def broken_copies(path: Path) -> list[bytes]:
    whole = path.read_bytes()
    return [b"", whole[:-7], whole[: len(whole) // 2], b"not an archive" * 100]


def test_a_broken_cache_is_rebuilt(tmp_path: Path) -> None:
    rings = RingCodes().fit(PACKED)
    expected = apply([rings], PACKED)
    CALLS.clear()
    assert_equal(apply([rings], PACKED, cache=tmp_path), expected)
    assert CALLS
    (path,) = tmp_path.iterdir()
    CALLS.clear()
    assert_equal(apply([rings], PACKED, cache=tmp_path), expected)
    assert not CALLS, "the second time nothing is computed"
    for content in broken_copies(path):
        path.write_bytes(content)
        CALLS.clear()
        assert_equal(apply([rings], PACKED, cache=tmp_path), expected)
        assert CALLS, "a broken file is not trusted"
        CALLS.clear()
        assert_equal(apply([rings], PACKED, cache=tmp_path), expected)
        assert not CALLS, "and is replaced"


def test_a_flipped_byte_anywhere_does_no_harm(tmp_path: Path) -> None:
    rings = RingCodes().fit(PACKED)
    expected = apply([rings], PACKED, cache=tmp_path)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for place in np.random.default_rng(0).integers(0, len(whole), 40):
        flipped = bytearray(whole)
        flipped[place] ^= 0xFF
        path.write_bytes(bytes(flipped))
        assert_equal(apply([rings], PACKED, cache=tmp_path), expected)


def test_a_changed_number_in_a_sound_file_is_found(tmp_path: Path) -> None:
    rings = RingCodes().fit(PACKED)
    apply([rings], PACKED, cache=tmp_path)
    (path,) = tmp_path.iterdir()
    with np.load(path) as stored:
        arrays = dict(stored)
    arrays["structure/ring/values"] = arrays["structure/ring/values"] + 1
    np.savez_compressed(path, **arrays)
    CALLS.clear()
    apply([rings], PACKED, cache=tmp_path)
    assert CALLS


def test_other_graphs_settings_or_code_have_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rings = RingCodes().fit(PACKED)

    def files_after(transform: Transform, graphs: PackedGraphs) -> int:
        apply([transform], graphs, cache=tmp_path)
        return len(list(tmp_path.iterdir()))

    assert files_after(rings, PACKED) == 1
    assert files_after(replace(rings, sizes=(9,)), PACKED) == 1, "what was learned does not change what is computed"
    assert files_after(rings, replace(PACKED, y=np.ones(len(PACKED)))) == 1, "nor do targets"
    assert files_after(replace(rings, longest=4), PACKED) == 2
    assert files_after(rings, take_graphs(PACKED, [4, 5])) == 3
    monkeypatch.setattr(RingCodes, "version", 2)
    assert files_after(rings, PACKED) == 4


OWN = """
from dataclasses import dataclass
import numpy as np
from policylearn.data import Structure
from policylearn.data.transforms import Transform, register

@register
@dataclass(frozen=True)
class Own(Transform):
    name = "own_of_a_test"

    def compute(self, graphs):
        return {"own": Structure(np.full((len(graphs.x), 1), FACTOR), "node")}
"""


def test_an_edit_of_a_users_file_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("policylearn.registry.IMPORTED", [])
    file, cache = tmp_path / "own.py", tmp_path / "cache"
    for factor in (2, 30):
        file.write_text(OWN.replace("FACTOR", str(factor)))
        with monkeypatch.context() as process:  # a new process imports the file again
            process.setattr("sys.modules", dict(sys.modules))
            process.setattr(TRANSFORMS, "_things", dict(TRANSFORMS._things))
            import_file(file)
            own = TRANSFORMS["own_of_a_test"]()
            file.write_text(OWN.replace("FACTOR", "400"))  # edited after the import: what is stored is of the old code
            for _ in range(2):
                assert (apply([own], PACKED, cache=cache).structures["own"].values == factor).all()
    assert len(list(cache.iterdir())) == 2


def test_a_class_without_a_file_is_not_kept(tmp_path: Path) -> None:
    typed = type("Typed", (RingCodes,), {"__module__": "module_of_no_file"})  # as in a notebook
    apply([typed(sizes=(3,))], PACKED, cache=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_cache_that_cannot_be_written_is_met_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    CALLS.clear()
    with pytest.raises(DataError):
        apply([RingCodes()], PACKED, cache=tmp_path / "file" / "cache")
    assert not CALLS


def test_two_transforms_cannot_share_a_name() -> None:
    class Other(Transform):
        name = "walk_encoding"

    assert TRANSFORMS["walk_encoding"].__name__ == "WalkEncoding"
    with pytest.raises(DataError):
        register(Other)
    assert TRANSFORMS["walk_encoding"].__name__ == "WalkEncoding"
