"""Which copies of a graph are looked at: the picks, and the marked copies they stand for."""

from policylearn.bags.bag import Bag
from policylearn.bags.selection import NO_PICK, Selection

__all__ = ["NO_PICK", "Bag", "Selection"]
