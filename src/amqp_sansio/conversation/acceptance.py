"""Accepts that are not sent yet; they are sent together, before anything else is sent or output is taken."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from amqp_sansio.engine.hearing import parts
from amqp_sansio.errors import AmqpError
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.tables.transfer import ACQUIRED, EXPLICIT, TRANSFER

if TYPE_CHECKING:
    from amqp_sansio.engine.session import Session


class Acceptance:
    """The ids of messages that one session has accepted since its last message.accept; one command carries all of them."""

    __slots__ = ("ids",)

    def __init__(self) -> None:
        self.ids: Final[dict[int, None]] = {}

    def __bool__(self) -> bool:
        return bool(self.ids)

    def note(self, session: Session, id: int) -> bool:
        """Notes that a message is accepted; False for one that cannot be, or not in this way: the session says why."""
        if not (session.state == "attached" or session.resumable) or id in self.ids:
            return False
        delivery = session._transfers.deliveries.get(id)
        if delivery is None or delivery.state != ACQUIRED or TRANSFER[delivery.accept_mode] is not EXPLICIT:
            return False
        self.ids[id] = None
        return True

    def say(self, session: Session) -> None:
        """Sends the accepts, unless the session is not attached now; then they stay until it is resumed."""
        if self.ids and session.state == "attached":
            waiting = parts(session, RangeSet.of(*self.ids))
            with suppress(AmqpError):  # the connection closes: these messages come again
                for part in waiting:
                    session.accept(part)
                    self._said(part, len(waiting) == 1)

    def _said(self, part: RangeSet, all_: bool) -> None:
        if all_:
            self.ids.clear()
        else:  # more ranges than fit into a frame
            for id in [id for id in self.ids if id in part]:
                del self.ids[id]

    def clear(self) -> None:
        """Drops the accepts: the session is over, and no longer holds its messages."""
        self.ids.clear()


def release(session: Session, ids: RangeSet, redelivered: bool = False) -> None:
    """Releases messages of an attached session, however many ranges their ids are."""
    for part in parts(session, ids):
        session.release(part, redelivered)
