"""What asyncio and trio must both do, written once for whoever awaits: a `Loop` brings its own ways."""

from __future__ import annotations

import ssl
import tracemalloc

import pytest
import trustme
from tests.adapters.loops import Loop, until
from tests.adapters.served import Served
from tests.adapters.strangers import demanding, eavesdropping, gone_at, redirecting, someone

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.conversation.client import Client
from amqp_sansio.conversation.message import Message
from amqp_sansio.conversation.retry import NEVER, RetryPolicy
from amqp_sansio.conversation.session import Session
from amqp_sansio.engine.sasl import PlainServer
from amqp_sansio.errors import ConnectFailed, ConnectionLost, MessageReturned, SessionFailed, SessionLost, SharedSessionFailed
from amqp_sansio.events import AttachRequested, Origin
from amqp_sansio.limits import Limits
from amqp_sansio.spec import queue
from amqp_sansio.spec.queue import QueueQueryResult
from amqp_sansio.spec.xids import xid

QUICK = RetryPolicy(attempts=40, first=0.02, factor=1.0, jitter=0.0, give_up=10.0)


BEAT = 16
"""Octets of a heartbeat."""


async def depth(session: Session, name: str) -> int:
    answer = await session.execute(queue.Query(name))
    assert isinstance(answer, QueueQueryResult)
    return answer.message_count or 0


async def there_and_back(loop: Loop, url: str, count: int = 50, tls: ssl.SSLContext | None = None) -> list[bytes]:
    """Messages published, confirmed, consumed and accepted."""
    found = []
    async with loop.connect(url, tls=tls) as connection, connection.session() as session:
        await session.execute(queue.Declare("q"))
        tickets = [await session.send("", "q", b"%d" % number) for number in range(count)]
        for ticket in tickets:
            await ticket
        async with session.subscribe("q", prefetch=7) as subscription:
            async for message in subscription:
                found.append(message.body)
                message.accept()
                if len(found) == count:
                    break
    return found


def test_there_and_back(loop: Loop) -> None:
    with Served() as served:
        assert loop.run(lambda: there_and_back(loop, served.url)) == [b"%d" % number for number in range(50)]
        assert (served.depth("q"), served.acquired("q"), served.sessions()) == (0, 0, 0)
        assert [each.origin for each in served.closed] == [Origin.PEER]


