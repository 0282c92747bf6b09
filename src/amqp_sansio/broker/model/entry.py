"""A message in one queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from amqp_sansio.broker.model.form import Form
    from amqp_sansio.broker.model.message import Message
    from amqp_sansio.broker.model.queue import Queue

HELD: Final = 0
"""Written to the journal and not journalled yet, or held back by a transaction: its place is kept, and nobody behind it on its
priority level goes before it."""
AVAILABLE: Final = 1
ACQUIRED: Final = 2
GONE: Final = 3
"""On the queue no more."""

STATES: Final = ("held", "available", "acquired", "gone")
"""Their names, for people."""


class Entry:
    """A message in one queue: its place among those of its priority level, and who may have it.

    A queue changes these; everybody else reads them.
    """

    __slots__ = ("message", "position", "queue", "redelivered", "released", "state")

    def __init__(self, queue: Queue, message: Message, position: int, state: int) -> None:
        self.queue: Final = queue
        self.message: Final = message
        self.position: Final = position
        """Grows with every message that comes to the queue, and stays when the message is released."""
        self.state = state
        self.released = 0
        """The number of its last release, where a `Cursor` asks for releases; 0: none."""
        self.redelivered = message.redelivered
        """Whether somebody may have had the message before."""

    @property
    def header(self) -> bytes:
        """The header as it is to be delivered now, in the form of its publisher's family."""
        envelope = self.message.envelope
        return envelope.redelivered_header if self.redelivered else envelope.header

    def header_in(self, form: Form) -> bytes:
        """The same in the form of one family: in its publisher's own the octets as they are."""
        envelope = self.message.envelope
        if envelope.form is form and not self.redelivered:
            return envelope.header
        return envelope.header_in(form, self.redelivered)

    def __repr__(self) -> str:
        again = ", redelivered" if self.redelivered else ""
        return f"<Entry: message {self.message.number} on {self.queue.name!r} at {self.position}, {STATES[self.state]}{again}>"
