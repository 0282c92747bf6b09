"""A client of a broker with channels, over as many connections as it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import attrs

from amqp_sansio.config import ClientConfig, ClientMechanism
from amqp_sansio.conversation.base_client import BaseClient, Tap
from amqp_sansio.conversation.channels.core import ChannelCore
from amqp_sansio.conversation.channels.topology import TRIES, Chosen, Restoring, Topology, everything, nothing
from amqp_sansio.conversation.happenings import ClientEvent
from amqp_sansio.conversation.retry import NEVER, RetryPolicy
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.conversation.tracing import Tracing
from amqp_sansio.dialects import DIALECTS
from amqp_sansio.engine.channel_client import ChannelClientConnection
from amqp_sansio.engine.sasl import AmqPlain, CramMd5, Plain, Scram
from amqp_sansio.errors import ConnectionLost, EncodeError
from amqp_sansio.errors.checks import check_types
from amqp_sansio.events import (
    ConnectionBlocked,
    ConnectionClosed,
    ConnectionOpened,
    ConnectionRedirected,
    ConnectionUnblocked,
    Event,
    Origin,
    SecretUpdated,
)
from amqp_sansio.events.channel import ChannelClosed, ConsumerCancelled, MessageReturned
from amqp_sansio.kernel.timers import earliest
from amqp_sansio.spec.connection import UpdateSecret

ChannelClientEvent: TypeAlias = (
    ClientEvent | ConnectionBlocked | ConnectionUnblocked | ConsumerCancelled | MessageReturned | ChannelClosed
)
"""Events of a client of channels, as `on_event` gets them."""


class ChannelClient(BaseClient[ChannelClientConnection, ChannelCore]):
    """A client of a broker with channels.

    After a loss of the connection, if the retry policy allows reconnecting, it first declares the topology again, then opens
    the channels again, with their confirm mode or transactions and their consumers.  It publishes nothing again.

    `tell` is also called with events that no call waits for: the broker blocks or unblocks the connection, cancels a consumer,
    returns a message, or closes a channel.
    """

    def __init__(
        self,
        config: ClientConfig,
        *,
        prefix: str,
        retry: RetryPolicy = NEVER,
        topology: Chosen = everything,
        tell: Callable[[ChannelClientEvent], None] = lambda event: None,
        tap: Tap | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        super().__init__(config, prefix=prefix, retry=retry, tell=tell, tap=tap, tracing=tracing)
        self.topology: Final = Topology(topology if retry.attempts != 0 else nothing, config.limits.declared)
        self._tell: Final = tell
        self._by_number: Final[dict[int, ChannelCore]] = {}
        self._restoring: Restoring | None = None
        self._updating: Ticket[None] | None = None

    def _make(self) -> ChannelClientConnection:
        return ChannelClientConnection(self.config, confidential=self.confidential)

    @property
    def right_door(self) -> str:
        known = any(self.said.startswith(dialect.header) for dialect in DIALECTS)
        return ": `connect` of amqp_sansio.adapters, the one without channels, speaks it" if known else ""

    @property
    def losing(self) -> bool:
        """Whether the present connection is over or closing."""
        return self._machine is None or self._machine._closed_cause is not None

    @property
    def due(self) -> float | None:
        return super().due if self._restoring is None else earliest(super().due, self._restoring.due)

    @property
    def awaits_end(self) -> bool:
        return self._restoring is not None or super().awaits_end

    @property
    def _opens(self) -> bool:
        return self.is_open and self._restoring is None

    @property
    def blocked(self) -> bool:
        """Whether the broker takes no published messages, because it is short of memory or disk."""
        return self._machine is not None and self._machine.blocked

    def open_channel(self, confirms: bool = True) -> ChannelCore:
        """Returns a channel, opened as soon as there is an open connection."""
        check_types(bool, confirms=confirms)
        self.must_go_on("channel.open")
        self._numbers += 1
        return self._add(self._numbers, ChannelCore(self, self._numbers, confirms))

    def update_secret(self, secret: str, reason: str = "") -> Ticket[None]:
        """Sends the broker a new password, for example a token before it expires; later connections use it too.

        After a loss only these do, until one is open.
        """
        self.must_go_on(UpdateSecret.VERB)
        if not isinstance(secret, str):  # nobody sees it
            raise EncodeError("update_secret", f"takes a text, not {type(secret).__name__}")
        check_types(str, reason=reason)
        try:
            octets = secret.encode()
        except UnicodeEncodeError:  # it would quote the secret
            raise EncodeError("update_secret", "takes a text that UTF-8 can carry") from None
        updating: Ticket[None] = Ticket()
        if self.losing or not self.machine.is_open:
            self.machine.codec.write_control(UpdateSecret(octets, reason))  # raises for what no connection could send
            updating.settle(None)
        else:
            self.machine.update_secret(octets, reason)
            self._updating = updating
            self._hides = True
        if self.config.mechanisms:
            self.config = attrs.evolve(self.config, mechanisms=tuple([_with(each, secret) for each in self.config.mechanisms]))
        else:
            self.config = attrs.evolve(self.config, password=secret)
        self.wake()
        return updating

    def gone(self, core: ChannelCore) -> None:
        super().gone(core)
        self.cores.pop(core.index, None)
        channel = core._channel
        if channel is not None and self._by_number.get(channel.number) is core:
            del self._by_number[channel.number]

    def unconsumed(self, queue: str) -> None:
        """Handles the end of a consumer of this queue; an auto-delete queue goes with its last consumer."""
        if self.topology.goes_unconsumed(queue):
            inboxes = [inbox for core in self.cores.values() for inbox in core.consumers.inboxes.values()]
            if not any(inbox.queue == queue for inbox in inboxes):
                self.topology.forget_queue(queue)

    def _open(self, core: ChannelCore) -> None:
        channel = self.machine.channel()
        self._by_number[channel.number] = core
        core._open_on(channel)
        self.wake()

    def _connected(self) -> None:
        if self.connections > 1:
            self._restoring = Restoring(self)
        else:
            super()._connected()
        self.wake()

    def _delays(self) -> Iterator[float]:
        """Returns those before each attempt at what the lost connection may still hold."""
        return attrs.evolve(self.retry, attempts=TRIES).delays(lambda: 0.0)

    def open_later(self, core: ChannelCore, delay: float) -> None:
        """Opens a channel once more on this connection, after so many seconds."""
        self._later[core] = self._until + delay

    def _renamed(self, names: dict[str, str]) -> None:
        """Tells the inboxes the new names of server-named queues, by the old ones."""
        for core in self.cores.values():
            for inbox in core.consumers.inboxes.values():
                inbox._queue = names.get(inbox.queue, inbox.queue)

    def _declared(self) -> None:
        """Opens all channels again: the topology is there."""
        self._restoring = None
        for core in self.cores.values():
            core.consumers.delays = self._delays()
        super()._connected()

    def _hear(self) -> None:
        machine = self.machine
        while (event := machine.next_event()) is not None:
            number = getattr(event, "channel", None)
            if isinstance(number, int):
                self.useful = True
                self._told(number, event)
            else:
                self._happened(event)
        if self._restoring is not None:
            self._restoring.tick(self._until)
        if self._later:
            self._open_all(self._come_due())

    def _told(self, number: int, event: Event) -> None:
        restoring = self._restoring
        if restoring is not None and restoring.channel.number == number:
            if isinstance(event, ChannelClosed) and event.code and event.origin is not Origin.LOCAL:
                self._tell(event)  # the server refuses what was declared
            restoring.hear(event)
            self.wake()
            return
        if isinstance(event, ConsumerCancelled | MessageReturned | ChannelClosed):
            self._tell(event)
        core = self._by_number.get(number)
        if core is not None:
            if isinstance(event, ChannelClosed):
                del self._by_number[number]
            core._hear(event)

    def _happened(self, event: Event) -> None:
        match event:
            case ConnectionOpened() | ConnectionRedirected():
                self._heard(event)
            case ConnectionClosed():
                self._by_number.clear()
                self._later.clear()
                self._restoring = None
                if self._updating is not None:
                    self._updating.fail(ConnectionLost("it ended before the broker answered update-secret"))
                self._heard(event)
            case SecretUpdated():
                if self._updating is not None:
                    self._updating.settle(None)
            case ConnectionBlocked() | ConnectionUnblocked():
                self._tell(event)
            case _:
                pass  # LoginRefused and VersionRefused precede ConnectionClosed, which has the same information


def _with(mechanism: ClientMechanism, secret: str) -> ClientMechanism:
    """Returns the mechanism with another password, if it has one."""
    return attrs.evolve(mechanism, password=secret) if isinstance(mechanism, AmqPlain | CramMd5 | Plain | Scram) else mechanism
