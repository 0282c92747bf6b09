"""Whatever the other side says on channels, nothing raises, and the end is told once (law 1)."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from tests.engine.channels.stage import DIALECTS, Stage
from tests.families.channels import content

from amqp_sansio.dialects import ChannelDialect
from amqp_sansio.events import ChannelClosed, ConnectionClosed
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import BodyContent, Method
from amqp_sansio.wire.method_frames import put_frame

VALUES: dict[str, list[object]] = {
    "str8": ["", "t", "q", "here"], "uint8": [0, 1], "uint16": [0, 1, 200, 404], "uint32": [0, 1],
    "uint64": [0, 1, 2, 3, 1 << 33],
    "bit": [False, True], "table": [{}, {"k": 1}], "vbin8": [b""], "vbin32": [b"", b"r"], "text32": ["", "r"],
}  # fmt: skip


LIKELY = {
    "client": ("basic.deliver", "basic.deliver", "basic.return", "basic.ack", "basic.nack", "basic.cancel", "channel.flow"),
    "server": (
        "basic.publish", "basic.consume", "basic.cancel", "basic.ack", "basic.reject", "basic.nack", "basic.recover",
        "basic.qos", "tx.select", "tx.commit", "tx.rollback", "confirm.select", "channel.flow", "queue.declare",
    ),
}  # fmt: skip
"""What does not end the conversation at once, by who hears it."""


def anything(chance: Random, dialect: ChannelDialect, who: str, tag: int) -> bytes:
    """A method with likely arguments, with or without a content, now and then on a channel that is not open or cut short."""
    codec = dialect.codec
    kinds = [kind for kind in codec.methods.kinds.values() if issubclass(kind, Method)]
    likely = [kind for kind in kinds if kind.VERB in LIKELY[who]]
    kind = chance.choice(likely if chance.random() < 0.9 else kinds)
    said: dict[str, object] = {}
    for name, of, send in codec.methods.arguments[kind]:
        if send is None and isinstance(of, str):
            said[name] = chance.choice(VALUES.get(of, [None]))
    if kind.VERB == "basic.deliver" and chance.random() < 0.9:
        said.update(consumer_tag="t", delivery_tag=tag + 4)
    if "body" in kind.FIELDS:
        said["body"] = BodyContent(b"m")
    try:
        payload = codec.methods.encode(kind(**{name: value for name, value in said.items() if value is not None}))
    except (TypeError, ValueError):
        return b""
    if chance.random() < 0.02:
        payload = payload[: chance.randint(0, len(payload))]
    channel = chance.choice((1, 1, 1, 2, 2, 2, 2, 2, 3) if chance.random() < 0.2 else (1, 2))
    octets = put_frame(1, channel, payload)
    if kind.VERB in codec.methods.contents or chance.random() < 0.02:
        of_class = int.from_bytes(payload[:2], "big") if len(payload) >= 2 else 60
        octets += content(b"m" * chance.choice((0, 3)), channel, of=of_class)
    return octets


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("who", ["client", "server"])
def test_nothing_that_is_said_raises(dialect: ChannelDialect, who: str) -> None:
    seen: Counter[str] = Counter()
    for seed in range(150):
        chance = Random(seed)
        stage = Stage(dialect, limits=Limits(calls=20, deliveries=20, subscriptions=20))
        for _ in range(2):
            client, served = stage.open()
            client.consume("q", "t", no_wait=True)
            client.publish("x", "k", b"m", mandatory=True)
            client.qos(1)
            client.get("q")
            if dialect.codec.extended and chance.random() < 0.5:
                client.select_confirm(no_wait=True)
            stage.run()
            for _ in range(4):
                served.deliver("t", b"m")
            stage.run()
        heard = stage.client if who == "client" else stage.server
        events = [*stage.take()[who == "server"]]
        for tag in range(1, 60):
            heard.receive_data(anything(chance, dialect, who, tag))
            events += heard.events()
            heard.data_to_send()
        heard.receive_eof()
        events += heard.events()
        seen.update([type(event).__name__ for event in events])
        assert [type(event) for event in events].count(ConnectionClosed) == 1
        assert isinstance(events[-1], ConnectionClosed)
        ends = Counter([event.channel for event in events if isinstance(event, ChannelClosed)])
        assert ends[1] >= 1
    assert len(seen) > (5 if who == "client" else 4), seen
