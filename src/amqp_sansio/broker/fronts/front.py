"""The base of fronts: what the connections of one family have in common, and what of it survives them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from amqp_sansio.broker.model.subscribers import Consumer

if TYPE_CHECKING:
    from amqp_sansio.broker.access.guard import Guard
    from amqp_sansio.broker.broker import Broker
    from amqp_sansio.broker.durable_state import Needed, Rebuilding
    from amqp_sansio.broker.model.form import Form
    from amqp_sansio.broker.peer import Peer, Service
    from amqp_sansio.engine.server_handshake import ServerHandshake

Plain = Mapping[str, Any]  # Any: what `take` made, or what somebody says it did
"""A holder that outlives the broker, as a plain value of builtins; "host" is its virtual host."""


class Front:
    """The front of one family over the model of a broker: one object for each broker.

    A base class, of which each family derives its own.  What it keeps over a restart it gives to snapshots and gets back from
    them; one that keeps nothing leaves that part as it is.
    """

    CONNECTION: ClassVar[type[ServerHandshake]]
    """The connections that it serves."""
    FORM: ClassVar[Form]
    """How its clients write what a message says of itself.  Its name is the family's."""
    KEEPS: ClassVar[bool] = False
    """Whether snapshots have something of it."""

    GUARDED: ClassVar[bool] = False
    """Whether it asks the guard of the broker before it does what a client says.  A broker with rules serves no other."""

    def __init__(self, broker: Broker) -> None:
        self.broker: Final = broker

    def serve(self, peer: Peer) -> Service:
        """The service for a connection of this family; its dialect is known, and nothing has arrived yet."""
        raise NotImplementedError

    def work(self) -> None:
        """Does what is left to do where nothing is to be read."""

    @property
    def busy(self) -> bool:
        """Whether `work` has something to do, deliveries apart."""
        return False

    @property
    def alive(self) -> bool:
        """Whether anything of this family would be missed if the broker ended now, besides what is durable."""
        return False

    def hosts(self) -> Collection[str]:
        """The virtual hosts that are used without a connection."""
        return ()

    def revoke(self, guard: Guard) -> None:
        """Who may do what has changed: ends the subscriptions of clients that have no right to them any more, and says why."""

    # --- over a restart ---------------------------------------------------------------------------------------------------

    def take(self) -> tuple[Plain, ...]:
        """What outlives the broker.  From now on a change of it is written into the journal."""
        return ()

    def need(self, host: str, needed: Needed) -> None:
        """Tells what that needs of a virtual host besides what is durable."""

    def claims(self, plain: Plain) -> tuple[set[str], set[tuple[str, int]]]:
        """Of what `take` made: the names of the queues, and the queues and numbers of the messages that it needs."""
        raise NotImplementedError

    def outlived(self, plain: Plain, left: Collection[tuple[str, str, bytes]]) -> bool:
        """Whether it is still to be restored: the journal does not say (`operations.SessionLeft`) that its time is over."""
        raise NotImplementedError

    def restore(self, plain: Plain, rebuilding: Rebuilding) -> None:
        """Puts it back.

        Raises Refused or DecodeError when the model or the engine do not take it, TypeError, ValueError or KeyError for what
        `take` has not made.
        """
        raise NotImplementedError


class Holder:
    """The owner of subscriptions and unsettled messages, for as long as it lives; compared by identity.

    A base class, of which each family derives its own: the broker comes back to it when there is something to do.
    """

    def tick(self, now: float) -> None:
        """Says what time it is (monotonic seconds), to a holder whose time has come or is to begin."""

    def replay_confirmed(self) -> None:
        """Some of what is kept for replay may be confirmed (`Peer._held_by_replay`)."""

    def settle(self) -> None:
        """Tells the client what became of its messages since the last round."""

    def queue_deleted(self, queue: str) -> None:
        """Tells the client that the queue of one of its subscriptions was deleted."""


class Subscription(Consumer, Protocol):
    """What a front subscribes to a queue."""

    def wake(self) -> None:
        """Something has changed by which it may be able to take a message: what held it up is over."""
        ...
