"""Which copies of a graph are looked at: the batch, the picks, and the copies that they stand for."""

from policylearn.bags.adjacency import Adjacency, pointers
from policylearn.bags.attached import attached, attached_ego_nets, every_root
from policylearn.bags.bag import Bag
from policylearn.bags.graphs import Graphs, Members
from policylearn.bags.row_limit import MAX_ROWS, RowLimitError, check_rows
from policylearn.bags.rules import (
    RULES,
    BagRule,
    DeleteNodes,
    EgoNets,
    MarkNodes,
    delete_nodes,
    induced_bag,
    mark_nodes,
    pieces,
)
from policylearn.bags.selection import NO_PICK, Selection
from policylearn.bags.whole_copies import BagKind, WholeCopies, rows_of_copies, whole_copies

__all__ = [
    "MAX_ROWS",
    "NO_PICK",
    "RULES",
    "Adjacency",
    "Bag",
    "BagKind",
    "BagRule",
    "DeleteNodes",
    "EgoNets",
    "Graphs",
    "MarkNodes",
    "Members",
    "RowLimitError",
    "Selection",
    "WholeCopies",
    "attached",
    "attached_ego_nets",
    "check_rows",
    "delete_nodes",
    "every_root",
    "induced_bag",
    "mark_nodes",
    "pieces",
    "pointers",
    "rows_of_copies",
    "whole_copies",
]
