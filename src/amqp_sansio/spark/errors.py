"""Errors that stop the pipeline on Spark, each with a text of one sentence."""

from __future__ import annotations

from amqp_sansio.captures.errors import OutOfDisk, OutOfMemory, PipelineError

__all__ = ["MissingExtra", "MissingJava", "OutOfDisk", "OutOfMemory", "PipelineError"]


class MissingJava(PipelineError):
    """There is no Java 17 or later on this machine, and the extra has installed none."""


class MissingExtra(PipelineError):
    """Libraries of an extra are not installed."""
