"""Transactions: what is held back until the decision, for local ones (class tx) and branches of distributed ones (class
dtx)."""
