"""The limits of channels of the older dialects: does an amount pass under one?  For `tests/test_limits.py`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.engine.channels.stage import Stage, answer
from tests.families.channels import frame

from amqp_sansio.dialects import AMQP_0_9_1
from amqp_sansio.engine.channels.client import Channel
from amqp_sansio.errors import LimitError
from amqp_sansio.events import ConnectionClosed, ConsumerCancelled, Event
from amqp_sansio.limits import Limits
from amqp_sansio.spec.methods import basic, channel, confirm, tx

_GENEROUS = Limits()


def _passes(limit: str, amount: int, say: Callable[[int], object]) -> bool:
    """Says something so many times; only the last one may be refused, by this limit."""
    for number in range(amount - 1):
        say(number)
    try:
        say(amount)
    except LimitError as error:
        return error.limit != limit
    return True


def _judged(limit: str, events: list[Event]) -> bool:
    """Whether the other side was let pass; else the connection has ended with 506 by this limit."""
    ends = [each for each in events if isinstance(each, ConnectionClosed)]
    for end in ends:
        assert end is events[-1]
        assert end.violation is not None
        assert (end.violation.rule, end.violation.code) == (f"limits.{limit}", 506)
    return not ends


def channel_calls(limits: Limits, amount: int) -> bool:
    client, _ = Stage(limits=_GENEROUS, client_limits=limits).open()
    client.purge_queue("q", no_wait=True)  # it does not wait
    return _passes("calls", amount, lambda _: client.qos(1))


def channel_calls_of_the_client(limits: Limits, amount: int) -> bool:
    stage = Stage(limits=limits, client_limits=_GENEROUS)
    client, _ = stage.open()
    for _ in range(amount):
        client.qos(1)
    stage.run()
    return _judged("calls", stage.take()[1])


def channel_flows_in_a_content_of_ours(limits: Limits, amount: int) -> bool:
    stage = Stage(limits=_GENEROUS, client_limits=limits)
    client, served = stage.open()
    client.publish("", "q", size=1)
    for _ in range(amount):
        served.send(channel.Flow(True))
    stage.run()
    return _judged("calls", stage.take()[0])


def channel_cancels_in_a_content_of_ours(limits: Limits, amount: int) -> bool:
    """The server ends consumers that it was to name itself, any number of them, while a content of ours is under way."""
    stage = Stage(limits=_GENEROUS, client_limits=limits)
    client, _ = stage.open()
    client.consume("q", no_wait=True)
    client.publish("", "q", size=1)
    stage.run()
    stage.client.receive_data(b"".join([frame(AMQP_0_9_1, "basic.cancel", consumer_tag=str(at)) for at in range(amount)]))
    events = list(stage.client.events())
    assert sum([isinstance(each, ConsumerCancelled) for each in events]) == len(client._owed)
    return _judged("calls", events)


def channel_ranges_of_a_transaction(limits: Limits, amount: int) -> bool:
    """Every other delivery is settled in a transaction, and the others by their sender."""
    client, _ = _transacted(limits, _GENEROUS, amount)
    fine = _passes("ranges", amount, lambda at: client.ack(2 * min(at, amount - 1) + 1))
    if not fine:
        with pytest.raises(LimitError, match="ranges"):
            client.send(basic.Ack(2 * amount - 1, False))
        assert 2 * amount - 1 in client.unsettled
    client.commit()
    if not fine:
        client.ack(2 * amount - 1)
    return fine


def channel_ranges_of_a_transaction_of_the_client(limits: Limits, amount: int) -> bool:
    client, stage = _transacted(_GENEROUS, limits, amount)
    for at in range(1, amount + 1):
        client.ack(2 * at - 1)
    stage.run()
    return _judged("ranges", stage.take()[1])


def _transacted(client_limits: Limits, limits: Limits, amount: int) -> tuple[Channel, Stage]:
    """A channel on which so many deliveries are to be settled, with one between them that is not, in a transaction."""
    stage = Stage(limits=limits, client_limits=client_limits)
    client, served = stage.open()
    client.consume("q", "acked", no_wait=True)
    client.consume("q", "not", no_ack=True, no_wait=True)
    client.select_tx()
    stage.run()
    answer(served, tx.SelectOk())
    for _ in range(amount):
        served.deliver("acked", b"")
        served.deliver("not", b"")
    stage.run()
    return client, stage


def channel_deliveries(limits: Limits, amount: int) -> bool:
    stage = Stage(limits=limits, client_limits=_GENEROUS)
    client, served = stage.open()
    client.consume("q", "t", no_wait=True)
    stage.run()
    fine = _passes("deliveries", amount, lambda _: served.deliver("t", b"m"))
    stage.run()
    client.ack(1)
    stage.run()
    served.deliver("t", b"there is room again")
    return fine


def channel_deliveries_that_are_got(limits: Limits, amount: int) -> bool:
    """Those that are on their way count, for their messages may all come."""
    client, _ = Stage(limits=_GENEROUS, client_limits=limits).open()
    fine = _passes("deliveries", amount, lambda _: client.get("q"))
    client.get("q", no_ack=True)  # it is settled as it comes
    return fine


def channel_deliveries_of_the_server(limits: Limits, amount: int) -> bool:
    stage = Stage(limits=_GENEROUS, client_limits=limits)
    client, served = stage.open()
    client.consume("q", "t", no_wait=True)
    stage.run()
    for _ in range(amount):
        served.deliver("t", b"m")
    stage.run()
    return _judged("deliveries", stage.take()[0])


def unconfirmed(limits: Limits, amount: int) -> bool:
    stage = Stage(limits=_GENEROUS, client_limits=limits)
    client, served = stage.open()
    for _ in range(amount):
        client.publish("x", "k")  # a plain channel keeps one range of them
    client.select_confirm()
    stage.run()
    answer(served, confirm.SelectOk())
    stage.run()
    fine = _passes("unconfirmed", amount, lambda _: client.publish("x", "k"))
    stage.run()
    served.confirm(1)
    stage.run()
    client.publish("x", "k")
    return fine


def channel_consumers(limits: Limits, amount: int) -> bool:
    client, _ = Stage(limits=_GENEROUS, client_limits=limits).open()
    fine = _passes("subscriptions", amount, lambda number: client.consume("q", str(number) if number else ""))
    if not fine:
        with pytest.raises(LimitError, match="subscriptions"):
            client.consume("q")
    return fine


def channel_consumers_of_the_client(limits: Limits, amount: int) -> bool:
    stage = Stage(limits=limits, client_limits=_GENEROUS)
    client, _ = stage.open()
    for at in range(amount):
        client.consume("q", str(at))
    stage.run()
    return _judged("subscriptions", stage.take()[1])


def channels_of_a_client(limits: Limits, amount: int) -> bool:
    stage = Stage(limits=_GENEROUS, client_limits=limits)
    return _passes("channels", amount, lambda _: stage.client.channel())


def answer_octets(limits: Limits, amount: int) -> bool:
    """Whether so many octets of cancel-ok may wait to be taken; what we say ourselves does not count."""
    stage = Stage(limits=_GENEROUS, client_limits=limits)
    client, served = stage.open()
    tags = ["a", "b" * (amount - 27)]  # 13 octets of a frame besides its tag
    for tag in tags:
        client.consume("q", tag, no_wait=True)
    stage.run()
    client.publish("x", "k", bytes(1000))
    stage.take()
    for tag in tags:
        served.send(basic.Cancel(tag, False))
    stage.say_server()
    events = stage.take()[0]
    fine = not any(isinstance(each, ConnectionClosed) for each in events)
    assert [type(each) for each in events[:2]] == [ConsumerCancelled, ConsumerCancelled]
    if not fine:
        assert isinstance(events[-1], ConnectionClosed)
        assert events[-1].violation is not None
        assert events[-1].violation.rule == "limits.answer_octets"
        assert (stage.client.data_to_send(), stage.client.finished) == (b"", True)
    return fine
