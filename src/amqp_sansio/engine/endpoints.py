"""What a connection carries: for each channel number an endpoint, which hears units and gives frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from amqp_sansio.events import Event, Origin, Violation
from amqp_sansio.wire.assembly import Assembly, Cut, Malformed
from amqp_sansio.wire.framing import Reader


class Unheard:
    """No answer was next."""

    __slots__ = ()


UNHEARD: Final = Unheard()

Answered: TypeAlias = Event | Unheard | None
"""The event of an answer, None where it has none or that waits with others, UNHEARD where the next unit is none."""


class Endpoints:
    """Those of one connection.  A base class, for every message goes through it.

    A Connection hands every unit to them that is not its own, on a channel that was agreed on, and takes the frames of what
    they gathered before its octets are taken.
    """

    def begin(self, reader: Reader) -> None:
        """The other side's protocol header has arrived: `reader` reads the frames after it."""
        raise NotImplementedError

    @property
    def pending(self) -> int:
        """How many of them have something to write that they gathered: 0 when `flush` would do nothing."""
        raise NotImplementedError

    def flush(self) -> None:
        """Writes what they gathered."""
        raise NotImplementedError

    @property
    def roomless(self) -> int:
        """How many of them have more to say than there was room for: 0 when `go_on` would do nothing."""
        raise NotImplementedError

    def go_on(self) -> None:
        """Octets were taken and there is room again: the first of those that wait for it goes on."""
        raise NotImplementedError

    def hear(self, unit: Assembly) -> None:
        """A whole unit that is not the connection's own."""
        raise NotImplementedError

    def hear_plain(self, cut: Cut) -> Event | None:
        """A message like others before it (`Reader.cut_run`): its event, None where it has none."""
        raise NotImplementedError

    def hear_answer(self) -> Answered:
        """Reads the next unit if it is what tells that messages are safe, and nothing is under way."""
        raise NotImplementedError

    def hear_malformed(self, malformed: Malformed) -> None:
        """What is wrong with a frame, where that concerns one endpoint alone."""
        raise NotImplementedError

    def hear_passed(self, passed: Mapping[int, int], offset: int) -> None:
        """So many octets, by channel, of what was broken off were passed over, up to `offset` in the stream."""
        raise NotImplementedError

    def lose(self, origin: Origin, text: str, violation: Violation | None) -> None:
        """The connection ends: they hear of it before ConnectionClosed is queued."""
        raise NotImplementedError
