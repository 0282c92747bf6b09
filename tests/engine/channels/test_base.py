"""What both halves of a channel have in common: its close, and what may not be said then."""

from __future__ import annotations

import pytest
from tests.engine.channels.stage import DIALECTS, Stage

from amqp_sansio.engine.channels.base import waits
from amqp_sansio.errors import ChannelClosedError, EncodeError, LocalProtocolError
from amqp_sansio.events import ChannelClosed, Origin
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.spec.methods import basic, queue
from amqp_sansio.spec.reply_codes import ReplyCode


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("who", ["client", "server"])
def test_either_side_closes_and_says_why(dialect: object, who: str) -> None:
    stage = Stage(dialect)  # type: ignore[arg-type]
    client, served = stage.open()
    closer = client if who == "client" else served
    with pytest.raises(EncodeError):
        closer.close(ReplyCode.NOT_FOUND, "x" * 256)
    with pytest.raises(EncodeError, match=r'takes the name of one that the dialect has, such as "queue.bind", not \'bind\''):
        closer.close(ReplyCode.NOT_FOUND, "", "bind")
    refused = (
        (TypeError, "ReplyCode") if COMPILED else (LocalProtocolError, r"channel.close with code 999 .*; legal now: 200, 310")
    )
    with pytest.raises(refused[0], match=refused[1]):
        closer.close(999)  # type: ignore[arg-type]
    closer.close(ReplyCode.NOT_FOUND, "no such thing", "queue.bind")
    for said in (closer.close, lambda: closer.send(queue.Purge("q"))):
        with pytest.raises(ChannelClosedError, match="closed by us: 404 no such thing"):
            said()
    stage.run()
    heard = {"client": stage.client_events, "server": stage.server_events}
    other = "server" if who == "client" else "client"
    assert [(each.origin, each.code, each.text, each.method) for each in heard[who] if isinstance(each, ChannelClosed)] == [
        (Origin.LOCAL, 404, "no such thing", "queue.bind")
    ]
    assert [(each.origin, each.code, each.text, each.method) for each in heard[other] if isinstance(each, ChannelClosed)] == [
        (Origin.PEER, 404, "no such thing", "queue.bind")
    ]
    assert stage.client._channels.used == stage.server._channels.used == {}
    assert stage.violations == []


def test_no_wait_has_two_spellings() -> None:
    assert waits(basic.Consume("q"))
    assert not waits(basic.Consume("q", no_wait=True))
    assert not waits(basic.Consume("q", no_wait=1))  # type: ignore[arg-type]  # the bit is set
    assert waits(basic.Get("q"))
