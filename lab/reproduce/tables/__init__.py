"""Every result table of the paper, in its order."""

from lab.reproduce.declaration import Table
from lab.reproduce.tables.alchemy import ALCHEMY
from lab.reproduce.tables.counting import COUNTING
from lab.reproduce.tables.expressivity import EXPRESSIVITY
from lab.reproduce.tables.ogb import OGB, OGB_FULL
from lab.reproduce.tables.reddit import REDDIT, REDDIT_FULL
from lab.reproduce.tables.timing import REDDIT_TIMING, ZINC_TIMING, ZINC_TIMING_CIN
from lab.reproduce.tables.zinc import ZINC, ZINC_FULL

TABLES: tuple[Table, ...] = (
    ZINC,
    REDDIT,
    OGB,
    OGB_FULL,
    ZINC_FULL,
    REDDIT_FULL,
    REDDIT_TIMING,
    ZINC_TIMING,
    ZINC_TIMING_CIN,
    ALCHEMY,
    EXPRESSIVITY,
    COUNTING,
)

__all__ = ["TABLES"]
