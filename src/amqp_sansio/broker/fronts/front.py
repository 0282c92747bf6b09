"""The bases of fronts: the state shared by the connections of one family, the service of each, and what survives them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from amqp_sansio.broker.access import Kind, Request, Verb
from amqp_sansio.broker.model.subscribers import Consumer
from amqp_sansio.events import Authenticated, ConnectionClosed, Event, OpenRequested
from amqp_sansio.spec.codes import CloseCode

if TYPE_CHECKING:
    from amqp_sansio.broker.access import Guard
    from amqp_sansio.broker.broker import Broker, Peer
    from amqp_sansio.broker.model.message import Form
    from amqp_sansio.broker.snapshot import Needed, Rebuilding
    from amqp_sansio.engine.handshake import ServerHandshake

Plain = Mapping[str, Any]  # Any: claims to be what `take` returned
"""A holder that outlives the broker, as a plain value of builtins; "host" is its virtual host."""


class Front:
    """The front of one family over the model of a broker: one object per broker.

    A base class, of which each family derives its own.  What it keeps over a restart it gives to snapshots and gets back from
    them; one that keeps nothing leaves that part as it is.
    """

    CONNECTION: ClassVar[type[ServerHandshake]]
    """The type of the connections that it serves."""
    FORM: ClassVar[Form]
    """The form in which its clients write message headers.  Its name is that of the family."""
    KEEPS: ClassVar[bool] = False
    """Whether snapshots include state of it."""

    GUARDED: ClassVar[bool] = False
    """Whether it asks the broker's guard before it executes a client's command.  A broker with rules serves no other front."""

    def __init__(self, broker: Broker) -> None:
        self.broker: Final = broker
        self.pending: Collection[object] = ()
        """What `work` has to do, apart from deliveries."""

    def serve(self, peer: Peer) -> Service:
        """Returns the service for a connection of this family; its dialect is known, and nothing has arrived yet."""
        raise NotImplementedError

    def work(self) -> None:
        """Does the work that is `pending`, which no input triggers."""

    @property
    def alive(self) -> bool:
        """Whether anything of this family, besides what is durable, would be lost if the broker ended now."""
        return False

    def revoke(self, guard: Guard) -> None:
        """Reacts to changed rights: ends the subscriptions that clients may no longer have, and says why."""

    # --- over a restart ---------------------------------------------------------------------------------------------------

    def take(self) -> tuple[Plain, ...]:
        """Returns the state that outlives the broker.  Later changes to it are journalled."""
        return ()

    def need(self, host: str, needed: Needed) -> None:
        """Adds what that state needs of a virtual host, besides what is durable."""

    def claims(self, plain: Plain) -> tuple[set[str], set[tuple[str, int]]]:
        """Returns what a value from `take` needs: the names of queues, and the queues and numbers of messages."""
        raise NotImplementedError

    def outlived(self, plain: Plain, left: Collection[tuple[str, str, bytes]]) -> bool:
        """Returns whether it must be restored: the journal has no `operations.SessionLeft` that ends it."""
        raise NotImplementedError

    def restore(self, plain: Plain, rebuilding: Rebuilding) -> None:
        """Restores it.

        Raises Refused or DecodeError when the model or the engine refuses it; TypeError, ValueError or KeyError for what `take`
        did not return.
        """
        raise NotImplementedError


class Service:
    """Acts on the events of a connection, before they are returned.

    A base class, from which each family derives its own with one method per event.  It handles what all families share: the
    client's identity, the virtual host, and the end.  It serves a connection until its dialect is known.
    """

    serves = False
    """Whether clients are admitted."""

    def __init__(self, peer: Peer) -> None:
        self.peer: Final = peer

    def act_on(self, event: Event) -> None:
        """Acts on an event.  Never raises because of a client."""
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
        """Admits the client to a virtual host, or refuses with the reason.

        402 for one that does not exist or that the rules deny; 320 beyond the limit, and for a dialect without a front.
        """
        peer = self.peer
        broker, allowed = peer._broker, peer._config.virtual_hosts
        guard, identity = broker._guard, peer._identity or ""
        may = guard is None or guard.may(Request(identity, Verb.OPEN, Kind.HOST, name, None, name))
        there = may and broker.exists(name) and (allowed is None or name in allowed)
        host = broker._open(name) if there and self.serves else None
        if host is not None:
            host.users += 1
            peer._host = host  # the connection accepts the client itself with its next event
        elif not there:
            peer._connection.close(CloseCode.INVALID_PATH, "no such virtual host")
        elif not self.serves:
            peer._connection.close(CloseCode.CONNECTION_FORCED, "this broker has no front for the dialect of the connection")
        else:
            peer._connection.close(CloseCode.CONNECTION_FORCED, "limits.virtual_hosts: no more virtual hosts can be opened")


class Holder:
    """The owner of subscriptions and unsettled messages, for as long as it lives; compared by identity.

    A base class, of which each family derives its own: the broker calls it when there is something to do.
    """

    def tick(self, now: float) -> None:
        """Advances the clock of a holder whose timeout has passed or must begin to `now` (monotonic seconds)."""

    def replay_freed(self) -> None:
        """Lets whatever waited until less is kept for replay continue (`Peer._freed`)."""

    def settle(self) -> None:
        """Reports to the client the outcome of its publishes since the last round."""

    def queue_deleted(self, queue: str) -> None:
        """Notifies the client that the queue of one of its subscriptions was deleted."""


class FrontSubscription(Consumer, Protocol):
    """A front's subscription to a queue."""

    def wake(self) -> None:
        """Wakes it after a change by which it may be able to take messages again."""
        ...
