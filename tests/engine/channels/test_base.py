"""What both halves of a channel have in common: its close, and what may not be said then."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.channels.stage import DIALECTS, Stage

from amqp_sansio.engine.channels.base import fewest, one_by_one, waits
from amqp_sansio.errors import ChannelClosedError, EncodeError, LocalProtocolError
from amqp_sansio.events import ChannelClosed, Origin
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.kernel.serials import MutableRangeSet, RangeSet
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


def test_the_answer_to_our_close_leaves_no_method_in_doubt() -> None:
    """The other side has handled all that was sent before the close."""
    stage = Stage()
    client, _ = stage.open()
    client.publish("", "q", b"m")
    client.close()
    stage.run()
    (closed,) = [each for each in stage.client_events if isinstance(each, ChannelClosed)]
    assert (closed.origin, closed.concerned, closed.in_doubt) == (Origin.LOCAL, RangeSet(), RangeSet())


def test_no_wait_has_two_spellings() -> None:
    assert waits(basic.Consume("q"))
    assert not waits(basic.Consume("q", no_wait=True))
    assert not waits(basic.Consume("q", no_wait=1))  # type: ignore[arg-type]  # the bit is set
    assert waits(basic.Get("q"))


TOP = (1 << 32) - 1


@given(st.sets(st.integers(1, 30), max_size=20), st.data())
def test_what_is_named_is_what_was_asked_for_and_no_more(outstanding: set[int], data: st.DataObject) -> None:
    """What the methods mean, one after the other, is exactly the set; and only the oldest ones go together."""
    tags = {tag for tag in outstanding if data.draw(st.booleans())}
    left, meant = set(outstanding), set[int]()
    named = list(fewest(RangeSet.of(*tags), MutableRangeSet(RangeSet.of(*outstanding)), 31))
    for tag, multiple in named:
        found = {each for each in left if each == tag or (multiple and each <= tag)}
        assert tag in found
        assert len(found) > 1 or not multiple
        left -= found
        meant |= found
    assert meant == tags
    oldest = 0
    while oldest < len(outstanding) and sorted(outstanding)[oldest] in tags:
        oldest += 1
    assert len(named) == len(tags) - max(0, oldest - 1)  # nothing that means the same is shorter


@pytest.mark.parametrize(
    ("tags", "named"),
    [
        (RangeSet(), []),
        (RangeSet.of(TOP - 1), [(TOP - 1, False)]),
        (RangeSet([(TOP - 1, 1)]), [(1, True)]),
        (RangeSet([(TOP, 1)]), [(TOP, False), (0, False), (1, False)]),
    ],
)
def test_tags_go_over_the_top(tags: RangeSet, named: list[tuple[int, bool]]) -> None:
    assert list(fewest(tags, MutableRangeSet(RangeSet([(TOP - 1, 2)])), 3)) == named


def test_one_by_one() -> None:
    assert list(one_by_one(RangeSet([(TOP, 0), (5, 6)]))) == [(TOP, False), (0, False), (5, False), (6, False)]
