"""A violation of the protocol, and the origin of the end of a conversation."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Final

from amqp_sansio.kernel.value import ValueObject


class Origin(StrEnum):
    """What ended a connection, session, channel or consumer."""

    PEER = "peer"
    """The peer, by regular means of the protocol."""
    LOCAL = "local"
    """Our own side: the caller asked for it."""
    VIOLATION = "violation"
    """The peer broke the protocol and we reported it; the `Violation` has the details."""
    TIMEOUT = "timeout"
    """A deadline passed: of the handshake, a heartbeat or the close."""
    EOF = "eof"
    """The octets ended without a close."""


class Violation(ValueObject):
    """One breach of the protocol by `speaker`.

    `rule` is the path of the specification's rule ("session.command-point.newly-attached-transports"), or the name of one of
    our limits ("limits.assembly_octets"); `said` is the offending word, `legal` the legal ones; `code` is the matching error
    code (0 when there is none); `channel` is None when no channel is concerned; `offset` counts the octets of that speaker's
    stream up to the frame at fault, the protocol header included; `text` is one sentence.
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
