"""Channels by number, by name and by whether they are free."""

from __future__ import annotations

import pytest
from tests.carriers import BareCarrier

from amqp_sansio.engine.channel_numbers import Channels
from amqp_sansio.engine.session import Session
from amqp_sansio.errors import LimitError
from amqp_sansio.spec.session import Attached, Detached
from amqp_sansio.wire.layouts.v0_10 import LAYOUT


def attached(channels: Channels, number: int, name: bytes) -> Session:
    session = Session(name, "client")
    channel = channels.at(number)
    channel.bind(session)
    session.attach()
    channel.receive_control(Attached(name), 0)
    return session


def test_the_lowest_free_one_from_1_on_and_0_at_last() -> None:
    channels = Channels(BareCarrier("client"), LAYOUT)
    for number in (1, 2, 3):
        assert channels.free(4).number == number
        attached(channels, number, b"%d" % number)
    assert channels.free(4).number == 0
    attached(channels, 0, b"0")
    with pytest.raises(LimitError) as caught:
        channels.free(4)
    assert (caught.value.limit, caught.value.asked) == ("channels", 5)


def test_a_channel_is_free_again_when_its_session_is_detached() -> None:
    carrier = BareCarrier("client")
    channels = Channels(carrier, LAYOUT)
    session = attached(channels, 1, b"a")
    attached(channels, 2, b"b")
    assert channels.free(5).number == 3
    assert (channels.session_named(b"a"), channels.attached) == (session, 2)
    session.detach()
    channels.at(1).receive_control(Detached(b"a", 0), 0)
    channels.forget(1)
    channels.sweep(channels.at(1))
    assert (channels.session_named(b"a"), channels.attached) == (None, 1)
    assert channels.free(5).number == 1


def test_the_lowest_one_is_found_whatever_was_given_up_last() -> None:
    """Of several channels that are free again the lowest is taken, also when a higher one became free behind it."""
    channels = Channels(BareCarrier("client"), LAYOUT)
    for number in (1, 2, 3):
        assert channels.free(5).number == number
        attached(channels, number, b"%d" % number)
    for number in (1, 3):
        channels.at(number).session = None
        channels.forget(number)
        channels.used.pop(number)
    assert channels.free(5).number == 1


@pytest.mark.parametrize("swept", [False, True])
def test_channel_0_is_the_last_one_also_when_it_was_given_up_last(swept: bool) -> None:
    """As long as another channel is free, a session does not get channel 0, whichever became free at last."""
    channels = Channels(BareCarrier("client"), LAYOUT)
    sessions: dict[int, Session] = {}
    for number in (1, 2, 3, 0):
        assert channels.free(4).number == number
        sessions[number] = attached(channels, number, b"%d" % number)
    for number in (2, 0):
        if swept:
            sessions[number].detach()
            channels.at(number).receive_control(Detached(b"%d" % number, 0), 0)
            channels.sweep(channels.at(number))
        else:
            channels.forget(number)
            channels.used.pop(number)
    assert channels.free(4).number == 2


def test_an_unused_one_is_forgotten_and_a_used_one_is_not() -> None:
    channels = Channels(BareCarrier("client"), LAYOUT)
    channels.at(7)
    attached(channels, 8, b"a")
    channels.sweep(channels.at(7))
    channels.sweep(channels.at(8))
    assert [channel.number for channel in channels.all()] == [8]
