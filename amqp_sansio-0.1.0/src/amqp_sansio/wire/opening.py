"""Reading frames before the connection is open: controls on channel 0, and not much of them.

Before its login a peer may make us hold one small control and nothing else.
"""

from __future__ import annotations

from amqp_sansio.wire.assembler import Assembler
from amqp_sansio.wire.assembly import Assembly
from amqp_sansio.wire.breaches import describe
from amqp_sansio.wire.frames import WHOLE


class OpeningAssembler(Assembler):
    """Keeps nothing but one control on channel 0, of at most `Limits.handshake_octets`.

    What is one whole frame passes on any channel: the connection names it when it refuses it.
    """

    __slots__ = ()

    def frame(self, flags: int, kind: int, track: int, channel: int, start: int, payload: bytes) -> Assembly | None:
        """As `Assembler.frame`."""
        most = self.limits.handshake_octets
        partial = self.open.get(0)
        if (channel or track) and flags & WHOLE != WHOLE:
            self._report(
                "connection.handshake", "the connection is not open yet", 501, channel, start, describe(flags, kind),
                ("a control on channel 0",),
            )  # fmt: skip
        elif len(payload) + (0 if partial is None else partial.octets) > most:
            self._report(
                "limits.handshake_octets", "more than our limit handshake_octets before the connection is open", 501, channel,
                start, f"{describe(flags, kind)} with {len(payload)} octets", (f"at most {most} octets",),
            )  # fmt: skip
        else:
            return super().frame(flags, kind, track, channel, start, payload)
        return None
