"""What can stop the pipeline on Spark, each said in one sentence."""

from __future__ import annotations

from amqp_sansio.captures.errors import OutOfDisk, OutOfMemory, PipelineError

__all__ = ["MissingExtra", "MissingJava", "OutOfDisk", "OutOfMemory", "PipelineError"]


class MissingJava(PipelineError):
    """There is no Java 17 or later on this machine, and none was brought by the extra."""


class MissingExtra(PipelineError):
    """The libraries of an extra are not installed, or not all of them."""
