"""Which side ended a conversation, and what was wrong with what it sent."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Final

from amqp_sansio.kernel.value import Value


class Origin(StrEnum):
    """Who brought something to its end."""

    PEER = "peer"
    """The other side, by the means that the protocol gives it."""
    LOCAL = "local"
    """Our own side: the caller asked for it."""
    VIOLATION = "violation"
    """The other side broke the protocol and we said so; the `Violation` tells how."""
    TIMEOUT = "timeout"
    """Silence: a handshake, heartbeat or close deadline passed."""
    EOF = "eof"
    """The octets ended without a goodbye."""


class Violation(Value):
    """One breach of the protocol by `speaker`.

    `rule` is the path of the specification's rule ("session.command-point.newly-attached-transports"), or the name of
    one of our limits ("limits.assembly_octets"); `said` is the offending word, `legal` the legal ones; `code` is the
    error code that goes with it (0 when there is none); `channel` is None when no channel is concerned; `offset` counts
    the octets of that speaker's stream up to the frame at fault, the protocol header included; `text` is one sentence.
    """

    __slots__ = ("channel", "code", "legal", "offset", "rule", "said", "speaker", "text")
    FIELDS: ClassVar[tuple[str, ...]] = ("speaker", "rule", "said", "legal", "code", "channel", "offset", "text")
    __match_args__ = ("speaker", "rule", "said", "legal", "code", "channel", "offset", "text")

    def __init__(
        self,
        speaker: str,
        rule: str,
        said: str,
        legal: tuple[str, ...] = (),
        code: int = 0,
        channel: int | None = None,
        offset: int = 0,
        text: str = "",
    ) -> None:
        self.speaker: Final = speaker
        self.rule: Final = rule
        self.said: Final = said
        self.legal: Final = legal
        self.code: Final = int(code)  # a plain number, whichever enumeration it came from
        self.channel: Final = channel
        self.offset: Final = offset
        self.text: Final = text
