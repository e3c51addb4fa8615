"""Split graphs into training, validation and test parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policylearn.data.packed import Array, DataError, PackedGraphs

PARTS = ("train", "valid", "test")


@dataclass(frozen=True)
class Split:
    """Graph indices of the three parts, each ``(n,)`` int64.

    In k-fold protocols without a third part, ``test`` equals ``valid``.
    """

    train: Array
    valid: Array
    test: Array

    def __post_init__(self) -> None:
        for part in PARTS:
            given = np.asarray(getattr(self, part))
            if given.ndim != 1 or (len(given) and not np.issubdtype(given.dtype, np.integer)):
                raise DataError(
                    f"'{part}' must be a flat list of graph indices, got shape {given.shape} of {given.dtype};"
                    " pass integers (np.flatnonzero turns a mask into indices)"
                )
            object.__setattr__(self, part, given.astype(np.int64))

    def validate(self, graphs: int, source: str = "the split") -> Split:
        """Return self, or raise a `DataError`: empty training part, index out of range, repeated or shared graph."""
        if not len(self.train):
            raise DataError(f"{source}: 'train' is empty; split another way, such as at random")
        for part in PARTS:
            indices = getattr(self, part)
            outside = indices[(indices < 0) | (indices >= graphs)]
            if len(outside):
                raise DataError(
                    f"{source}: '{part}' holds graph {outside[0]} of {graphs}; the split belongs to another dataset"
                )
            values, times = np.unique(indices, return_counts=True)
            if (times > 1).any():
                raise DataError(f"{source}: '{part}' holds graph {values[times > 1][0]} twice; list each graph once")
        # A held-out fold may serve as validation and test at once; any other overlap leaks labels.
        pairs = [("train", "valid"), ("train", "test")]
        if not np.array_equal(self.valid, self.test):
            pairs.append(("valid", "test"))
        for one, other in pairs:
            shared = np.intersect1d(getattr(self, one), getattr(self, other))
            if len(shared):
                raise DataError(
                    f"{source}: graph {shared[0]} is in '{one}' and '{other}', as {len(shared)} are; give each one part"
                )
        return self


def official_splits(graphs: PackedGraphs, source: str = "the graphs") -> tuple[Split, ...]:
    """The split that the file itself holds: one, or one per fold where its arrays have a row per fold; () without."""
    if "train" not in graphs.extras:
        return ()
    missing = [part for part in PARTS if part not in graphs.extras]
    if missing:
        raise DataError(f"{source}: holds 'train' but lacks {', '.join(missing)}; store all three parts, or none")
    rows = [np.atleast_2d(graphs.extras[part]) for part in PARTS]
    if len({len(part) for part in rows}) > 1:
        raise DataError(
            f"{source}: train, valid and test need a row per fold (got {', '.join(str(len(part)) for part in rows)})"
        )
    folds = enumerate(zip(*rows, strict=True))
    return tuple(Split(*parts).validate(len(graphs), f"{source}, fold {fold}") for fold, parts in folds)


def random_split(n: int, fractions: tuple[float, float, float], generator: np.random.Generator) -> Split:
    """Shuffle ``n`` graphs and cut them; rounding goes to the last part with a fraction above zero."""
    check_fractions(fractions)
    order = generator.permutation(n)
    first = round(fractions[0] * n)
    second = n if fractions[2] == 0 else first + round(fractions[1] * n)
    first = n if fractions[1] == fractions[2] == 0 else first
    parts = (np.sort(part) for part in np.split(order, [first, second]))
    return Split(*parts).validate(n, f"a random split of {n} graphs into {fractions}")


def stratified_folds(labels: Array, k: int = 10, shuffle: bool = True, seed: int = 42) -> tuple[Split, ...]:
    """K folds with the same share of every class ``(G,)``; the held-out fold is both validation and test."""
    from sklearn.model_selection import StratifiedKFold

    smallest = int(np.unique(labels, return_counts=True)[1].min()) if len(labels) else 0
    if not 2 <= k <= smallest:
        raise DataError(f"{k} folds: must be 2 or more, and at most {smallest}, the graphs of the rarest class")
    folds = StratifiedKFold(k, shuffle=shuffle, random_state=seed if shuffle else None)
    cuts = folds.split(np.zeros(len(labels)), labels)
    return tuple(Split(train, held, held).validate(len(labels)) for train, held in cuts)


def rotating_folds(n: int, k: int, *, labels: Array | None = None, seed: int = 0) -> tuple[Split, ...]:
    """K folds of any data: each is the test part once, the one after it validates, and the rest trains.

    ``labels`` ``(n,)`` of one yes/no or class target keep their shares in every fold; NaN is a label of its own.
    """
    from sklearn.model_selection import KFold, StratifiedKFold

    if not 3 <= k <= n:
        raise DataError(f"'folds' must be 3 to {n}, the number of rows (got {k}); train, valid and test need one each")
    known = None if labels is None else np.nan_to_num(np.asarray(labels, dtype=np.float64), nan=-1).astype(np.int64)
    common = known is not None and np.unique(known, return_counts=True)[1].min() >= k
    cutter = (StratifiedKFold if common else KFold)(k, shuffle=True, random_state=seed)
    held = [fold for _, fold in cutter.split(np.zeros(n), known)]
    splits = []
    for number, test in enumerate(held):
        valid = held[(number + 1) % k]
        train = np.setdiff1d(np.arange(n), np.concatenate([valid, test]))
        splits.append(Split(train, valid, test).validate(n, f"fold {number} of {k}"))
    return tuple(splits)


def check_fractions(fractions: tuple[float, float, float]) -> None:
    """Raise unless three fractions are not negative, sum to 1 and leave something to learn from."""
    if len(fractions) != 3 or min(fractions) < 0 or fractions[0] <= 0 or abs(sum(fractions) - 1) > 1e-9:
        raise DataError(f"fractions {fractions} must be three numbers >= 0 that sum to 1, such as (0.8, 0.1, 0.1)")
