"""Routing: one class for each type of exchange, which examines only bindings that may match."""
