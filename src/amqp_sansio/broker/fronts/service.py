"""What a front does for one connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.broker.access.rule import Kind, Request, Verb
from amqp_sansio.events import Authenticated, ConnectionClosed, Event, OpenRequested
from amqp_sansio.spec.codes import CloseCode

if TYPE_CHECKING:
    from amqp_sansio.broker.peer import Peer


class Service:
    """Acts on the events of a connection, each before it is handed out.

    A base class, of which each family derives its own, for every event is one call.  This one knows what all families have: who
    the client is, which virtual host it opens, and the end.  It serves a connection until its dialect is known.
    """

    serves = False
    """Whether clients are let in."""

    def __init__(self, peer: Peer) -> None:
        self.peer: Final = peer

    def act_on(self, event: Event) -> None:
        """Does what an event asks for.  Never raises for what a client says."""
        match event:
            case Authenticated():
                self.peer._identity = event.identity
            case OpenRequested():
                self._open(event.virtual_host)
            case ConnectionClosed():
                self.peer._end()
            case _:
                pass  # nothing depends on it

    def _open(self, name: str) -> None:
        """Lets the client into a virtual host, or says why not.

        402 for one that does not exist or that rules keep from it, 320 for one too many and for a dialect that nobody serves.
        """
        peer = self.peer
        broker, allowed = peer._broker, peer._config.virtual_hosts
        guard, identity = broker._guard, peer._identity or ""
        may = guard is None or guard.may(Request(identity, Verb.OPEN, Kind.HOST, name, None, name))
        there = may and broker.exists(name) and (allowed is None or name in allowed)
        site = broker._open(name) if there and self.serves else None
        if site is not None:
            peer._site = site  # the connection lets the client in itself when its next event is asked for
        elif not there:
            peer._connection.close(CloseCode.INVALID_PATH, "no such virtual host")
        elif not self.serves:
            peer._connection.close(CloseCode.CONNECTION_FORCED, "this broker has no front for the dialect of the connection")
        else:
            peer._connection.close(CloseCode.CONNECTION_FORCED, "limits.virtual_hosts: no more virtual hosts can be opened")

    def drained(self) -> None:
        """All that the client said was acted on: who waited for that goes on."""
        clogged = self.peer._clogged
        if clogged:
            consumers = list(clogged)
            clogged.clear()
            for consumer in consumers:
                consumer.wake()
