"""A client of frames that nobody has checked, without a machine of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import pytest
from tests.broker.harness import front
from tests.steps import steps

from amqp_sansio.broker.broker import Broker
from amqp_sansio.config import ServerConfig
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec import message, queue
from amqp_sansio.spec import session as c
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.spec.connection import Heartbeat, Open, StartOk, TuneOk
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties
from amqp_sansio.wire.layouts.layout import encode_headers
from amqp_sansio.wire.segments import frame_command, frame_control

LAYOUT: Final = AMQP_0_10.codec
BEAT: Final = frame_control(0, LAYOUT.encode_control(Heartbeat()))
"""What costs a client nothing and gets no answer."""

Words: TypeAlias = "Sequence[Command | Control | bytes]"


def publish(key: str, immediate: bool = False, shop: int | None = None, to: str = "") -> bytes:
    delivery = DeliveryProperties(immediate=immediate, discard_unroutable=immediate, routing_key=key)
    header = encode_headers([delivery] if shop is None else [delivery, MessageProperties(application_headers={"shop": shop})])
    return b"".join(frame_command(1, LAYOUT.encode_command(message.Transfer(to, 1, 0), False), header, b"x"))


class Attacker:
    """A client that says what it likes on channel 1, and reads all that it gets."""

    def __init__(
        self,
        broker: Broker,
        limits: Limits = DEFAULT_LIMITS,
        host: str = "",
        properties: Mapping[str, int] | None = None,
    ) -> None:
        self.broker = broker
        self.peer = self.broker.connect(ServerConfig(session_timeout=300, limits=limits))
        self.peer.receive_data(AMQP_0_10.header)
        for control in (StartOk(properties or {}, "ANONYMOUS", b"", "en_US"), TuneOk(0, 4096, 0), Open(host)):
            self.peer.receive_data(frame_control(0, LAYOUT.encode_control(control)))
        self.say([c.Attach(b"s%d" % self.peer.number, True), c.CommandPoint(0, 0)])

    def say(self, words: Words, channel: int = 1) -> None:
        for word in words:
            if isinstance(word, Control):
                word = frame_control(channel, LAYOUT.encode_control(word))
            elif isinstance(word, Command):
                word = b"".join(frame_command(channel, LAYOUT.encode_command(word, False)))
            self.peer.receive_data(word)

    def turn(self) -> None:
        while True:
            happened = sum(1 for _ in self.broker.events())
            if not self.peer.data_to_send() and not happened:
                return

    @property
    def attached(self) -> bool:
        return bool(front(self.broker).sessions)


def deaf(broker: Broker, count: int) -> list[Attacker]:
    """So many clients that have logged in, asked, and read nothing since: the answers wait."""
    clients = [Attacker(broker) for _ in range(count)]
    for each in clients:
        each.turn()
        each.say([queue.Query("q")])
    for _ in broker.events():
        pass
    assert all(each.peer.bytes_to_send for each in clients)
    return clients


MOST: Final = 1.2
"""So many times the steps may cost what goes on beside clients that never read, when they are many instead of few."""


def assert_free(prepared: Callable[[int], Callable[[], object]], few: int = 10, many: int = 400) -> None:
    """What `prepared` makes beside many clients that never read costs as good as no more steps than beside few of them."""
    if COMPILED:
        pytest.skip("the steps of compiled code cannot be counted")
    one, other = steps(prepared(few)), steps(prepared(many))
    assert other <= MOST * one, f"{one} steps beside {few}, {other} beside {many}"
