"""What is wrong with a capture file, a location or a folder of tables, and what ends a run: said in one line."""

from __future__ import annotations

from typing import Final

from amqp_sansio.errors import AmqpError

CHANGED: Final = "the file was changed while it was being analyzed"
"""The error for a file that is no longer the one in which payloads were left."""


class CaptureError(AmqpError):
    """A capture file that cannot be read, or not any further.  Every packet before `packet` has been handed out.

    `file` is its name; `packet` is the number of the packet at fault, counted from 1 (0: before the first one); `octet` is
    the offset in the file of what is wrong (0: its start, or all of it); `rule` says what should be there and what is.
    """

    def __init__(self, file: str, packet: int, octet: int, rule: str) -> None:
        where = f"packet {packet}, octet {octet}: " if packet else f"octet {octet}: " if octet else ""
        super().__init__(f"{file}: {where}{rule}", made=(file, packet, octet, rule))
        self.file: Final = file
        self.packet: Final = packet
        self.octet: Final = octet
        self.rule: Final = rule


class LocationError(AmqpError):
    """A path or URI that nothing here can open: `place` is the URI without a password, `rule` says what is wrong with it."""

    def __init__(self, place: str, rule: str) -> None:
        super().__init__(f"{place}: {rule}", made=(place, rule))
        self.place: Final = place
        self.rule: Final = rule


class PlaceError(AmqpError):
    """A folder of tables that cannot be written, or that another run is writing.  The text is one sentence for people."""


class PipelineError(AmqpError):
    """The pipeline cannot run, or could not finish; nothing was published.  The text is one sentence for people."""


class OutOfDisk(PipelineError):
    """A disk is full: that of the tables, or one for what is in work (`$TMPDIR`, `spark.local.dir`).  Nothing was published."""


class OutOfMemory(PipelineError):
    """This process, the JVM or a Python worker had too little memory.  Nothing was published."""
