"""Every result table of the paper, in its order."""

from policylearn.studies.experiments.declaration import Table
from policylearn.studies.experiments.tables.alchemy import ALCHEMY
from policylearn.studies.experiments.tables.counting import COUNTING
from policylearn.studies.experiments.tables.expressivity import EXPRESSIVITY
from policylearn.studies.experiments.tables.ogb import OGB, OGB_FULL
from policylearn.studies.experiments.tables.reddit import REDDIT, REDDIT_FULL
from policylearn.studies.experiments.tables.timing import REDDIT_TIMING, ZINC_TIMING, ZINC_TIMING_CIN
from policylearn.studies.experiments.tables.zinc import ZINC, ZINC_FULL

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
