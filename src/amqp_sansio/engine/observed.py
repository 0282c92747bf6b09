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
    """What was observed, which side sent it, and where in its stream; `end` is the offset after the last octet."""

    speaker: Speaker
    start: int
    end: int
    event: Observation


TransferSeen: TypeAlias = tuple[KnownCommand[Transfer], int, "int | None", bytes, int, int, T, "bytes | None"]
"""A transfer.

Its command, octets of header and body (None: no body segment), its octets from first to last, what was wanted of its header,
and its message-id.
"""


class Transfers(NamedTuple, Generic[T]):
    """Consecutive transfers of one speaker on one channel, with ids from `id` on (None: unknown).

    `alike`: all of them have the same command.
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
    """An answer to messages: a message.accept with an `id` (`accepts`), or a session.completed of these `ids`.

    `start` and `end` are its place in its speaker's stream.
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
        """The name of the command or control."""
        return Accept.VERB if self.accepts else Completed.VERB

    @property
    def place(self) -> tuple[int, int]:
        """Where it begins and ends."""
        return self.start, self.end
