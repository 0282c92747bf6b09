"""Clients of brokers with channels (0-8, 0-9, 0-9-1), without I/O; shared by the adapters."""
