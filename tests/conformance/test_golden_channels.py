"""One conversation in each older dialect, frame by frame as it was written down: what both sides send changes only on purpose.

`python -m tests.conformance.test_golden_channels` writes the conversations anew; read the difference before you keep it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.engine.channels.stage import DIALECTS, Stage, answer
from tests.steps import assert_linear

from amqp_sansio.dialects import ChannelDialect
from amqp_sansio.engine.channel_client import ChannelClientConnection
from amqp_sansio.engine.channel_server import ChannelServerConnection
from amqp_sansio.events import Event
from amqp_sansio.spec.codes import DeliveryMode
from amqp_sansio.spec.methods import basic, confirm, exchange, queue, tx
from amqp_sansio.spec.reply_codes import ReplyCode

HEADER: Final = 8
STARTS: Final = (b"\0\x0a\0\x0a", b"\0\x0a\0\x0b")
PLACE: Final = Path(__file__).resolve().parents[1] / "data" / "channels"


class Heard(Stage):
    """A stage that keeps what is said, whole turns of it, and what either side is told."""

    def __init__(self, dialect: ChannelDialect, piece: int | None = None) -> None:
        self.turns: list[tuple[str, bytes]] = []
        self.told: list[tuple[str, Event]] = []
        super().__init__(dialect, piece=piece)

    def _overhear(self, speaker: str, octets: bytes) -> None:
        if octets:
            self.turns.append((speaker, octets))
        super()._overhear(speaker, octets)

    def _feed(self, side: ChannelClientConnection | ChannelServerConnection, octets: bytes) -> list[Event]:
        events = super()._feed(side, octets)
        self.told += [(side.role, event) for event in events]
        return events


def frames(speaker: str, octets: bytes) -> Iterator[str]:
    """A line for each frame: who, type, channel, payload; of start and start-ok, which name our version, the method alone."""
    if octets.startswith(b"AMQP"):
        yield f"{speaker} header {octets[:HEADER].hex(' ')}"
        octets = octets[HEADER:]
    while octets:
        size = int.from_bytes(octets[3:7], "big")
        payload = octets[7 : 7 + size]
        shown = f"{payload[:4].hex(' ')} ..." if payload[:4] in STARTS else payload.hex(" ")
        yield f"{speaker} {octets[0]} {int.from_bytes(octets[1:3], 'big')} {shown}"
        assert octets[7 + size] == 0xCE
        octets = octets[8 + size :]


def conversation(dialect: ChannelDialect, piece: int | None = None) -> Heard:
    """A client declares, publishes, consumes, settles and ends, and a server answers; with confirms where there are any.

    Each side hears so many octets at once as `piece` says.
    """
    stage = Heard(dialect, piece)
    client, served = stage.open()
    client.declare_exchange("e", "topic", durable=True)
    client.declare_queue("q", arguments={"x-max-length": 10, "nested": {"a": [1, "b", True]}})
    client.bind_queue("q", "e", "k.#")
    client.qos(7)
    client.consume("q", "t")
    stage.run()
    answer(
        served, exchange.DeclareOk(), queue.DeclareOk("q", 0, 0), queue.BindOk(), basic.QosOk(), basic.ConsumeOk("t"),
    )  # fmt: skip
    stage.run()
    if dialect.codec.extended:
        client.select_confirm()
        stage.run()
        answer(served, confirm.SelectOk())
    client.publish("e", "k.1", b"one", delivery_mode=DeliveryMode.PERSISTENT, headers={"h": b"\xff", "n": None}, mandatory=True)
    client.publish("e", "k.2", bytes(5000), priority=9, timestamp=1)
    client.publish("e", "k.3")
    stage.run()
    served.return_(ReplyCode.NO_ROUTE, "NO_ROUTE", "e", "k.1", b"one")
    if dialect.codec.extended:
        served.confirm([1, 2])
        served.confirm([3], taken=False)
    for number in range(5):
        served.deliver("t", b"%d" % number, basic.Properties(message_id=f"m{number}"), exchange="e", routing_key="k")
    stage.run()
    client.ack([1, 2])
    client.reject([4], requeue=False)
    client.nack([3, 5]) if dialect.codec.extended else client.reject([3, 5])
    other, there = stage.open(9)
    other.select_tx()
    other.commit()
    stage.run()
    answer(there, tx.SelectOk(), tx.CommitOk())
    stage.run()
    there.fail(ReplyCode.NOT_FOUND, "NOT_FOUND", "queue.declare")
    stage.run()
    client.cancel("t")
    stage.run()
    answer(served, basic.CancelOk("t"))
    client.close()
    stage.run()
    stage.client.close()
    stage.run()
    assert stage.client.finished
    assert stage.server.finished
    assert not stage.violations
    return stage


def written(dialect: ChannelDialect) -> str:
    """The conversation, a line for each frame."""
    return "".join([f"{line}\n" for speaker, octets in conversation(dialect).turns for line in frames(speaker, octets)])


def place(dialect: ChannelDialect) -> Path:
    return PLACE / f"{dialect.name.replace(' ', '-')}.txt"


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_the_conversation_is_as_it_was_written_down(dialect: ChannelDialect) -> None:
    assert written(dialect) == place(dialect).read_text(encoding="utf-8")


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("piece", [1, 7, 4096])
def test_octets_in_pieces_are_the_same_conversation(dialect: ChannelDialect, piece: int) -> None:
    """However the octets of either side are cut, both are told the same and say the same."""
    whole, cut = conversation(dialect), conversation(dialect, piece)
    assert cut.told == whole.told
    assert cut.turns == whole.turns


def fed(dialect: ChannelDialect, role: str, piece: int, size: int) -> Callable[[], object]:
    """Hearing so many messages, and a large one."""
    stage = Stage(dialect)
    client, served = stage.open()
    client.consume("q", "t", no_ack=True, no_wait=True)
    stage.run()
    for number in range(size + 1):
        body = bytes(50 * size if number == size else number % 3)
        if role == "client":
            served.deliver("t", body)
        else:
            client.publish("e", "k", body)
    hearing, saying = (stage.client, stage.server) if role == "client" else (stage.server, stage.client)
    octets = saying.data_to_send()

    def hear() -> None:
        for at in range(0, len(octets), piece):
            hearing.receive_data(octets[at : at + piece])
            while hearing.next_event() is not None:
                pass

    return hear


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("role", ["client", "server"])
@pytest.mark.parametrize("piece", [1, 7, 4096])
def test_twice_the_octets_cost_twice_the_steps(dialect: ChannelDialect, role: str, piece: int) -> None:
    assert_linear(lambda size: fed(dialect, role, piece, size), 10 if piece == 1 else 40)


if __name__ == "__main__":
    for each in DIALECTS:
        place(each).write_text(written(each), encoding="utf-8")
