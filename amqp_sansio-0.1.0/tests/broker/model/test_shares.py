"""How the levels of priority of one queue take turns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.model.things import Sink, bodies, publish

from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.shares import Shares


def shared(priorities: list[int], **arguments: int) -> VirtualHost:
    """A queue `q` with a message for each of these priorities, whose bodies say priority and place."""
    host = VirtualHost()
    host.declare_queue("q", arguments={"qpid.priorities": 10, **arguments})
    for at, priority in enumerate(priorities):
        publish(host, "", "q", b"%d.%d" % (priority, at), priority=priority)
    return host


def reference(bodies: list[bytes], shares: list[int]) -> list[bytes]:
    """Lists by priority, of which each gives its share in turn, from the highest to the lowest, again and again."""
    levels = {level: [body for body in bodies if body.startswith(b"%d." % level)] for level in range(10)}
    found: list[bytes] = []
    while any(levels.values()):
        for level in range(9, -1, -1):
            share = shares[level] or len(bodies)
            found += levels[level][:share]
            del levels[level][:share]
    return found


@given(st.lists(st.integers(0, 9), max_size=40), st.lists(st.integers(0, 4), min_size=10, max_size=10))
def test_each_level_gives_its_share_before_the_next_one(priorities: list[int], shares: list[int]) -> None:
    host = shared(priorities, **{"qpid.fairshare": 0, **{f"qpid.fairshare-{n}": share for n, share in enumerate(shares)}})
    everything = bodies(host.queues["q"])
    sink = Sink()
    host.subscribe("q", sink)
    host.dispatch(1000)
    assert sink.bodies == reference(everything, shares)


def test_what_nobody_took_does_not_count() -> None:
    host = shared([9] * 4 + [1], **{"qpid.fairshare": 2})
    queue = host.queues["q"]
    short, sink = Sink(credit=0), Sink()
    for consumer in (short, sink):
        host.subscribe("q", consumer)
    host.dispatch(1000)
    assert short.asked == 1
    assert sink.bodies == [b"9.0", b"9.1", b"1.4", b"9.2", b"9.3"]
    assert queue.available == 0


def test_what_comes_back_has_had_its_turn() -> None:
    host = shared([9] * 3 + [1], **{"qpid.fairshare": 1})
    queue = host.queues["q"]
    first = queue.take()
    assert first is not None
    host.release([first])
    taken = [queue.take() for _ in range(4)]
    assert [entry and entry.message.body for entry in taken] == [b"1.3", b"9.0", b"9.1", b"9.2"]
    assert queue.take() is None


def test_a_level_that_is_alone_has_its_share_again_and_again() -> None:
    host = shared([9] * 5, **{"qpid.fairshare": 2})
    queue = host.queues["q"]
    for _ in range(3):
        assert queue.take() is not None
    publish(host, "", "q", b"low", priority=1)
    taken = [queue.take() for _ in range(3)]
    assert [entry and entry.message.body for entry in taken] == [b"9.3", b"low", b"9.4"]


@pytest.mark.parametrize(("most", "order"), [((1, 1, 1), [1, 0, 2]), ((1, 1, 0), [2, 1, 0]), ((1, 1, 2), [2, 1, 0])])
def test_the_turn_stays_with_a_level_that_has_not_had_its_share(most: tuple[int, ...], order: list[int]) -> None:
    shares = Shares(most)
    assert shares.order() == [2, 1, 0]
    shares.took(2)
    assert shares.order() == order
    shares.undo()
    assert shares.order() == [2, 1, 0]
