"""An observation of an observer: what was sent, by which side, and where."""

from __future__ import annotations

from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

from amqp_sansio.events import Observation
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.message import Accept, Transfer
from amqp_sansio.spec.session import Completed
from amqp_sansio.wire.framing import KnownCommand

T = TypeVar("T")

Speaker: TypeAlias = Literal["C", "S"]
"""C: the side that opened the connection, or that sent the protocol header first.  S: the other one."""


class Observed(NamedTuple):
    """What was observed, who said it, and in which octets of that speaker's stream (end is the one behind the last)."""

    speaker: Speaker
    start: int
    end: int
    event: Observation


TransferSeen: TypeAlias = tuple[KnownCommand[Transfer], int, "int | None", bytes, int, int, T, "bytes | None"]
"""One transfer: its command, octets of its header, of its body (None: it has no body segment), the first of them, where it
begins and ends, what was wanted of its header, its message-id."""


class Transfers(NamedTuple, Generic[T]):
    """Transfers of one speaker on one channel, one behind the other, with ids from `id` on (None: not known).

    `alike`: all of them say the same command.
    """

    speaker: Speaker
    channel: int
    session: bytes | None
    id: int | None
    alike: bool
    items: list[TransferSeen[T]]

    @property
    def place(self) -> tuple[int, int]:
        """Where the last one begins and ends."""
        return self.items[-1][4:6]


class Answered(NamedTuple):
    """What answers messages: a message.accept (`accepts`), which has an `id`, or a session.completed of these `ids`.

    `start` and `end` are where it lies in what its speaker said.
    """

    speaker: Speaker
    channel: int
    session: bytes | None
    accepts: bool
    sync: bool
    id: int | None
    ids: RangeSet
    start: int
    end: int

    @property
    def verb(self) -> str:
        """What it says."""
        return Accept.VERB if self.accepts else Completed.VERB

    @property
    def place(self) -> tuple[int, int]:
        """Where it begins and ends."""
        return self.start, self.end
