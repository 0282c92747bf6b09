"""What can stop the pipeline, each said in one sentence."""

from __future__ import annotations

from amqp_sansio.errors import AmqpError


class PipelineError(AmqpError):
    """The pipeline cannot run, or could not finish; nothing was published.  The text is one sentence for people."""


class OutOfDisk(PipelineError):
    """A disk is full: that of the tables, or Spark's scratch folder (`spark.local.dir`).  Nothing was published."""


class OutOfMemory(PipelineError):
    """The JVM or a Python worker had too little memory.  Nothing was published."""


class MissingJava(PipelineError):
    """There is no Java 17 or later on this machine, and none was brought by the extra."""


class MissingExtra(PipelineError):
    """The libraries of the extra `[spark]` are not installed, or not all of them."""
