"""What it costs to say something on a channel; checks are tried in `test_client` and `test_server`, limits in `limited`."""

from __future__ import annotations

import tracemalloc

from tests.engine.channels.stage import Stage

from amqp_sansio.kernel.serials import RangeSet


def test_a_million_tags_in_order_take_constant_memory() -> None:
    client, _ = Stage().open()
    book = client._deliveries

    def deliver(count: int) -> None:
        for _ in range(count):
            book.deliver(book.tags.last + 1, False)
            client._published.give()

    deliver(10)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    deliver(1_000_000)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 2000
    assert client.unsettled == client.in_doubt == RangeSet([(1, 1_000_010)])
