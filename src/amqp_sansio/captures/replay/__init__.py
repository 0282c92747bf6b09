"""Turns one TCP connection into rows of tables; keeps only open state, within named limits.

Pure Python without Arrow or Spark; `captures.columns.replay` feeds it packets and makes batches of its rows.
"""
