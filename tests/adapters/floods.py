"""What every adapter's client must do beside a server that does not stop speaking."""

from __future__ import annotations

import tracemalloc

import pytest
from tests.adapters.loops import Loop
from tests.adapters.scenarios import refused
from tests.adapters.strangers import Hostile, accepts, heartbeats, someone, transfers

from amqp_sansio.errors import SessionLost
from amqp_sansio.wire.segments import frame_control

MIB = 1024 * 1024


def test_a_server_that_sends_beyond_the_credit_is_dropped_and_memory_stays_flat(loop: Loop) -> None:
    """The session ends with the violation; the close that follows is not waited for however much comes behind it."""

    async def main(url: str) -> None:
        async with loop.connect(url, close_timeout=60.0) as connection, connection.session() as session:
            async with session.subscribe("q", prefetch=10) as subscription:
                while True:
                    await subscription.receive()

    with Hostile(transfers, 64 * MIB).serving() as server:
        tracemalloc.start()
        with pytest.raises(SessionLost, match=r"the other side broke message.flow: beyond the credit"):
            loop.run(lambda: main(server.url))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 4 * MIB
    assert server.sent < 48 * MIB


@pytest.mark.parametrize("said", [accepts, heartbeats])
def test_a_deadline_passes_however_much_comes(loop: Loop, said: object) -> None:
    """Who waits no longer than so many seconds is told so while a server floods, and not when that has stopped."""

    async def main(url: str) -> None:
        async with loop.connect(url, close_timeout=0.5) as connection, connection.session() as session:
            async with session.subscribe("q") as subscription:
                await loop.receive(subscription, 0.1)

    with Hostile(said, 64 * MIB).serving() as server:  # type: ignore[arg-type]  # one of those above
        with pytest.raises(loop.timed_out):
            loop.run(lambda: main(server.url))
    assert server.sent < 48 * MIB


def test_a_violation_before_open_is_answered_at_once(loop: Loop) -> None:
    """However long the server keeps its socket open."""
    with someone(b"AMQP\1\1\0\x0a" + frame_control(0, b"\1\x77"), hold=True, patience=5.0) as url:
        assert "the other side broke the protocol" in refused(loop, url)
