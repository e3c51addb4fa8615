"""The paper's tables as declarations, the runs behind our figures, and the ledger that keeps them."""
