"""One TCP connection as rows of tables: it keeps only what is still open, within named limits.

Pure Python without Arrow or Spark; `captures.columns.replay` feeds it with packets and makes batches of its rows.
"""
