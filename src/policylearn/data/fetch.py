"""Datasets that are not in the data root: fetched from their official home, converted once, checked, kept."""

from __future__ import annotations

import hashlib
import pickle
import shutil
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from policylearn.data.datasets import Entry
from policylearn.data.packed import DataError, PackedGraphs
from policylearn.data.root import VARIABLE

Download = Callable[[str, Path], None]
TIMEOUT_SECONDS = 60


def download_file(url: str, path: Path) -> None:
    """Write what ``url`` holds to ``path``."""
    request = urllib.request.Request(url, headers={"User-Agent": "policylearn"})
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as reply, path.open("wb") as file:
        shutil.copyfileobj(reply, file)


def fetch(entry: Entry, root: Path, download: Download = download_file) -> Path:
    """Put the packed file of a dataset into the data root and return its path.

    Archives that lie in ``root/official`` are used as they are; the others are downloaded. A failure at any step
    leaves the data root as it was.

    Args:
        entry: which dataset.
        root: the data root.
        download: gets an address and a path to write to; the one step that needs a network.
    """
    target = root / entry.file
    unpack = entry.home.unpack
    if unpack is None:
        raise DataError(
            f"dataset '{entry.name}' is not in the data root and cannot be fetched by itself: convert the data of"
            f" {entry.home.credit} ({entry.home.archive}) to the packed form with policylearn.data.pack_pyg or"
            f" pack_networkx, and put it there as {target} (or point {VARIABLE} at the folder that holds it)"
        )
    with tempfile.TemporaryDirectory(prefix="policylearn-") as scratch:
        folder = collect(entry, root, Path(scratch), download)
        try:
            graphs = unpack(folder)
        except (OSError, LookupError, AttributeError, TypeError, pickle.UnpicklingError) as error:
            raise DataError(
                f"dataset '{entry.name}': {entry.home.archive} is not laid out as expected"
                f" ({type(error).__name__}: {error}); it is incomplete or another version: fetch it again"
            ) from error
    check_size(entry, graphs)
    extras = dict(graphs.extras) | {"origin": np.array(entry.home.archive)}
    try:
        replace(graphs, extras=extras).validate(entry.home.archive).save(target)
    except OSError as error:
        raise DataError(
            f"dataset '{entry.name}' was fetched but cannot be written to {target} ({error});"
            f" point {VARIABLE} at a folder that you may write to"
        ) from error
    return target


def collect(entry: Entry, root: Path, scratch: Path, download: Download) -> Path:
    """Bring the files of a home together in one folder: the archive's content and the index files."""
    home, placed = entry.home, root / "official"
    for name in home.by_hand:  # they lie at no address
        if not (placed / entry.name / name).exists():
            raise DataError(
                f"dataset '{entry.name}' needs the file {placed / entry.name / name}: {name} belongs to"
                f" {home.by_hand_from}; put it there"
            )
    by_hand = placed / home.archive_name
    archive = by_hand if by_hand.exists() else scratch / home.archive_name
    if not archive.exists():
        _download(entry, home.archive, archive, by_hand, root, download)
    if home.sha256 is not None:
        found = hashlib.sha256(archive.read_bytes()).hexdigest()
        if found != home.sha256:
            raise DataError(
                f"dataset '{entry.name}': {archive.name} from {home.archive} has the sum {found} where {home.sha256} is"
                " expected; it is damaged or another version: fetch it again"
            )
    folder = scratch / "content"
    try:
        with zipfile.ZipFile(archive) as content:
            content.extractall(folder)
    except (zipfile.BadZipFile, EOFError) as error:
        raise DataError(
            f"{archive.name} from {home.archive} is not a readable zip archive ({error}); fetch it again, or save it"
            f" by hand as {by_hand}"
        ) from error
    folder = folder / home.folder
    if not folder.is_dir():
        raise DataError(f"{home.archive}: the archive holds no folder '{home.folder}'; it is not the official one")
    for address in home.indices:
        name = address.rsplit("/", 1)[1]
        by_hand = placed / entry.name / name
        if by_hand.exists():
            shutil.copy(by_hand, folder / name)
        else:
            _download(entry, address, folder / name, by_hand, root, download)
    for name in home.by_hand:
        shutil.copy(placed / entry.name / name, folder / name)
    return folder


def check_size(entry: Entry, graphs: PackedGraphs) -> None:
    """Raise unless graphs, nodes and edges are as many as the catalog says."""
    found = {"graphs": len(graphs), "nodes": len(graphs.x), "edges": graphs.edge_index.shape[1]}
    expected = {"graphs": entry.graphs, "nodes": entry.nodes, "edges": entry.edges}
    for what, number in expected.items():
        if number is not None and found[what] != number:
            raise DataError(
                f"dataset '{entry.name}' from {entry.home.archive} has {found[what]} {what} where {number} are"
                " expected; the archive is damaged or another version, nothing was written: fetch it again"
            )


def _download(entry: Entry, address: str, path: Path, by_hand: Path, root: Path, download: Download) -> None:
    """Download one file, or say where to put it by hand."""
    try:
        download(address, path)
    except OSError as error:  # URLError, refused and lost connections and timeouts are all OSErrors.
        raise DataError(
            f"dataset '{entry.name}' is not in the data root and {address} cannot be reached ({error});"
            f" with a network, save that file as {by_hand}, or put the packed file there as {root / entry.file}"
        ) from error
