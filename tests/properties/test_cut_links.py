"""Sessions that survive cuts, through whole connections."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import (
    ClientConfig,
    ClientConnection,
    RangeSet,
    ServerConfig,
    ServerConnection,
    Session,
    SessionDetachedError,
)
from amqp_sansio.events import (
    AttachRequested,
    CommandsCompleted,
    Event,
    SessionAttached,
    SessionDetached,
    TransferReceived,
)
from amqp_sansio.spec.message import Transfer
from amqp_sansio.testing.link import SPEAKERS, Link, Speaker, _Choices

NAME = b"survivor"


class Publisher:
    """Sends numbered messages, one command each, whenever it may."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.session: Session | None = None
        self.sent: list[int] = []
        self.completed = RangeSet()

    def heard(self, connection: ClientConnection, event: Event) -> None:
        if isinstance(event, CommandsCompleted):
            self.completed |= event.ids

    def publish(self, most: int) -> None:
        session = self.session
        for _ in range(most):
            if session is None or len(self.sent) == self.count:
                return
            try:
                body = b"%d" % len(self.sent)
                self.sent.append(session.send(Transfer("exchange", 1, 0), body=body * 3))
            except SessionDetachedError:
                return


class Broker:
    """Keeps the session between connections; executes what arrives."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.executed: list[bytes] = []
        self.resumed = 0

    def heard(self, connection: ServerConnection, event: Event) -> None:
        if isinstance(event, AttachRequested):
            self.session = connection.accept(event.session, resume=self.session)
        elif isinstance(event, SessionAttached):
            self.resumed += event.resumed
        elif isinstance(event, SessionDetached):
            assert not event.ended
        elif isinstance(event, TransferReceived):
            self.executed.append(event.body)
            assert self.session is not None
            self.session.complete(RangeSet.of(event.id))


def run(count: int, cuts: list[tuple[Speaker, int]], choices: _Choices, random: Random, snapshots: bool) -> int:
    """How often the session was resumed."""
    publisher, broker = Publisher(count), Broker()

    def connections() -> tuple[ClientConnection, ServerConnection]:
        return ClientConnection(ClientConfig()), ServerConnection(ServerConfig(session_timeout=None))

    link = Link(
        *connections(),
        delay=(0, 3),
        chunk=(1, 50),
        choices=random,
        on_client=publisher.heard,
        on_server=broker.heard,
    )
    plan: list[tuple[Speaker, int] | None] = [*cuts, None]
    for cut in plan:
        if cut is not None:
            link.cut_after(*cut)
        for _ in range(400):
            link.step()
            if link.broken:
                break
            if link.client.is_open and not link.client.sessions:
                if publisher.session is None:
                    publisher.session = link.client.session(NAME, timeout=None)
                elif snapshots and publisher.session._channel is None:
                    publisher.session = link.client.resume(publisher.session.snapshot())
                else:
                    link.client.resume(publisher.session)
            publisher.publish(choices.between(0, 3))
            if link.quiet and len(publisher.sent) == count and len(publisher.completed) == count:
                break
        if cut is not None:
            link.cut()
            link.run()
            link.reconnect(*connections())
    expected = [b"%d" % number * 3 for number in range(count)]
    assert broker.executed == expected, str(link.transcript)
    assert sorted(publisher.sent) == publisher.sent
    assert publisher.completed == RangeSet.of(*publisher.sent), str(link.transcript)
    assert link.violations == [], str(link.transcript)
    return broker.resumed


# However often the link is cut, at whatever octet of whichever side, every command is executed once and in order, and every
# completion arrives.
@given(
    count=st.integers(0, 25),
    cuts=st.lists(st.tuples(st.sampled_from(SPEAKERS), st.integers(0, 900)), max_size=6),
    pace=st.lists(st.integers(0, 3), max_size=10),
    seed=st.integers(0, 10_000),
    snapshots=st.booleans(),
)
def test_every_command_is_executed_once_and_every_completion_arrives(
    count: int, cuts: list[tuple[Speaker, int]], pace: list[int], seed: int, snapshots: bool
) -> None:
    run(count, cuts, _Choices([*pace, 3]), Random(seed), snapshots)


def test_a_cut_in_the_middle_of_the_output_is_resumed() -> None:
    cuts: list[tuple[Speaker, int]] = [("client", 500), ("server", 350), ("client", 700)]
    assert run(25, cuts, _Choices([1, 3]), Random(1), False) == 3
    assert run(25, cuts, _Choices([1, 3]), Random(1), True) == 3
