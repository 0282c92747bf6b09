"""The named rules of class session: kept by both roles, and held against a speaker by an observer."""

from __future__ import annotations

import pytest
from tests.conformance.rules.peers import (
    ATTACHING,
    HEADER,
    Said,
    frame,
    of_open_client,
    of_open_server,
    overheard,
    peer_of_server,
    with_client_session,
    with_server_session,
)
from tests.engine.verdicts import violation_of

from amqp_sansio.config import ServerConfig
from amqp_sansio.engine.sasl import PlainServer
from amqp_sansio.engine.session import Session
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.events import (
    AttachRequested,
    Authenticated,
    CommandReceived,
    SessionAttached,
    SessionDetached,
)
from amqp_sansio.kernel.serials import RangeSet, serial_add
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.spec.connection import Close, Open, StartOk, TuneOk
from amqp_sansio.spec.execution import Sync
from amqp_sansio.spec.message import Transfer
from amqp_sansio.spec.queue import Declare
from amqp_sansio.spec.session import (
    Attach,
    Attached,
    CommandPoint,
    Completed,
    Confirmed,
    Detach,
    Detached,
    Expected,
    Flush,
    Gap,
    KnownCompleted,
    RequestTimeout,
    Timeout,
)

EMPTY = RangeSet()


# --- attach -----------------------------------------------------------------------------------------------------------------


@pytest.mark.rule("session.attachment")
@pytest.mark.parametrize(
    "word",
    [
        RequestTimeout(3), Timeout(3), CommandPoint(0, 0), Expected(EMPTY), Confirmed(EMPTY), Completed(EMPTY),
        KnownCompleted(EMPTY), Flush(True), Gap(RangeSet.of(0)), Sync(), Transfer("x"),
    ],
)  # fmt: skip
def test_without_a_session_all_is_answered_by_not_attached(word: Control | Command) -> None:
    for peer in (of_open_server(), of_open_client()):
        assert peer.say(word, channel=5) == []
        assert peer.hear() == [Detached(b"", 3)]
        assert peer.connection.is_open
    assert overheard(("C", word)) == ["C session.attachment"]
    assert overheard(("S", word)) == ["S session.attachment"]


@pytest.mark.rule("session.attachment")
def test_attach_and_detach_mean_something_without_a_session() -> None:
    peer = of_open_server()
    assert peer.say(Detached(b"s", 0), channel=5) == []
    assert peer.hear() == []
    assert peer.say(Detach(b"s"), channel=5) == []
    assert peer.hear() == [Detached(b"s", 3)]
    assert isinstance(peer.say(Attach(b"s"), channel=5)[-1], SessionAttached)


@pytest.mark.rule("session.attach.one-transport-per-session")
def test_a_session_has_one_transport() -> None:
    speaking, session = with_server_session()
    assert speaking.peer.say(Attach(b"s"), channel=1) == []
    assert speaking.hear() == [Detached(b"s", 1)]
    assert isinstance(speaking.say(Declare("q"))[-1], CommandReceived)
    forced = speaking.peer.say(Attach(b"s", True), channel=1)
    assert [type(event) for event in forced] == [AttachRequested, SessionDetached, SessionAttached]
    assert speaking.hear()[-2:] == [Detached(b"s", 1), Attached(b"s")]
    assert session._channel is None or session._channel.number == 1


@pytest.mark.rule("session.attach.one-transport-per-session")
def test_a_session_that_is_resumed_by_force_leaves_its_transport() -> None:
    config = ServerConfig(session_timeout=None)
    speaking, session = with_server_session(config=config)
    speaking.hear()
    other = of_open_server(config)
    other.connection.receive_data(other.octets_of(Attach(b"s", True)))
    assert isinstance(other.connection.next_event(), AttachRequested)
    other.server.accept(b"s", resume=session)
    assert [type(event) for event in speaking.peer.connection.events()] == [SessionDetached]
    assert speaking.hear() == [Detached(b"s", 1)]
    assert speaking.peer.server.sessions == ()
    assert other.server.sessions == (session,)


