"""The sessions of a broker by virtual host, identity and name, and the limit on those that outlive their connections."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from amqp_sansio.broker.fronts.front import Front, Plain
from amqp_sansio.broker.fronts.sessions import rights, session_persistence
from amqp_sansio.broker.fronts.sessions.form import FORM
from amqp_sansio.broker.fronts.sessions.holder import Key, SessionHolder
from amqp_sansio.broker.fronts.sessions.reception import Reception
from amqp_sansio.broker.fronts.sessions.service import SessionService
from amqp_sansio.broker.fronts.sessions.throttle import Throttle
from amqp_sansio.broker.journal import SessionLeft
from amqp_sansio.engine.server import ServerConnection

if TYPE_CHECKING:
    from amqp_sansio.broker.access.guard import Guard
    from amqp_sansio.broker.broker import Broker
    from amqp_sansio.broker.durable_state import Needed, Rebuilding
    from amqp_sansio.broker.peer import Peer


class Sessions(Front):
    """The front of 0-10.  Sessions outlive their connection, and the broker, for their granted timeout."""

    CONNECTION = ServerConnection
    FORM = FORM
    KEEPS = True
    GUARDED = True

    def __init__(self, broker: Broker) -> None:
        super().__init__(broker)
        self.reception: Final = Reception(broker._intake)
        self.sessions: Final[dict[Key, SessionHolder]] = {}
        """All sessions, attached or kept."""
        self.throttle: Final = Throttle(broker.limits.throttle_messages)
        self.kept: Final = Kept(broker.limits.kept_sessions)
        self._remembered: Final[dict[Key, None]] = {}  # sessions in the last snapshot, unchanged since
        self._leaving: Final[dict[Key, int]] = {}  # by session, the journal entry that `touched` wrote, until it is journalled

    def serve(self, peer: Peer) -> SessionService:
        """Returns the service for the sessions of a connection."""
        return SessionService(self, peer)

    def work(self) -> None:
        """Resumes publishers that waited for a queue to shorten."""
        if self.throttle.relievable:
            self.throttle.relieve()

    @property
    def busy(self) -> bool:
        """Whether a stopped publisher may resume and does not know it yet."""
        return self.throttle.relievable

    @property
    def alive(self) -> bool:
        """Whether any session exists."""
        return bool(self.sessions)

    def revoke(self, guard: Guard) -> None:
        """Ends the sessions of such subscriptions; a server cannot end a subscription by itself."""
        for holder in list(self.sessions.values()):
            rights.demand_again(guard, holder)

    # --- over a restart ---------------------------------------------------------------------------------------------------

    def take(self) -> tuple[Plain, ...]:
        """Returns the detached sessions that are kept."""
        kept = self._keepable()
        self._remembered.clear()
        self._remembered.update(dict.fromkeys([holder.key for holder in kept]))
        return tuple([session_persistence.take(holder) for holder in kept])

    def need(self, host: str, needed: Needed) -> None:
        """Adds what these sessions need of a virtual host."""
        for holder in self._keepable():
            if holder.key[0] == host:
                session_persistence.need(holder, needed)

    def _keepable(self) -> list[SessionHolder]:
        return [holder for holder in self.sessions.values() if session_persistence.keepable(holder)]

    def claims(self, plain: Plain) -> tuple[set[str], set[tuple[str, int]]]:
        """Returns the queues that a session owns, subscribes to or has messages of, and these messages."""
        return session_persistence.claims(plain)

    def outlived(self, plain: Plain, left: Collection[tuple[str, str, bytes]]) -> bool:
        """Returns whether the session is unchanged since the snapshot."""
        return (plain["host"], plain["identity"], plain["name"]) not in left

    def restore(self, plain: Plain, rebuilding: Rebuilding) -> None:
        """Restores the session, detached; its timeout begins."""
        holder = session_persistence.restore(self, plain, rebuilding)
        self._remembered[holder.key] = None

    def touched(self, key: Key) -> int:
        """Records that a session begins, continues or ends, so that an earlier snapshot of it must not be restored.

        Returns the journal entry that must be stored before anything is sent in the session; 0 for none.
        """
        journals = self.broker._journals
        if key in self._remembered:
            del self._remembered[key]
            number = self._leaving[key] = journals.write(SessionLeft(*key))
            journals.after(number, lambda: self._left(key, number))
        return max(self._leaving.get(key, 0), self.broker._opened)

    def _left(self, key: Key, number: int) -> None:
        if self._leaving.get(key) == number:
            del self._leaving[key]


class Kept:
    """Counts kept sessions by virtual host and identity, up to `most` of each (BrokerLimits.kept_sessions)."""

    __slots__ = ("_counts", "_most")

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self._counts: Final[dict[tuple[str, str], int]] = {}

    def has_room(self, key: Key) -> bool:
        """Returns whether one more session of that identity may outlive its connection."""
        return self._counts.get(key[:2], 0) < self._most

    def begins(self, key: Key) -> None:
        """Counts a session that outlives its connection, even without room."""
        whose = key[:2]
        self._counts[whose] = self._counts.get(whose, 0) + 1

    def ends(self, key: Key) -> None:
        """Stops counting such a session."""
        whose = key[:2]
        self._counts[whose] -= 1
        if not self._counts[whose]:
            del self._counts[whose]
