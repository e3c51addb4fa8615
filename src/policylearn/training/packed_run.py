"""A run in one file: a zip of weights and text with the digest of each; nothing in it is code or compressed."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from policylearn.settings.provenance import versions
from policylearn.settings.run_files import RunError

PACK_FORMAT = 1
"""Of the file; a larger number is of a later version, which this one does not read."""
MANIFEST = "manifest.json"
ALLOWED = re.compile(r"(member-\d+/)?[a-z_]+\.(json|yaml|safetensors|md)")
"""Names of files: in the run's folder or in that of an ensemble's member, and nowhere else."""
LARGEST_MANIFEST = 1 << 24


def write_pack(path: Path, files: Mapping[str, bytes]) -> None:
    """Write files, content by name, and a manifest with their sizes and digests; the same files give the same bytes."""
    listed = {name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in files.items()}
    about = {"format": PACK_FORMAT, "policylearn": versions()["policylearn"], "files": listed}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in {MANIFEST: json.dumps(about, indent=2).encode(), **files}.items():
            archive.writestr(zipfile.ZipInfo(name), data)


@contextmanager
def run_folder(path: str | Path) -> Iterator[Path]:
    """The folder of a run: the path itself, or where a packed file is unpacked for the length of the block."""
    path = Path(path)
    if not path.is_file():
        yield path
        return
    with tempfile.TemporaryDirectory(prefix=f"{path.stem}-") as name:
        try:
            with zipfile.ZipFile(path) as archive:
                unpack(path, archive, Path(name))
        except (zipfile.BadZipFile, EOFError) as error:
            raise RunError(f"{path}: is no whole packed model ({error}); copy it or pack it again") from None
        yield Path(name)


def unpack(path: Path, archive: zipfile.ZipFile, folder: Path) -> None:
    """Check a pack from its list of files to its last byte, and write its files into an empty folder.

    Entries must be stored as they are, lie apart and be listed in the manifest, so a pack takes no more room than it
    has bytes and writes nowhere else.
    """
    entries = archive.infolist()
    names = [one.filename for one in entries]
    if names.count(MANIFEST) != 1 or archive.getinfo(MANIFEST).file_size > LARGEST_MANIFEST:
        raise RunError(f"{path}: holds no {MANIFEST}; give a file that 'policylearn pack' wrote")
    for one in entries:
        if one.compress_type != zipfile.ZIP_STORED or one.flag_bits & 1 or one.file_size != one.compress_size:
            raise RunError(f"{path}: '{one.filename}' is compressed or encrypted; give a file of 'policylearn pack'")
    listed = read_manifest(path, archive.read(MANIFEST))
    source = "get it again from its source"
    if len(set(names)) != len(names) or {*names} - {MANIFEST} != listed.keys():
        odd = sorted({*names} ^ {MANIFEST, *listed}) or sorted(name for name in names if names.count(name) > 1)
        raise RunError(f"{path}: its files are not those of its {MANIFEST} ('{odd[0]}'); {source}")
    if sum(one.file_size for one in entries) > path.stat().st_size:
        raise RunError(f"{path}: its files are larger together than the file itself; {source}")
    for name, told in listed.items():
        if not ALLOWED.fullmatch(name):
            raise RunError(f"{path}: holds '{name}', which is no name of a run's file; {source}")
        data = archive.read(name)
        if hashlib.sha256(data).hexdigest() != told.get("sha256"):
            raise RunError(f"{path}: '{name}' is damaged, its digest differs; copy the file or pack the run again")
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)


def read_manifest(path: Path, data: bytes) -> dict[str, dict[str, Any]]:
    """The files that a manifest lists, or a `RunError` where a later version wrote it or it cannot be read."""
    try:
        content = json.loads(data)
        written, by = int(content["format"]), content["policylearn"]
        listed = {str(name): dict(told) for name, told in content["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{path}: its {MANIFEST} cannot be read ({error}); get it again from its source") from None
    if written > PACK_FORMAT:
        raise RunError(f"{path}: format {written} of policylearn {by}; this one reads up to {PACK_FORMAT}: upgrade")
    return listed