def test_by_tls(loop: Loop) -> None:
    authority = trustme.CA()
    here, there = ssl.create_default_context(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.configure_trust(here)
    authority.issue_cert("localhost").configure_cert(there)
    with Served(tls=there) as served:
        assert len(loop.run(lambda: there_and_back(loop, served.url, tls=here))) == 50
        with pytest.raises(ConnectFailed, match="its certificate is not accepted: unable to get local issuer"):
            loop.run(lambda: there_and_back(loop, served.url))
        with pytest.raises(ConnectFailed, match="ended the connection before it was open"):
            loop.run(lambda: there_and_back(loop, served.url.replace("amqps", "amqp")))
    with Served() as served, pytest.raises(ConnectFailed, match="TLS failed"):
        loop.run(lambda: there_and_back(loop, served.url.replace("amqp", "amqps"), tls=here))


def refused(loop: Loop, url: str, tls: ssl.SSLContext | None = None) -> str:
    """What a user is told who cannot connect: one sentence."""

    async def main() -> None:
        async with loop.connect(url, tls=tls):
            raise AssertionError

    with pytest.raises(ConnectFailed) as caught:
        loop.run(main)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_nobody_and_nobodys_name(loop: Loop) -> None:
    assert refused(loop, "amqp://127.0.0.1:1/") == "127.0.0.1:1: connection refused: nobody listens there"


def test_a_wrong_virtual_host_and_a_wrong_password_are_reported_by_the_other_side(loop: Loop) -> None:
    with Served(ServerConfig(virtual_hosts=("here",))) as served:
        assert "no such virtual host" in refused(loop, served.url + "there")
        assert "the server offers ANONYMOUS" in refused(loop, served.url.replace("//", "//joe:secret@") + "here")
        assert "secret" not in refused(loop, served.url.replace("//", "//joe:secret@") + "here")


def test_the_next_host_is_tried(loop: Loop) -> None:
    with Served() as served:
        url = served.url.replace("localhost", "127.0.0.1:1,localhost")
        assert len(loop.run(lambda: there_and_back(loop, url))) == 50


def test_the_next_host_is_tried_when_one_says_nothing(loop: Loop) -> None:
    """The end of the first connection does not count as that of the second."""
    with Served() as served, someone(b"", hold=True, patience=0.5) as silent:
        url = silent.replace("/?", f",localhost:{served.port}/?")
        assert len(loop.run(lambda: there_and_back(loop, url))) == 50


def test_a_redirect_is_followed(loop: Loop) -> None:
    with Served() as served, redirecting(f"amqp:tcp:localhost:{served.port}") as url:
        assert len(loop.run(lambda: there_and_back(loop, url))) == 50


def test_a_redirect_to_no_host_is_reported(loop: Loop) -> None:
    with redirecting("amqp:tcp:" + "x" * 64) as url:
        assert "redirected to what cannot be understood" in refused(loop, url)


@pytest.mark.rule("connection.redirect.usage")
@pytest.mark.parametrize("where", ["amqp:tcp:localhost:{}", "localhost:{}", "amqp:tcp:127.0.0.1:{}"])
def test_a_redirect_from_tls_to_clear_text_is_followed_by_tls_alone(loop: Loop, where: str) -> None:
    """Whatever the broker names and whatever the user allows else: nobody hears a word of ours there, the password least."""
    authority = trustme.CA()
    here, there = ssl.create_default_context(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.configure_trust(here)
    authority.issue_cert("localhost").configure_cert(there)
    config = ServerConfig(mechanisms=(PlainServer(lambda user, password: True),))
    with eavesdropping() as (port, heard), redirecting(where.format(port), config, there) as url:
        url = url.replace("//", "//ann:hush@") + "?insecure_plain=1&trust_redirects=1"
        refused(loop, url, here)
    assert [octets[:2] for octets in heard] == [b"\x16\x03"]  # a handshake of TLS
    assert b"hush" not in heard[0]


def test_an_alert_of_the_other_side_is_reported(loop: Loop) -> None:
    authority = trustme.CA()
    here, there = ssl.create_default_context(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.configure_trust(here)
    authority.issue_cert("localhost").configure_cert(there)
    there.verify_mode = ssl.CERT_REQUIRED
    with demanding(there) as url:
        assert "TLS failed: tlsv13 alert certificate required" in refused(loop, url, here)


def test_our_own_mistakes_fail_the_pending_calls(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Client) -> None:
        raise ZeroDivisionError("none")

    monkeypatch.setattr(Client, "begin", broken)
    with pytest.raises(ConnectionLost, match=r"it is broken .ZeroDivisionError: none.; please report this"):
        loop.run(lambda: there_and_back(loop, "amqp://127.0.0.1:1/"))


def test_a_broker_that_is_gone_whenever_we_want_something_is_not_tried_for_ever(loop: Loop) -> None:
    policy = RetryPolicy(attempts=3, first=0.01, factor=1.0)

    async def main(url: str) -> None:
        async with loop.connect(url, retry=policy) as connection, connection.session() as session:
            await session.sync()

    with gone_at(AttachRequested) as url, pytest.raises(SessionLost, match="without a close"):
        loop.run(lambda: main(url))


def test_errors_reach_the_waiting_caller(loop: Loop) -> None:
    async def main(url: str) -> None:
        async with loop.connect(url) as connection:
            with pytest.raises(SessionFailed, match=r"404 to queue.delete"):
                async with connection.session() as session:
                    await session.execute(queue.Delete("nowhere"))
            with pytest.raises(MessageReturned):
                async with connection.session() as session:
                    await session.publish("", "nowhere", b"", mandatory=True)

    with Served() as served:
        loop.run(lambda: main(served.url))


@pytest.mark.parametrize("retry", [NEVER, QUICK])
@pytest.mark.parametrize("detached", [True, False])
def test_an_error_that_was_handled_is_not_raised_at_the_end_of_the_block(
    loop: Loop, detached: bool, retry: RetryPolicy
) -> None:
    """Neither where the broker detaches the session at once, nor where it does so never."""

    async def main(served: Served) -> None:
        url, config = f"{served.url}?heartbeat=0", ClientConfig(limits=Limits(detach_seconds=0.5))
        ready = loop.connect(url, config=config, retry=retry, close_timeout=0.5)
        async with ready as connection, connection.session() as session:
            await session.sync()
            if not detached:
                served.refuse(session.name)
            with pytest.raises(SessionFailed):
                await session.execute(queue.Delete("nowhere"))

    with Served() as served:
        loop.run(lambda: main(served))


@pytest.mark.parametrize("retry", [NEVER, QUICK])
def test_the_end_of_a_block_tells_of_its_own_message_that_was_refused(loop: Loop, retry: RetryPolicy) -> None:
    async def main(url: str) -> None:
        async with loop.connect(url, retry=retry) as connection, connection.session() as session:
            await session.send("nowhere", "q", b"lost")

    with Served() as served, pytest.raises(SessionFailed, match=r"404 to message.transfer") as told:
        loop.run(lambda: main(served.url))
    assert not isinstance(told.value, SharedSessionFailed)


@pytest.mark.parametrize("retry", [NEVER, QUICK])
@pytest.mark.parametrize("waited", [True, False])
def test_what_sync_raised_of_a_message_is_not_raised_at_the_end_of_the_block(
    loop: Loop, waited: bool, retry: RetryPolicy
) -> None:
    """Also when the session had failed before `sync` asked."""

    async def main(url: str) -> None:
        async with loop.connect(url, retry=retry) as connection, connection.session() as session:
            await session.send("nowhere", "q", b"lost")
            if waited:
                with pytest.raises(SharedSessionFailed):
                    await session.execute(queue.Declare("q"))
            with pytest.raises(SessionFailed, match=r"404 to message.transfer") as told:
                await session.sync()
            assert not isinstance(told.value, SharedSessionFailed)

    with Served() as served:
        loop.run(lambda: main(served.url))


def test_what_the_block_raises_is_raised_as_it_is(loop: Loop) -> None:
    async def main(url: str) -> None:
        async with loop.connect(url) as connection, connection.session():
            raise KeyError("mine")

    with Served() as served:
        with pytest.raises(KeyError):
            loop.run(lambda: main(served.url))
        assert [each.origin for each in served.closed] == [Origin.PEER]


def test_transactions(loop: Loop) -> None:
    async def main(url: str) -> None:
        async with loop.connect(url) as connection, connection.session() as looking, connection.session() as session:
            await looking.execute(queue.Declare("q"))
            async with session.transaction():
                await session.send("", "q", b"x")
                assert await depth(looking, "q") == 0
            assert await depth(looking, "q") == 1
            with pytest.raises(KeyError):
                async with session.transaction():
                    await session.send("", "q", b"y")
                    raise KeyError("mine")
            await session.sync()
            assert await depth(looking, "q") == 1
            branch = xid(1, b"g", b"b")
            async with connection.session() as other:
                async with other.branch(branch):
                    await other.send("", "q", b"z")
                await other.prepare(branch)
            assert await looking.recover() == (branch,)
            await looking.commit(branch)
            assert await depth(looking, "q") == 2

    with Served() as served:
        loop.run(lambda: main(served.url))


def check_cancelled(loop: Loop, steps: int, served: Served) -> None:
    before = len(served.closed)

    async def main() -> int:
        tasks = loop.tasks()
        await loop.cancelled_after(steps, lambda: there_and_back(loop, served.url, 20))
        return loop.tasks() - tasks

    assert loop.run(main) == 0
    served.deserted()
    assert served.sessions() == 0
    for closed in served.closed[before:]:
        # A connection that was open is closed by words; one that was not may just be left.  Half a frame is neither.
        assert closed.origin in (Origin.PEER, Origin.EOF)
        assert closed.violation is None
    if "q" in served.call(lambda: served.broker.host("").queues):
        assert served.acquired("q") == 0


def test_cancelled_at_any_step_everything_ends(loop: Loop) -> None:
    """Cancelled at whatever step, everything ends: no task is left, the last frame is whole, the broker holds nothing."""
    with Served() as served:
        for steps in (*range(40), 50, 70, 100, 150):
            check_cancelled(loop, steps, served)


def test_a_slow_consumer_stops_the_broker_and_memory_stays_flat(loop: Loop) -> None:
    """However many messages wait, no more than the prefetch is here."""

    async def main(served: Served) -> int:
        async with loop.connect(served.url) as connection, connection.session() as session:
            await session.execute(queue.Declare("q"))
            for _ in range(2000):
                await session.send("", "q", b"x" * 10_000)
            await session.sync()
            tracemalloc.start()
            async with session.subscribe("q", prefetch=10) as subscription:
                seen = 0
                async for message in subscription:
                    seen += 1
                    assert len(subscription._inbox.messages) < 10
                    if seen % 50 == 0:  # as slow as can be: all that may come is here
                        await until(loop, connection._client, lambda: len(subscription._inbox.messages) == 9)
                    message.accept()
                    if seen == 1000:
                        break
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            return peak

    with Served() as served:
        assert loop.run(lambda: main(served)) < 2_000_000  # of 20 MB


def test_a_slow_socket_stops_the_publisher_and_memory_stays_flat(loop: Loop) -> None:
    """However much a publisher has to say to a broker that reads nothing, no more than a few buffers of it is taken."""

    async def main(served: Served) -> None:
        sent = peak = 0
        async with loop.connect(served.url, close_timeout=1.0) as connection, connection.session() as session:
            session._core.most_in_flight_octets = 10**12
            served.silence()
            tracemalloc.start()
            try:
                async with loop.within(1.0):
                    while True:
                        await session.send("", "q", b"x" * 100_000)
                        sent += 100_000
            except loop.timed_out:
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            raise StopSending(sent, peak)

    with Served() as served, pytest.raises(StopSending) as stopped:
        loop.run(lambda: main(served))
    sent, peak = stopped.value.args
    assert 0 < sent < 20_000_000
    assert peak < 8_000_000


class StopSending(Exception):
    """Octets sent, and the peak of memory."""


def test_a_broker_that_falls_silent_times_out(loop: Loop) -> None:
    async def main(served: Served) -> None:
        async with loop.connect(f"{served.url}?heartbeat=1", close_timeout=0.2) as connection:
            async with connection.session() as session:
                await session.sync()
                served.silence()
                await session.sync()

    with Served() as served, pytest.raises(SessionLost, match=r"silent|heard|heartbeat"):
        loop.run(lambda: main(served))


def test_a_broker_that_falls_silent_and_takes_nothing_times_out(loop: Loop) -> None:
    async def main(served: Served) -> None:
        async with loop.connect(f"{served.url}?heartbeat=1", close_timeout=0.2) as connection:
            async with connection.session() as session:
                served.silence()
                while True:
                    await session.send("", "q", b"x" * 1_000_000)

    with Served() as served, pytest.raises(SessionLost, match=r"silent|heard|heartbeat"):
        loop.run(lambda: main(served))


def test_a_broker_that_falls_silent_at_the_end_of_a_session_times_out_without_heartbeats(loop: Loop) -> None:
    """The end of a block asks for what was published and waits for it: for `close_timeout` seconds without any progress."""

    async def main(served: Served) -> None:
        async with loop.connect(f"{served.url}?heartbeat=0", close_timeout=0.2) as connection:
            async with connection.session() as session:
                await session.execute(queue.Declare("q"))
                served.silence()
                await session.send("", "q", b"in doubt")

    with Served() as served, pytest.raises(SessionLost, match=r"no answer to execution.sync within 0.2 seconds") as lost:
        loop.run(lambda: main(served))
    assert len(lost.value.in_doubt) == 2  # the message and the barrier


def test_a_broker_that_answers_no_attach_times_out_without_heartbeats(loop: Loop) -> None:
    async def main(served: Served) -> None:
        async with loop.connect(f"{served.url}?heartbeat=0", close_timeout=0.2) as connection:
            served.silence()
            async with connection.session():
                raise AssertionError

    with Served() as served, pytest.raises(SessionLost, match=r"no answer to session.attach within 0.2 seconds"):
        loop.run(lambda: main(served))


def test_calls_on_a_session_that_was_refused_and_never_detached_raise_the_refusal(loop: Loop) -> None:
    async def main(served: Served) -> None:
        config = ClientConfig(limits=Limits(detach_seconds=0.2))
        async with (
            loop.connect(f"{served.url}?heartbeat=0", config=config, close_timeout=0.5) as connection,
            connection.session() as session,
        ):
            await session.execute(queue.Declare("q"))
            async with session.subscribe("q") as subscription:
                await session.sync()
                served.refuse(session.name)
                await subscription.receive()

    with Served() as served, pytest.raises(SessionFailed, match=r"542.*not so"):
        loop.run(lambda: main(served))


def test_heartbeats_flow_while_nobody_says_anything(loop: Loop) -> None:
    async def main(served: Served) -> None:
        async with loop.connect(f"{served.url}?heartbeat=1") as connection, connection.session() as session:
            machine = connection._client.machine
            said = machine._written
            await until(loop, connection._client, lambda: machine._written >= said + 2 * BEAT)
            await session.sync()

    with Served() as served:
        loop.run(lambda: main(served))
        assert [each.origin for each in served.closed] == [Origin.PEER]


def test_leaving_does_not_wait_for_a_broker_that_does_not_answer(loop: Loop) -> None:
    async def main(served: Served) -> None:
        async with loop.connect(served.url, close_timeout=0.1) as connection:
            await loop.turn()
            served.silence()
            assert connection._client.opened.done

    with Served() as served:
        loop.run(lambda: main(served))


def test_a_kept_session_goes_on_after_a_cut_and_every_message_is_there_once(loop: Loop) -> None:
    async def main(served: Served) -> int:
        async with loop.connect(served.url, retry=QUICK) as connection, connection.session(keep_for=60) as session:
            await session.execute(queue.Declare("q"))
            for number in range(300):
                if number % 60 == 30:
                    served.cut()
                await session.send("", "q", b"%d" % number)
            await session.sync()
            return int(session.remade)

    with Served(ServerConfig(session_timeout=60)) as served:
        assert loop.run(lambda: main(served)) == 0
        assert served.depth("q") == 300


def test_a_lost_session_is_made_again_and_reports_what_is_in_doubt(loop: Loop) -> None:
    async def main(served: Served) -> list[bytes]:
        found: list[bytes] = []
        async with loop.connect(served.url, retry=QUICK) as connection, connection.session() as session:
            await session.execute(queue.Declare("q"))
            async with session.subscribe("q") as subscription:
                served.cut()
                await until(loop, connection._client, lambda: session.remade == 1)
                await session.publish("", "q", b"after")
                message = await subscription.receive()
                found.append(message.body)
                message.accept()
        return found

    with Served() as served:
        assert loop.run(lambda: main(served)) == [b"after"]


def test_nobody_waits_for_ever_when_the_broker_stays_away(loop: Loop) -> None:
    policy = RetryPolicy(attempts=3, first=0.01, factor=1.0)

    async def main(served: Served) -> None:
        async with loop.connect(served.url, retry=policy) as connection, connection.session(keep_for=60) as session:
            await session.execute(queue.Declare("q"))
            served.stop()
            await session.publish("", "q", b"x")

    with Served(ServerConfig(session_timeout=60)) as served, pytest.raises(SessionLost, match="nobody listens"):
        loop.run(lambda: main(served))


def test_without_a_policy_a_loss_is_reported_at_once(loop: Loop) -> None:
    async def main(served: Served) -> None:
        async with loop.connect(served.url) as connection, connection.session(keep_for=60) as session:
            served.cut()
            await session.publish("", "q", b"x")

    with Served() as served, pytest.raises((SessionLost, ConnectionLost)):
        loop.run(lambda: main(served))


def test_two_tasks_on_one_session(loop: Loop) -> None:
    async def main(served: Served) -> list[bytes]:
        found: list[bytes] = []
        async with loop.connect(served.url) as connection, connection.session() as session:
            await session.execute(queue.Declare("q"))
            session._core.most_in_flight = 5

            async def publish() -> None:
                for number in range(100):
                    await session.send("", "q", b"%d" % number)

            async def consume() -> None:
                async with session.subscribe("q", prefetch=3) as subscription:
                    while len(found) < 200:
                        message: Message | None = await subscription.receive()
                        assert message is not None
                        found.append(message.body)
                        message.accept()

            await loop.both(lambda: loop.both(publish, publish), consume)
        return found

    with Served() as served:
        assert len(loop.run(lambda: main(served))) == 200
