"""Captures: packets to TCP streams to an observer to rows and verdicts."""
