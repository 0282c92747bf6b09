"""What it costs to say something on a channel; checks are tried in `test_client` and `test_server`, limits in `limited`."""

from __future__ import annotations

import tracemalloc

import pytest
from tests.engine.channels.stage import DIALECTS, Stage

from amqp_sansio.dialects import ChannelDialect
from amqp_sansio.errors import LimitError
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import Limits


@pytest.mark.parametrize("count", [50_000, pytest.param(1_000_000, marks=pytest.mark.soak)])
def test_tags_in_order_take_constant_memory(count: int) -> None:
    client, _ = Stage().open()
    book = client._deliveries

    def deliver(count: int) -> None:
        for _ in range(count):
            book.deliver(book.tags.last + 1, False)
            client._published.give_next()

    deliver(10)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    deliver(count)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 2000
    assert client.unsettled == client.in_doubt == RangeSet([(1, count + 10)])


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_what_the_version_does_not_answer_is_no_call_that_waits(dialect: ChannelDialect) -> None:
    client, _ = Stage(dialect, client_limits=Limits(calls=1)).open()
    client.qos(1)
    if "basic.recover" in client._channels.answerable:
        with pytest.raises(LimitError, match="calls"):
            client.recover()
    else:
        client.recover()
    client.recover_async()
    with pytest.raises(LimitError, match="calls"):
        client.qos(2)
