"""Routing: one class per exchange type, which examines only bindings that may match."""
