"""OGB's molecules: the main text's table and the appendix's longer one."""

from __future__ import annotations

from lab.reproduce import methods as m
from lab.reproduce.declaration import Column, Protocol, Table, row

SEEDS = Protocol("seed", 5)


def ranking(name: str) -> Column:
    """A column of areas under the ROC curve, in per cent."""
    return Column(f"{name} (ROC-AUC)", name, f"ogbg-{name}", "rocauc", True, SEEDS, factor=100.0)


COLUMNS = (
    Column("molesol (RMSE)", "molesol", "ogbg-molesol", "rmse", False, SEEDS),
    ranking("moltox21"),
    ranking("molbace"),
    ranking("molhiv"),
)

MESSAGE_PASSING = (
    row(m.GCN, None, "1.114±0.036", "75.29±0.69", "79.15±1.44", "76.06±0.97"),
    row(m.GIN, None, "1.173±0.057", "74.91±0.51", "72.97±4.00", "75.58±1.40"),
)
FULL = row(m.FULL, None, "0.847±0.015", "76.25±1.12", "78.41±1.94", "76.54±1.37")
PICKS = (
    row(m.RANDOM, 2, "0.951±0.039", "76.65±0.89", "75.36±4.28", "77.55±1.24"),
    row(m.LEARNED, 2, "0.877±0.029", "77.47±0.82", "78.40±2.85", "79.13±0.60"),
    row(m.RANDOM, 5, "0.900±0.032", "76.62±0.63", "78.14±2.36", "77.30±2.56"),
    row(m.LEARNED, 5, "0.883±0.032", "77.36±0.60", "78.39±2.28", "78.49±1.01"),
)

OGB = Table(
    "ogb",
    "OGB molecules",
    "tab:ogb",
    COLUMNS,
    (
        *MESSAGE_PASSING,
        row(m.OSAN, 10, "0.984±0.086", "N/A", "72.30±6.60", "N/A"),
        FULL,
        *PICKS,
    ),
)

OGB_FULL = Table(
    "ogb-full",
    "OGB molecules, all methods",
    "tab:ogb-full",
    COLUMNS,
    (
        *MESSAGE_PASSING,
        row(m.RECONSTRUCTION, None, "1.026±0.033", "75.15±1.40", "-", "76.32±1.40"),
        row(m.NGNN, None, "-", "-", "-", "78.34±1.86"),
        row(m.DS_GNN, None, "-", "76.39±1.18", "-", "77.40±2.19"),
        row(m.DSS_GNN, None, "-", "77.95±0.40", "-", "76.78±1.66"),
        row(m.GNN_AK_PLUS, None, "-", "-", "-", "79.61±1.19"),
        row(m.SUN, None, "-", "-", "-", "80.03±0.55"),
        row(m.GNN_SSWL_PLUS, None, "-", "-", "-", "79.58±0.35"),
        FULL,
        row(m.RANDOM_OSAN, 10, "1.128±0.055", "-", "71.90±3.90", "-"),
        row(m.OSAN, 10, "0.984±0.086", "-", "72.30±6.60", "-"),
        *PICKS,
    ),
)
