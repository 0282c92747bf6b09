"""Captures as Arrow batches of packets (needs the extra `spark`: pyarrow and numpy)."""
