"""Transactions: the work held back until the decision, for local ones (tx) and branches of distributed ones (dtx)."""
