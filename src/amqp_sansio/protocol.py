"""The protocol header, the eight octets that each side sends first, and a guess at what a peer speaks that sends others."""

from __future__ import annotations

from typing import ClassVar, Final

from amqp_sansio.dialects import STARTED, VERSIONS
from amqp_sansio.kernel.value import ValueObject

SIZE: Final = 8
"""Octets of a protocol header; the same in every version."""

_OTHERS: Final[tuple[tuple[bytes, str], ...]] = (
    (b"GET ", "HTTP"),
    (b"POST ", "HTTP"),
    (b"HEAD ", "HTTP"),
    (b"PUT ", "HTTP"),
    (b"OPTIONS ", "HTTP"),
    (b"CONNECT ", "HTTP"),
    (b"HTTP/", "HTTP"),
    (b"SSH-", "SSH"),
    (b"CONNECT\n", "STOMP"),
)


_UNKNOWN: Final = "nothing known"

_TLS_RECORDS: Final = (b"\x14", b"\x15", b"\x16", b"\x17")
_TLS_HEAD: Final = 5
_TLS_RECORD_OCTETS: Final = (1 << 14) + 2048


class ProtocolHeader(ValueObject):
    """What a side sent in place of a protocol header: eight octets, or fewer when it ended there.

    `version` is one of `dialects.VERSIONS`; None when the octets name no version that we know.
    """

    __slots__ = ("octets", "version")
    FIELDS: ClassVar[tuple[str, ...]] = ("octets",)
    __match_args__ = ("octets",)

    def __init__(self, octets: bytes) -> None:
        self.octets: Final = octets
        self.version: Final = VERSIONS.get(octets)

    @property
    def amqp(self) -> bool:
        """Whether the octets begin with "AMQP" (rule connection.protocol-name)."""
        return self.octets[:4] == b"AMQP"

    @property
    def strange(self) -> bool:
        """Whether the octets are neither a (partial) AMQP header nor the beginning of any other protocol that we recognise."""
        return not b"AMQP".startswith(self.octets[:4]) and self.name == _UNKNOWN

    @property
    def tls(self) -> bool:
        """Whether the octets begin like a TLS record: a handshake, the alert with which a TLS server answers a header in clear,
        or data where the beginning was not captured."""
        octets = self.octets
        if octets[:1] not in _TLS_RECORDS or octets[1:2] != b"\x03":
            return False
        return len(octets) < _TLS_HEAD or (octets[2] <= 4 and 0 < octets[3] << 8 | octets[4] <= _TLS_RECORD_OCTETS)

    @property
    def name(self) -> str:
        """Names the protocol of the octets for a person: "AMQP 0-9-1", "HTTP", "TLS", "AMQP 1.2.0.10", "nothing known"."""
        if self.version is not None:
            return f"AMQP {self.version}"
        if self.amqp and len(self.octets) == SIZE:
            return "AMQP " + ".".join([str(octet) for octet in self.octets[4:]])
        if self.tls:
            return "TLS"
        for start, name in _OTHERS:
            if self.octets.startswith(start):
                return name
        return _UNKNOWN


def started(major: int, minor: int) -> str:
    """Names the version that a connection.start with these numbers stands for: "AMQP 0-9", "AMQP 7-1"."""
    return f"AMQP {STARTED.get((major, minor), f'{major}-{minor}')}"


def mismatch(ours: bytes, theirs: ProtocolHeader) -> str:
    """Describes in one sentence two sides that speak different protocols."""
    return f"this side speaks {ProtocolHeader(ours).name}, the other one {theirs.name} ({theirs.octets.hex(' ')})"
