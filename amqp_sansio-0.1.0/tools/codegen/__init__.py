"""Writes spec/ and wire/layouts/ from the tables in tools/codegen/tables."""