@pytest.mark.rule("session.attach.one-transport-per-session")
def test_a_caller_cannot_put_a_session_on_two_transports() -> None:
    speaking, session = with_client_session()
    other = of_open_client().client
    with pytest.raises(LocalProtocolError, match="one-transport-per-session"):
        other.resume(session)
    with pytest.raises(LocalProtocolError):
        speaking.peer.client.session(b"s")
    assert speaking.hear() == []


@pytest.mark.rule("session.attach.one-session-per-transport")
def test_a_transport_has_one_session() -> None:
    speaking, _ = with_server_session(b"a")
    assert speaking.say(Attach(b"b")) == []
    assert speaking.hear() == [Detached(b"b", 2)]
    assert isinstance(speaking.say(Declare("q"))[-1], CommandReceived)
    said: tuple[Said, ...] = (*ATTACHING, ("C", Attach(b"b")))
    assert overheard(*said, strict=True) == ["C session.attach.one-session-per-transport"]


@pytest.mark.rule("session.attach.idempotence")
def test_attaching_what_is_attached_succeeds() -> None:
    speaking, session = with_server_session()
    for _ in range(2):
        assert speaking.say(Attach(b"s")) == []
        assert speaking.hear() == [Attached(b"s")]
    assert isinstance(speaking.say(Declare("q"))[-1], CommandReceived)
    mine, ours = with_client_session()
    ours.attach()
    assert mine.hear() == []
    assert ours.state == session.state == "attached"
    assert overheard(*ATTACHING, *ATTACHING, strict=True) == ["(C session.attach.idempotence)"]


@pytest.mark.rule("session.attach.scoping")
def test_equal_names_of_different_principals_are_different_sessions() -> None:
    sessions: list[Session] = []
    for name in (b"ann", b"bob"):
        peer = peer_of_server(ServerConfig(mechanisms=[PlainServer(lambda user, password: True)]))
        said = peer.say(HEADER, StartOk({}, "PLAIN", b"\0" + name + b"\0hush", "en_US"), TuneOk(0, 0, 0), Open(""))
        assert isinstance(said[0], Authenticated)
        assert said[0].identity == name.decode()
        peer.hear()
        assert isinstance(peer.say(Attach(b"s"), CommandPoint(0, 0), Declare("q"))[-1], CommandReceived)
        assert peer.hear()[0] == Attached(b"s")
        sessions += peer.server.sessions
    ann, bob = sessions
    assert ann is not bob
    ann.complete(0)
    bob.complete(0)  # each of its own


# --- lifetime, command-point ------------------------------------------------------------------------------------------------


@pytest.mark.rule("session.request-timeout.maximum-granted-timeout")
@pytest.mark.parametrize(
    ("most", "asked", "granted"),
    [
        (60, 59, 59), (60, 60, 60), (60, 61, 60), (60, None, 60), (60, 0, 0),
        (0, 60, 0), (0, None, 0), (None, 60, 60), (None, None, None), (None, 2**32 - 1, 2**32 - 1),
    ],
)  # fmt: skip
def test_the_longest_time_that_is_not_above_the_one_asked_for(most: int | None, asked: int | None, granted: int | None) -> None:
    speaking, session = with_server_session(config=ServerConfig(session_timeout=most))
    assert speaking.say(RequestTimeout(asked)) == []
    assert speaking.hear() == [Timeout(granted)]
    assert session.timeout == granted


@pytest.mark.rule("session.command-point.newly-attached-transports")
@pytest.mark.parametrize("word", [Sync(), Transfer("x")])
def test_a_command_on_a_fresh_attachment_without_a_point(word: Command) -> None:
    speaking, _ = with_server_session(pointed=False)
    violation = violation_of(speaking.say(word))
    assert violation.rule == "session.command-point.newly-attached-transports"
    assert speaking.hear() == [Detached(b"s", 4)]
    assert speaking.peer.connection.is_open
    assert overheard(*ATTACHING, ("C", word)) == ["C session.command-point.newly-attached-transports"]
    assert overheard(*ATTACHING, ("S", word))[0] == "S session.command-point.newly-attached-transports"


