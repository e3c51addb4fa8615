"""Every result table of the paper, in its order."""

from policylearn.experiments.declaration import Table
from policylearn.experiments.tables.alchemy import ALCHEMY
from policylearn.experiments.tables.counting import COUNTING
from policylearn.experiments.tables.expressivity import EXPRESSIVITY
from policylearn.experiments.tables.ogb import OGB, OGB_FULL
from policylearn.experiments.tables.reddit import REDDIT, REDDIT_FULL
from policylearn.experiments.tables.timing import REDDIT_TIMING, ZINC_TIMING, ZINC_TIMING_CIN
from policylearn.experiments.tables.zinc import ZINC, ZINC_FULL

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
