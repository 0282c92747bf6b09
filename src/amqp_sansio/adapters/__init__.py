"""Clients and servers on sockets: `sync`, `asyncio` and `trio` have the same interface and do not import one another."""
