"""Sessions for code that awaits, driven without any loop: to wait is to let the octets flow; each call says its command."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest
from tests.broker.harness import front
from tests.conversation.stage import AT_ONCE, Stage, refuse, staged
from tests.conversation.staged_line import Cancelled, StagedLine, run

from amqp_sansio.config import ServerConfig
from amqp_sansio.conversation.base_client import Ending
from amqp_sansio.conversation.retry import NEVER, RetryPolicy
from amqp_sansio.conversation.session import Session
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.engine.two_phase import Ask, TwoPhase
from amqp_sansio.errors import BranchFailed, MessageReturned, SessionFailed, SessionLost, TransactionFailed
from amqp_sansio.spec import exchange, queue
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.queue import QueueQueryResult
from amqp_sansio.spec.xids import xid


class Written(Session):
    """What would be said."""

    def __init__(self) -> None:
        self.said: list[tuple[Command, float | None]] = []

    async def execute(self, command: Command[Any], *, timeout: float | None = None) -> Any:
        self.said.append((command, timeout))


def test_each_says_its_command() -> None:
    session = Written()

    async def main() -> None:
        await session.declare_queue("q", durable=True, exclusive=True, auto_delete=True, arguments={"a": [1]}, timeout=1)
        await session.declare_queue("q", passive=True, alternate_exchange="e")
        await session.delete_queue("q", if_unused=True, timeout=2)
        await session.delete_queue("q", if_empty=True)
        await session.purge("q", timeout=3)
        await session.query_queue("q", timeout=4)
        await session.declare_exchange("e", "topic", durable=True, auto_delete=True, arguments={"a": 1}, timeout=5)
        await session.declare_exchange("e", passive=True, alternate_exchange="f")
        await session.delete_exchange("e", if_unused=True, timeout=6)
        await session.bind("q", "e", "a.#", arguments={"x-match": "all"}, timeout=7)
        await session.unbind("q", "e", "a.#", timeout=8)
        await session.bound("e", "q", "a.#", arguments={"a": 1}, timeout=9)

    run(main())
    assert session.said == [
        (queue.Declare("q", None, False, True, True, True, {"a": [1]}), 1),  # type: ignore[dict-item]
        (queue.Declare("q", "e", True), None),
        (queue.Delete("q", True), 2),
        (queue.Delete("q", False, True), None),
        (queue.Purge("q"), 3),
        (queue.Query("q"), 4),
        (exchange.Declare("e", "topic", None, False, True, True, {"a": 1}), 5),
        (exchange.Declare("e", "direct", "f", True), None),
        (exchange.Delete("e", True), 6),
        (exchange.Bind("q", "e", "a.#", {"x-match": "all"}), 7),
        (exchange.Unbind("q", "e", "a.#"), 8),
        (exchange.Bound("e", "q", "a.#", {"a": 1}), 9),
    ]


def test_a_broker_does_what_they_say() -> None:
    world = World()

    async def main() -> None:
        async with world.session() as session:
            await session.declare_exchange("e", "topic")
            await session.declare_queue("q", timeout=1)
            await session.bind("q", "e", "a.#")
            assert not (await session.bound("e", "q", "a.#")).key_not_matched
            await session.publish("e", "a.b", b"x")
            assert (await session.query_queue("q")).message_count == 1
            await session.purge("q")
            await session.unbind("q", "e", "a.#")
            assert (await session.bound("e", "q", "a.#")).key_not_matched
            await session.delete_exchange("e")
            await session.delete_queue("q")
            assert (await session.query_queue("q")).queue is None
            with pytest.raises(SessionFailed, match="404"):
                await session.declare_queue("q", passive=True)

    run(main())


Value = TypeVar("Value")
XID = xid(1, b"global", b"branch")


class World(StagedLine):
    """A stage, and a way of waiting on it."""

    def __init__(self, server: ServerConfig = ServerConfig(), retry: RetryPolicy = AT_ONCE) -> None:
        self.stage: Stage = staged(server=server, retry=retry)
        super().__init__(self.stage.run)
        self.ending = Ending(self.stage.client, 1.0)

    def fall_silent_once_open(self) -> None:
        """The connection is lost, and made again; on the new one the broker says no more than that it is open."""
        self.stage.cut()
        self.stage.greet()
        self.deaf = True

    def session(self, timeout: int | None = 0) -> Session:
        return Session(self.stage.client.open_session(None, timeout), self, self.ending)


async def hello(world: World) -> list[bytes]:
    async with world.session() as session:
        await session.execute(queue.Declare("q"))
        await session.publish("", "q", b"one")
        await session.send("", "q", b"two")
        await session.sync()
        answer = await session.execute(queue.Query("q"))
        assert isinstance(answer, QueueQueryResult)
        assert answer.message_count == 2
        found: list[bytes] = []
        async with session.subscribe("q") as subscription:
            async for message in subscription:
                found.append(message.body)
                message.accept()
                if len(found) == 2:
                    await subscription.cancel()
        return found


def test_there_and_back() -> None:
    world = World()
    assert run(hello(world)) == [b"one", b"two"]
    assert world.stage.client.cores == {}
    assert front(world.stage.broker).sessions == {}


@pytest.mark.parametrize("at", range(1, 30))
def test_cancelled_at_any_wait_it_leaves_nothing_open(at: int) -> None:
    """Whichever wait is cancelled, the session is ended at the broker, without any further help, and no message is lost."""
    world = World()
    world.cancel_at = at
    try:
        run(hello(world))
    except Cancelled:
        world.stage.run()
    assert world.waits >= at or world.waits < 15
    assert world.stage.client.cores == {}
    assert front(world.stage.broker).sessions == {}
    found = world.stage.broker.host("").queues.get("q")
    assert found is None or found.acquired == 0


def test_a_session_that_fails_says_so_where_one_waits_and_at_the_end_only_if_nobody_did() -> None:
    world = World()

    async def waiting() -> None:
        async with world.session() as session:
            await session.execute(queue.Delete("nowhere"))

    async def not_waiting() -> None:
        async with world.session() as session:
            session._core.execute(queue.Delete("nowhere"))
            world.stage.run()

    for failing in (waiting, not_waiting):
        with pytest.raises(SessionFailed, match="404"):
            run(failing())


@pytest.mark.parametrize("retry", [NEVER, RetryPolicy(first=0.0, jitter=0.0)])
@pytest.mark.parametrize("deaf", [False, True])
def test_a_refusal_that_a_call_has_raised_is_not_raised_again_whether_the_detach_comes_later_or_never(
    deaf: bool, retry: RetryPolicy
) -> None:
    world = World(retry=retry)

    async def handled() -> None:
        async with world.session() as session:
            refuse(world.stage, session._core)
            with pytest.raises(SessionFailed, match="542"):
                await session.execute(queue.Declare("q"))
            world.deaf = deaf

    run(handled())


@pytest.mark.parametrize("publishes", [True, False])
def test_a_loop_that_tries_again_after_a_refusal_lets_the_detach_come(publishes: bool) -> None:
    world = World()

    async def stubborn() -> None:
        async with world.session() as session:
            await session.execute(queue.Declare("q"))
            refuse(world.stage, session._core)
            before = world.waits
            with pytest.raises(SessionFailed, match="542"):
                await (session.publish("", "q", b"") if publishes else session.execute(queue.Query("q")))
            assert world.waits > before

    run(stubborn())


def test_the_end_reports_what_was_published_before_a_refusal_that_somebody_got() -> None:
    world = World(retry=NEVER)

    async def careless() -> None:
        async with world.session() as session:
            await session.sync()
            session._core.publish("", "nowhere", b"in doubt", {})
            world.stage.client.machine.data_to_send()
            refuse(world.stage, session._core)
            with pytest.raises(SessionFailed, match="542"):
                await session.execute(queue.Declare("q"))

    with pytest.raises(SessionFailed, match="542"):
        run(careless())


def test_the_end_reports_a_message_that_nobody_asked_about() -> None:
    world = World()

    async def careless() -> None:
        async with world.session() as session:
            await session.send("", "nowhere", b"", mandatory=True)

    with pytest.raises(MessageReturned):
        run(careless())
    assert world.stage.client.cores == {}


def test_the_end_reports_what_was_in_doubt_and_nobody_asked_about() -> None:
    world = World()

    async def careless() -> None:
        async with world.session() as session:
            await session.send("", "q", b"")
            world.stage.cut()
            world.stage.connect()

    with pytest.raises(SessionLost, match="in doubt"):
        run(careless())


def test_an_error_in_the_block_is_the_one_that_is_raised() -> None:
    world = World()

    async def failing(deaf: bool) -> None:
        async with world.session() as session, session.subscribe("q"):
            world.deaf = deaf
            raise KeyError("mine")

    for deaf in (False, True):
        with pytest.raises(KeyError):
            run(failing(deaf))


def test_a_broker_that_let_one_end_pass_is_not_waited_for_at_the_next() -> None:
    world = World()

    async def failing() -> None:
        async with world.session() as session, session.subscribe("q"):
            world.deaf = True
            world.timeouts.clear()
            raise KeyError("mine")

    with pytest.raises(KeyError):
        run(failing())
    assert world.timeouts == [1.0, 0.0]


def test_a_broker_that_gets_on_slowly_is_waited_for_at_the_end_of_a_block() -> None:
    """Each answer begins the time anew."""
    world = World()

    async def leave() -> None:
        async with world.session(60) as session:
            await session.execute(queue.Declare("q"))
            for _ in range(3):
                await session.send("", "q", b"x")
            world.deaf = True
            run_on, slow = world.stage.run, iter(range(3))

            def slowly(ticket: Ticket[Value], timeout: float | None = None) -> None:
                if timeout == 1.0 and next(slow, None) is None:
                    run_on()
                elif timeout == 1.0:
                    id = session._core.session.in_doubt.ranges[0][0]
                    session._core.session._outbound.outstanding.discard_id(id)  # as if that were complete

            world.before = slowly
            world.timeouts.clear()

    run(leave())
    assert world.timeouts == [1.0] * 5  # three in vain, the one that was answered, and the detach


def test_a_silent_broker_is_not_awaited_for_ever_at_the_end_of_a_block() -> None:
    world = World()

    async def leave() -> None:
        async with world.session() as session:
            await session.execute(queue.Declare("q"))
            world.deaf = True
            await session.send("", "q", b"x")

    with pytest.raises(SessionLost, match=r"no answer to execution.sync within 1.0 seconds"):
        run(leave())


def test_a_silent_broker_is_not_awaited_for_ever_at_a_commit() -> None:
    world = World()

    async def work() -> None:
        async with world.session() as session:
            await session.execute(queue.Declare("q"))
            async with session.transaction():
                await session.send("", "q", b"x")
                world.deaf = True

    with pytest.raises(TransactionFailed, match="unknown"):
        run(work())
    assert world.timeouts[0] == 1.0


@pytest.mark.parametrize(("waits", "verb"), [(0, "dtx.start"), (1, "dtx.end")])
def test_a_silent_broker_is_not_awaited_for_ever_in_a_branch(waits: int, verb: str) -> None:
    """Neither at its begin, nor at its end."""
    world = World()

    async def work() -> None:
        async with world.session() as session:
            await session.sync()
            world.timeouts.clear()
            world.deaf = waits == 0
            async with session.branch(XID):
                world.deaf = True

    with pytest.raises(BranchFailed, match=verb):
        run(work())
    assert world.timeouts[:2] == [1.0, 1.0][: waits + 1] + [0.0][: 1 - waits]


def test_a_silent_broker_is_not_awaited_for_ever_when_a_subscription_is_cancelled() -> None:
    world = World()

    async def work() -> None:
        async with world.session() as session:
            await session.execute(queue.Declare("q"))
            subscription = session.subscribe("q")
            await session.sync()
            world.deaf = True
            await subscription.cancel()

    with pytest.raises(SessionLost, match=r"no answer to message.cancel within 1.0 seconds"):
        run(work())


@pytest.mark.parametrize("at", ["begin", "end"])
def test_a_silent_broker_is_not_awaited_for_ever_to_attach_again_for_a_transaction(at: str) -> None:
    """The connection is there again, and the broker does not answer to the attach."""
    world = World(ServerConfig(session_timeout=600))

    async def work() -> None:
        async with world.session(60) as session:
            await session.execute(queue.Declare("q"))
            if at == "begin":
                world.fall_silent_once_open()
            async with session.transaction():
                await session.send("", "q", b"x")
                world.fall_silent_once_open()

    with pytest.raises(SessionLost, match=r"no answer to session.attach within 1.0 seconds"):
        run(work())


def test_a_silent_broker_is_not_awaited_for_ever_to_attach() -> None:
    """Also where another end was waited for in vain before: who begins something waits."""
    world = World()

    async def begin() -> None:
        world.deaf = True
        for _ in range(2):
            with pytest.raises(SessionLost, match=r"no answer to session.attach within 1.0 seconds"):
                async with world.session():
                    raise AssertionError

    run(begin())
    assert world.timeouts == [1.0, 1.0]


async def carry_out(session: Session) -> None:
    whole = TwoPhase({"one": XID})
    (ask,) = whole.take()
    assert isinstance(ask, Ask)
    try:
        await session.carry_out(ask, whole)
    finally:
        assert whole.states["one"] == "committing alone in doubt"


CALLS: dict[str, Callable[[Session], Coroutine[Any, Any, object]]] = {
    "say": lambda session: session.execute(queue.Declare("q")),
    "ask": lambda session: session.execute(queue.Query("q")),
    "sync": lambda session: session.sync(),
    "send": lambda session: session.send("", "q", b"x"),
    "publish": lambda session: session.publish("", "q", b"x"),
    "prepare": lambda session: session.prepare(XID),
    "commit": lambda session: session.commit(XID),
    "rollback": lambda session: session.rollback(XID),
    "recover": lambda session: session.recover(),
    "forget": lambda session: session.forget(XID),
    "carry_out": lambda session: carry_out(session),
}


@pytest.mark.parametrize("call", CALLS)
def test_no_call_waits_for_ever_to_attach_again(call: str) -> None:
    world = World(ServerConfig(session_timeout=600))

    async def work() -> None:
        async with world.session(60) as session:
            await session.sync()
            world.fall_silent_once_open()
            await CALLS[call](session)

    with pytest.raises(SessionLost, match=r"no answer to session.attach within 1.0 seconds"):
        run(work())


def test_a_broker_that_does_not_answer_to_detach_is_not_awaited_for_ever() -> None:
    world = World()

    async def leave() -> None:
        async with world.session() as session:
            await session.sync()
            world.deaf = True
            session._core._track = lambda id, verb: settled()  # type: ignore[method-assign]

    def settled() -> Ticket[None]:
        ticket: Ticket[None] = Ticket()
        ticket.settle(None)
        return ticket

    with pytest.raises(SessionLost, match=r"no answer to detach within 1.0 seconds"):
        run(leave())


def test_a_transaction_commits_or_does_nothing() -> None:
    world = World()

    async def work(fail: bool) -> None:
        async with world.session() as session:
            await session.execute(queue.Declare("q"))
            async with session.transaction():
                await session.send("", "q", b"x")
                if fail:
                    raise KeyError("mine")

    run(work(False))
    assert world.stage.depth("q") == 1
    with pytest.raises(KeyError):
        run(work(True))
    world.stage.run()
    assert world.stage.depth("q") == 1


def test_a_transaction_whose_session_is_lost_was_not_committed() -> None:
    world = World()

    async def work() -> None:
        async with world.session() as session, session.transaction():
            await (await session.send("", "q", b"x"))
            world.stage.cut()
            world.stage.connect()

    with pytest.raises(TransactionFailed, match="rolled back"):
        run(work())


def test_a_branch_by_its_verbs() -> None:
    world = World()

    async def work() -> None:
        async with world.session() as session:
            await session.execute(queue.Declare("q"))
            async with session.branch(XID):
                await session.send("", "q", b"x")
            assert await session.prepare(XID) == XaStatus.XA_OK
            assert await session.recover() == (XID,)
            await session.rollback(XID)
            async with session.branch(XID):
                await session.send("", "q", b"x")
            await session.commit(XID, one_phase=True)
            with pytest.raises(KeyError):
                async with session.branch(XID):
                    raise KeyError("mine")
            with pytest.raises(BranchFailed):
                await session.prepare(XID)

    run(work())
    assert world.stage.depth("q") == 1


def test_a_branch_that_is_not_known_is_refused() -> None:
    world = World()

    async def work() -> None:
        async with world.session() as session:
            await session.forget(XID)

    with pytest.raises((BranchFailed, SessionFailed)):
        run(work())


def test_publishing_waits_for_room() -> None:
    world = World()

    async def work() -> int:
        async with world.session() as session:
            session._core.most_in_flight = 2
            for _ in range(20):
                await session.send("", "q", b"")
                assert session._core.in_flight <= 2
            return world.waits

    assert run(work()) > 5


async def handled(world: World) -> None:
    async with world.session() as session:
        with pytest.raises(SessionFailed):
            await session.execute(queue.Delete("nowhere"))


async def unhandled(world: World) -> None:
    async with world.session() as session:
        session._core.execute(queue.Delete("nowhere"))
        world.stage.run()


@pytest.mark.parametrize("retry", [NEVER, RetryPolicy()])
def test_an_error_that_a_caller_has_seen_is_not_raised_at_the_end_of_the_block(retry: RetryPolicy) -> None:
    world = World(retry=retry)
    run(handled(world))
    with pytest.raises(SessionFailed):
        unhandled(world).send(None)


async def two_users(world: World) -> bytes:
    async with world.session() as session:
        with pytest.raises(SessionFailed):
            await session.publish("nowhere", "q", b"lost")
        await session.execute(queue.Declare("q"))
        await session.publish("", "q", b"there")
        subscription = session.subscribe("q")
        with pytest.raises(SessionFailed):
            await session.execute(queue.Delete("nowhere"))
        message = await subscription.receive()
        message.accept()
        return message.body


def test_a_shared_session_goes_on_under_a_retry_policy() -> None:
    world = World(retry=RetryPolicy())
    assert run(two_users(world)) == b"there"


def test_a_session_shows_its_name_and_whether_it_is_open() -> None:
    world = World()
    seen: list[str] = []

    async def shown() -> None:
        async with world.session() as session:
            seen.append(repr(session))
        seen.append(repr(session))

    run(shown())
    assert seen == ["<Session 'test-1', open>", "<Session 'test-1', not open>"]
