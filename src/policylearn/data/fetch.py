"""Datasets that are not in the data root: fetched from their official home, converted once, checked, kept."""

from __future__ import annotations

import pickle
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from policylearn.data.datasets import Entry
from policylearn.data.packed import DataError, PackedGraphs
from policylearn.data.root import VARIABLE

Download = Callable[[str, Path], None]
"""Writes what an address holds to a file."""


def fetch(entry: Entry, root: Path, download: Download | None = None) -> Path:
    """Put the packed file of a dataset into the data root and return its path.

    Files that lie in ``root/official`` are used as they are; the others are downloaded. A failure at any step leaves
    the data root as it was. ``download`` takes the place of pooch, the one step that needs a network.
    """
    target = root / entry.file
    home = entry.home
    if home.unpack is None:
        raise DataError(
            f"dataset '{entry.name}' is not in the data root and cannot be fetched by itself: convert the data of"
            f" {home.credit} ({home.archive}) to the packed form with policylearn.data.pack_pyg or pack_networkx, and"
            f" put it there as {target} (or point {VARIABLE} at the folder that holds it)"
        )
    with tempfile.TemporaryDirectory(prefix="policylearn-") as scratch:
        folder = collect(entry, root, Path(scratch), download)
        try:
            graphs = home.unpack(folder)
        except (OSError, LookupError, AttributeError, TypeError, pickle.UnpicklingError) as error:
            raise DataError(
                f"dataset '{entry.name}': {home.archive} is not laid out as expected"
                f" ({type(error).__name__}: {error}); it is incomplete or another version: fetch it again"
            ) from error
    damaged = "the archive is damaged or another version, nothing was written: fetch it again"
    check_size(entry, graphs, f"dataset '{entry.name}' from {home.archive}", damaged)
    extras = dict(graphs.extras) | {"origin": np.array(home.archive)}
    try:
        replace(graphs, extras=extras).validate(home.archive).save(target)
    except OSError as error:
        raise DataError(
            f"dataset '{entry.name}' was fetched but cannot be written to {target} ({error});"
            f" point {VARIABLE} at a folder that you may write to"
        ) from error
    return target


def collect(entry: Entry, root: Path, scratch: Path, download: Download | None) -> Path:
    """Bring the files of a home together in one folder: the archive's content and the index files."""
    home, official = entry.home, root / "official"
    by_hand = [official / entry.name / name for name in home.by_hand]  # they lie at no address
    for path in by_hand:
        if not path.exists():
            raise DataError(f"dataset '{entry.name}' needs the file {path}, from {home.by_hand_from}; put it there")
    archive = retrieve(entry, home.archive, official / home.archive_name, scratch, root, download, home.sha256)
    try:
        with zipfile.ZipFile(archive) as content:
            content.extractall(scratch / "content")
    except (zipfile.BadZipFile, EOFError) as error:
        raise DataError(
            f"{archive.name} from {home.archive} is not a readable zip archive ({error}); fetch it again, or save it"
            f" by hand as {official / home.archive_name}"
        ) from error
    folder = scratch / "content" / home.folder
    if not folder.is_dir():
        raise DataError(f"{home.archive}: the archive holds no folder '{home.folder}'; it is not the official one")
    for address in home.indices:
        place = official / entry.name / address.rsplit("/", 1)[1]
        by_hand.append(retrieve(entry, address, place, scratch, root, download))
    for path in by_hand:
        shutil.copy(path, folder)
    return folder


def retrieve(
    entry: Entry,
    address: str,
    place: Path,
    scratch: Path,
    root: Path,
    download: Download | None,
    sha256: str | None = None,
) -> Path:
    """The file at ``place``, or else downloaded to ``scratch``; its checksum must be ``sha256`` where that is known."""
    import pooch  # takes a while, and is seldom needed

    pooch.get_logger().setLevel("WARNING")
    if place.exists() and sha256 is not None and (found := pooch.file_hash(str(place))) != sha256:
        raise DataError(f"{place}: its SHA-256 is {found}, not {sha256}; it is another version or damaged: remove it")
    downloader = None if download is None else lambda url, path, _: download(url, Path(path))
    try:
        folder = place.parent if place.exists() else scratch
        return Path(pooch.retrieve(address, sha256, place.name, folder, downloader=downloader))
    except OSError as error:  # refused and lost connections and timeouts are all OSErrors
        raise DataError(
            f"dataset '{entry.name}' is not in the data root and {address} cannot be reached ({error});"
            f" with a network, save that file as {place}, or put the packed file there as {root / entry.file}"
        ) from error
    except ValueError as error:
        raise DataError(f"dataset '{entry.name}', {address}: {error}; it is damaged or another version") from error


def check_size(entry: Entry, graphs: PackedGraphs, source: str, way_out: str) -> None:
    """Raise unless graphs, nodes and edges are as many as the catalog says."""
    found = {"graphs": len(graphs), "nodes": len(graphs.x), "edges": graphs.edge_index.shape[1]}
    for what, number in found.items():
        expected = getattr(entry, what)
        if expected is not None and number != expected:
            raise DataError(f"{source} has {number} {what} where {expected} are expected; {way_out}")
