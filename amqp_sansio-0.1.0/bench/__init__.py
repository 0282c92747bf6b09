"""Repeatable comparisons with pamqp and pika, measured in the same run: `make bench`."""
