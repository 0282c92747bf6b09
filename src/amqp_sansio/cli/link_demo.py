"""A client and a server in memory that transfer messages both ways while the link between them keeps breaking.

`amqp-sansio run` shows it; it is also a model for your own program: connections come and go, the two sessions stay.
"""

from __future__ import annotations

from random import Random
from typing import Final

import attrs

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.connection import Connection
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.engine.session import Session
from amqp_sansio.errors import NoCredit
from amqp_sansio.events import (
    AttachRequested,
    CommandReceived,
    CommandsCompleted,
    ConnectionClosed,
    ConnectionOpened,
    Event,
    SessionAttached,
    TransferReceived,
)
from amqp_sansio.spec import message
from amqp_sansio.testing.link import Link

DESTINATION: Final = "quotes"
KEPT_SECONDS: Final = 600
WINDOW: Final = 4


@attrs.frozen(kw_only=True)
class DemoOutcome:
    """The outcome."""

    transcript: tuple[str, ...]
    received: tuple[bytes, ...]
    """Bodies that the client received, in order."""
    collected: tuple[bytes, ...]
    """Bodies that the server received, in order."""
    connections: int
    cuts: int
    mid_message: int
    """Cuts inside a frame."""
    resumed: int
    confirmed: int
    """Commands of both sides that the other side completed."""
    commands: int
    """Commands that both sides sent, each counted once however often it was replayed."""
    octets: int
    """Octets written by both sides."""
    credit_left: int
    """Messages of the window that are granted and unused at the end."""
    violations: int
    """The violations that the observer on the link found on either side."""


class Crossing:
    """Transfers `messages` each way, in bodies of about `body_octets`; the link breaks `cuts` times, at points that `random`
    chooses."""

    def __init__(self, random: Random, *, messages: int, body_octets: int, cuts: int) -> None:
        self._random: Final = random
        self._quotes: Final = [self._body("quote", n, body_octets) for n in range(messages)]
        self._orders: Final = [self._body("order", n, body_octets) for n in range(messages)]
        self._cuts: Final = cuts
        self._quoted = 0
        self._ordered = 0
        self._received: list[bytes] = []
        self._collected: list[bytes] = []
        self._ours: Session | None = None
        self._theirs: Session | None = None
        self._resumed = 0
        self._confirmed = 0
        self._octets = 0
        self._torn: set[int] = set()  # connections that broke inside a frame
        self._link: Final = Link(
            *self._connections(), delay=(1, 3), chunk=(1, 700), choices=random,
            on_client=self._at_client, on_server=self._at_server,
        )  # fmt: skip

    def _body(self, what: str, number: int, octets: int) -> bytes:
        return f"{what} {number} ".encode().ljust(octets + self._random.randrange(octets), b".")

    def _connections(self) -> tuple[ClientConnection, ServerConnection]:
        return ClientConnection(ClientConfig()), ServerConnection(ServerConfig(session_timeout=KEPT_SECONDS))

    @property
    def messages(self) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
        """Returns what is to arrive: at the client, at the server."""
        return tuple(self._quotes), tuple(self._orders)

    def run(self) -> DemoOutcome:
        """Runs until every message has arrived and every command is complete."""
        link, cuts = self._link, 0
        self._arm(cuts)
        for _ in range(100_000):
            link.step()
            self._say()
            if link.broken and not (link.client.bytes_to_send or link.server.bytes_to_send):
                cuts += 1
                self._account()
                link.reconnect(*self._connections())
                self._arm(cuts)
            elif self._done() and link.quiet:
                break
        else:
            raise RuntimeError("the crossing does not end: this is a fault of the library")
        ours, theirs = self._ours, self._theirs
        assert ours is not None
        assert theirs is not None
        left = ours.subscriptions[DESTINATION].message_credit
        link.client.close()
        link.run()
        self._account()
        return DemoOutcome(
            transcript=tuple(link.transcript.lines), received=tuple(self._received), collected=tuple(self._collected),
            connections=link.connections, cuts=cuts, mid_message=len(self._torn), resumed=self._resumed,
            confirmed=self._confirmed, commands=ours._outbound.next_id + theirs._outbound.next_id, octets=self._octets,
            credit_left=left, violations=len(link.violations),
        )  # fmt: skip

    def _arm(self, cuts: int) -> None:
        """Schedules the next cut, at an octet of either speaker, after the handshake, so that each connection makes some
        progress."""
        if cuts < self._cuts:
            quiet = 520 if self._random.randrange(2) else 420
            self._link.cut_after(self._random.choice(("client", "server")), quiet + self._random.randrange(4000))

    def _account(self) -> None:
        self._octets += sum([len(octets) for octets in self._link.said.values()])

    def _done(self) -> bool:
        sides = [each for each in (self._ours, self._theirs) if each is not None]
        across = len(self._received) == len(self._quotes) and len(self._collected) == len(self._orders)
        return len(sides) == 2 and across and not any(each.in_doubt for each in sides)

    def _at_either(self, event: Event) -> None:
        match event:
            case CommandsCompleted(ids=ids):
                self._confirmed += len(ids)
            case ConnectionClosed(text=text) if "into a frame" in text:
                self._torn.add(self._link.connections)
            case _:
                pass

    # --- the client: subscribes with a window, accepts what comes, sends orders -----------------------------------------------

    def _at_client(self, client: Connection, event: Event) -> None:
        assert isinstance(client, ClientConnection)
        match event:
            case ConnectionOpened():
                if self._ours is None:
                    self._ours = client.session(b"crossing", timeout=KEPT_SECONDS)
                else:
                    client.resume(self._ours)
            case SessionAttached(resumed=resumed):
                self._resumed += resumed
                if self._ours is not None and not self._ours.subscriptions:
                    self._ours.subscribe("stock", DESTINATION).grant(WINDOW)
            case TransferReceived(id=id, body=body):
                self._received.append(body)
                assert self._ours is not None
                self._ours.accept(id)
            case _:
                self._at_either(event)

    # --- the server: delivers as credit allows, collects orders
    # -----------------------------------------------------------------

    def _at_server(self, server: Connection, event: Event) -> None:
        assert isinstance(server, ServerConnection)
        match event:
            case AttachRequested(session=name):
                self._theirs = server.accept(name, resume=self._theirs)
            case TransferReceived(id=id, body=body):
                self._collected.append(body)
                assert self._theirs is not None
                self._theirs.complete(id)
            case CommandReceived(id=id) if id is not None:
                assert self._theirs is not None
                if id in self._theirs._inbound.outstanding:
                    self._theirs.complete(id)
            case _:
                self._at_either(event)

    def _say(self) -> None:
        ours, theirs = self._ours, self._theirs
        orders = self._orders[self._ordered : self._ordered + 1]
        if orders and ours is not None and ours.state == "attached" and ours.subscriptions and self._link.client.is_open:
            ours.publish("", message.DeliveryProperties(routing_key="orders"), body=orders[0])
            self._ordered += 1
        if (
            theirs is not None
            and theirs.state == "attached"
            and DESTINATION in theirs.subscribers
            and self._link.server.is_open
        ):
            while self._quoted < len(self._quotes):
                try:
                    theirs.deliver(DESTINATION, body=self._quotes[self._quoted])
                except NoCredit:
                    break
                self._quoted += 1
