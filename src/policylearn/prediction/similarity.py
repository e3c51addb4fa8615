"""How alike molecules are, by their count fingerprints."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from policylearn.data.packed import Array

LEVELS = 256
"""Counts are bytes."""


def unary(counts: Array) -> csr_matrix:
    """Counts as zeros and ones: a count of three has ones at its first three levels.

    The dot product of two rows is then the sum over the smaller of each pair of counts.

    Shapes:
        counts ``(n, bits)`` uint8, the result ``(n, bits * 256)``, of which little is stored.
    """
    row, bit = np.nonzero(counts)
    times = counts[row, bit].astype(np.int64)
    starts = np.repeat(np.cumsum(times) - times, times)
    level = np.arange(int(times.sum())) - starts
    columns = np.repeat(bit.astype(np.int64) * LEVELS, times) + level
    shape = (len(counts), counts.shape[1] * LEVELS)
    return csr_matrix((np.ones(len(columns), np.float32), (np.repeat(row, times), columns)), shape=shape)


def tanimoto(a: csr_matrix, b: csr_matrix) -> Array:
    r"""Tanimoto similarity of counts, :math:`\sum_i \min(a_i, b_i) / \sum_i \max(a_i, b_i)`, ``(n, m)``.

    Args:
        a: n rows, from `unary`.
        b: m rows.
    """
    smaller = (a @ b.T).toarray().astype(np.float64)
    larger = np.asarray(a.sum(axis=1), np.float64) + np.asarray(b.sum(axis=1), np.float64).T - smaller
    similarity: Array = smaller / np.maximum(larger, 1e-9)
    return similarity