@pytest.mark.rule("session.command-point.newly-attached-transports")
def test_we_say_a_point_on_every_attachment() -> None:
    speaking, session = with_client_session(timeout=None)
    session.sync()
    assert [type(each) for each in speaking.hear() if not isinstance(each, RequestTimeout)] == [CommandPoint, Sync]
    session.sync()
    assert speaking.hear() == [Sync()]
    assert speaking.say(CommandPoint(0, 0)) == []  # theirs holds on this attachment only
    speaking.peer.end()
    again = of_open_client()
    again.client.resume(session)
    assert session._channel is not None
    number = session._channel.number
    again.say(Attached(b"s"), Expected(RangeSet.of(1)), channel=number)
    assert [each for each in again.hear() if isinstance(each, CommandPoint | Sync)] == [CommandPoint(1, 0), Sync()]
    nothing_lost = of_open_client()
    again.end()
    nothing_lost.client.resume(session)
    assert session._channel is not None
    number = session._channel.number
    nothing_lost.say(Attached(b"s"), Expected(RangeSet.of(2)), channel=number)
    session.sync()
    assert [each for each in nothing_lost.hear() if isinstance(each, CommandPoint | Sync)] == [CommandPoint(2, 0), Sync()]
    violation = violation_of(nothing_lost.say(Sync(), channel=number))
    assert (violation.rule, violation.speaker) == ("session.command-point.newly-attached-transports", "server")


@pytest.mark.rule("session.command-point.zero-offset")
@pytest.mark.parametrize(
    "octets", [frame(0x07, 3, b"body"), frame(0x07, 1, b"\3\1\1\0\0\0"), frame(0x0D, 1, b"\3\1\1\0\0\0"), frame(0x03, 2, b"")]
)
def test_after_offset_0_the_next_frame_begins_a_command(octets: bytes) -> None:
    speaking, _ = with_server_session()
    violation = violation_of(speaking.say(octets))
    assert violation.code == 501
    close = speaking.hear()[-1]
    assert isinstance(close, Close)
    assert close.reply_code == 501
    (told,) = overheard(*ATTACHING, ("C", CommandPoint(0, 0)), ("C", octets))
    assert told.startswith("C assembly.first-")


@pytest.mark.rule("session.command-point.zero-offset")
@pytest.mark.parametrize("id", [0, 7, 2**32 - 1])
def test_the_command_after_offset_0_has_the_id_of_the_point(id: int) -> None:
    speaking, _ = with_server_session(pointed=False)
    (event,) = speaking.say(CommandPoint(id, 0), Declare("q"))
    assert isinstance(event, CommandReceived)
    assert event.id == id
    for later in (serial_add(id, 5), serial_add(id, 2)):  # it jumps forward, and then back into the hole
        (event,) = speaking.say(CommandPoint(later, 0), Declare("q"))
        assert isinstance(event, CommandReceived)
        assert event.id == later
    assert speaking.say(CommandPoint(id, 0), Declare("q")) == []  # said again: a duplicate


@pytest.mark.rule("session.command-point.nonzero-offset")
@pytest.mark.parametrize("octets", [frame(0x05, 3, b"rest"), frame(0x07, 3, b"rest"), b""])
def test_after_another_offset_the_next_frame_begins_none(octets: bytes) -> None:
    """We keep no part of a command, so nothing can be continued: neither its rest nor a new command is taken for one."""
    speaking, _ = with_server_session()
    events = speaking.say(CommandPoint(0, 4))
    assert violation_of(events).rule == "session.command-point.nonzero-offset"
    assert speaking.hear() == [Detached(b"s", 4)]
    assert speaking.say(Transfer("x")) == []
    assert overheard(*ATTACHING, ("C", CommandPoint(0, 4)), ("C", octets)) == ["(C session.command-point.nonzero-offset)"]


@pytest.mark.rule("session.command-point.nonzero-offset")
@pytest.mark.parametrize("word", [Sync(), Transfer("x")])
def test_a_side_that_begins_a_command_after_another_offset_is_accused(word: Command) -> None:
    said: tuple[Said, ...] = (*ATTACHING, ("C", CommandPoint(0, 4)), ("C", word), ("C", word))
    rule = "session.command-point.nonzero-offset"
    assert overheard(*said) == [f"(C {rule})", f"C {rule}"]
