"""The primitives."""
