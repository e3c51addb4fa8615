"""Alchemy-12k."""

from __future__ import annotations

from lab.reproduce import methods as m
from lab.reproduce.declaration import Column, Protocol, Table, row

ALCHEMY = Table(
    "alchemy",
    "Alchemy-12k",
    "tab:alchemy-full",
    (
        Column(
            "Alchemy (MAE)", "alchemy", "alchemy", "mae", False, Protocol("seed", 5),
            needs="alchemy_full of TUDataset, which is fetched from its official home at first use",
        ),
    ),
    (
        row(m.GIN, None, "11.12±0.690"),
        row(m.GIN_ENCODINGS, None, "7.197±0.094"),
        row(m.FULL, None, "6.65±0.143"),
        row(m.RANDOM_OSAN, 10, "12.11±0.210"),
        row(m.OSAN, 10, "8.87±0.120"),
        row(m.RANDOM, 2, "6.95±0.148"),
        row(m.LEARNED, 2, "6.89±0.151"),
        row(m.RANDOM, 5, "6.78±0.174"),
        row(m.LEARNED, 5, "6.72±0.107"),
    ),
)  # fmt: skip
