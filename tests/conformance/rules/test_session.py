"""The named rules of class session: kept by both roles, and held against a speaker by an observer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conformance.rules.peers import (
    HEADER,
    Said,
    Speaking,
    frame,
    of_open_client,
    of_open_server,
    overheard,
    peer_of_server,
    with_client_session,
    with_server_session,
)
from tests.engine.verdicts import server_of, violation_of

from amqp_sansio.config import ServerConfig
from amqp_sansio.engine.sasl import PlainServer
from amqp_sansio.engine.session import Session
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.events import (
    AttachRequested,
    Authenticated,
    CommandReceived,
    CommandsConfirmed,
    CommandsSkipped,
    Event,
    SessionAttached,
    SessionDetached,
    TransferReceived,
)
from amqp_sansio.kernel.serials import RangeSet
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
ATTACHING: tuple[Said, ...] = (("C", Attach(b"s")), ("S", Attached(b"s")))


def bodies(events: list[Event]) -> list[tuple[int, bytes]]:
    return [(event.id, event.body) for event in events if isinstance(event, TransferReceived)]


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
    assert session.channel is None or session.channel.number == 1


@pytest.mark.rule("session.attach.one-transport-per-session")
def test_a_caller_cannot_put_a_session_on_two_transports() -> None:
    speaking, session = with_client_session()
    other = of_open_client().connection
    with pytest.raises(LocalProtocolError, match="one-transport-per-session"):
        other.resume(session)
    with pytest.raises(LocalProtocolError):
        speaking.peer.connection.session(b"s")
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
        sessions += peer.connection.sessions
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
    speaking.peer.end()
    again = of_open_client()
    again.connection.resume(session)
    assert session.channel is not None
    number = session.channel.number
    again.say(Attached(b"s"), Expected(RangeSet.of(1)), channel=number)
    assert [each for each in again.hear() if isinstance(each, CommandPoint | Sync)] == [CommandPoint(1, 0), Sync()]


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
def test_who_begins_a_command_after_another_offset_is_accused(word: Command) -> None:
    said: tuple[Said, ...] = (*ATTACHING, ("C", CommandPoint(0, 4)), ("C", word), ("C", word))
    rule = "session.command-point.nonzero-offset"
    assert overheard(*said) == [f"(C {rule})", f"C {rule}"]


# --- expected, confirmed ----------------------------------------------------------------------------------------------------


@pytest.mark.rule("session.expected.include-next-command")
def test_the_command_after_the_highest_one_is_expected() -> None:
    speaking, _ = with_server_session()
    speaking.say(Sync(), Sync())
    assert speaking.asked(expected=True) == [Expected(RangeSet.of(2))]
    speaking.say(CommandPoint(5, 0), Sync())
    assert speaking.asked(expected=True) == [Expected(RangeSet([(2, 4), (6, 6)]))]


@pytest.mark.rule("session.expected.commands-empty-means-new-session")
def test_nothing_is_expected_if_and_only_if_the_session_is_new() -> None:
    config = ServerConfig(session_timeout=None)
    speaking, session = with_server_session(config=config, pointed=False)
    assert speaking.asked(expected=True) == [Expected(EMPTY)]
    speaking.say(RequestTimeout(None))
    speaking.peer.end()
    peer = of_open_server(config)
    peer.connection.receive_data(peer.octets_of(Attach(b"s")))
    assert isinstance(peer.connection.next_event(), AttachRequested)
    server_of(peer).accept(b"s", resume=session)
    assert Speaking(peer, 0).asked(expected=True) == [Expected(RangeSet.of(0))]


@pytest.mark.rule("session.expected.commands-empty-means-new-session")
def test_a_session_of_which_nothing_is_expected_is_lost() -> None:
    speaking, session = with_client_session(timeout=None)
    session.sync()
    speaking.peer.end()
    again = of_open_client()
    again.connection.resume(session)
    assert session.channel is not None
    last = again.say(Attached(b"s"), Expected(EMPTY), channel=session.channel.number)[-1]
    assert isinstance(last, SessionDetached)
    assert last.ended
    assert last.in_doubt == RangeSet.of(0)


@pytest.mark.rule(
    "session.expected.no-overlaps",
    "session.expected.minimal-fragments",
    "session.confirmed.no-overlaps",
    "session.confirmed.minimal-fragments",
)
def test_what_is_received_in_part_is_expected_as_a_command_and_never_said_as_a_fragment() -> None:
    speaking, session = with_server_session()
    speaking.say(Declare("q"), speaking.begun())
    session.confirm(0)
    expected, confirmed = speaking.asked(expected=True, confirmed=True)
    assert expected == Expected(RangeSet.of(1), None)
    assert confirmed == Confirmed(RangeSet.of(0), None)
    assert bodies(speaking.say(speaking.rest())) == [(1, b"halfrest")]
    assert speaking.asked(expected=True) == [Expected(RangeSet.of(2), None)]


@pytest.mark.rule("session.confirmed.durability")
def test_nothing_is_confirmed_before_the_application_says_so() -> None:
    speaking, session = with_server_session()
    speaking.say(Transfer("x"), Transfer("x"))
    assert speaking.asked(confirmed=True) == [Confirmed(EMPTY)]
    session.confirm(1)
    assert speaking.asked(confirmed=True, completed=True) == [Confirmed(RangeSet.of(1)), Completed(EMPTY)]


@pytest.mark.rule(
    "session.confirmed.commands.exclude-known-complete",
    "session.completed.commands.exclude-known-complete",
    "session.known-completed.commands.known-completed-implies-known-confirmed",
)
def test_what_is_known_to_be_complete_is_not_said_again() -> None:
    speaking, session = with_server_session()
    speaking.say(*[Transfer("x")] * 3)
    session.confirm([0, 1, 2])
    session.complete([0, 1])
    assert speaking.hear() == [Completed(RangeSet.of(0, 1))]
    speaking.say(KnownCompleted(RangeSet.of(0)))
    assert speaking.asked(confirmed=True, completed=True) == [
        Confirmed(RangeSet.of(1, 2)),
        Completed(RangeSet.of(1), True),
    ]
    again: tuple[Said, ...] = (
        *ATTACHING, ("C", CommandPoint(0, 0)), ("C", Sync()), ("S", Completed(RangeSet.of(0))),
        ("C", KnownCompleted(RangeSet.of(0))), ("S", Completed(RangeSet.of(0))),
    )  # fmt: skip
    assert overheard(*again, strict=True) == ["S session.completed.commands.exclude-known-complete"]


# --- completed, known-completed ---------------------------------------------------------------------------------------------


@pytest.mark.rule(
    "session.completed.known-completed-reply", "session.completed.delayed-reply", "session.completed.merged-reply"
)
def test_known_completed_may_wait_and_then_covers_all() -> None:
    speaking, session = with_client_session()
    for _ in range(4):
        session.sync()
    speaking.hear()
    for number in (0, 2):
        speaking.say(Completed(RangeSet.of(number)))
        assert speaking.hear() == []
    speaking.say(Completed(RangeSet.of(1)), Completed(RangeSet.of(3), True))
    assert speaking.hear() == [KnownCompleted(RangeSet([(0, 3)]))]


@pytest.mark.rule("session.completed.known-completed-reply")
def test_a_receiver_asks_for_the_answer_before_its_set_grows_for_long() -> None:
    """After any number of completions, those of which no known-completed came are a bounded number."""
    speaking, session = with_server_session()
    asked = 0
    for number in range(1000):
        speaking.say(Transfer("x"))
        session.complete(number)
        (completed,) = speaking.hear()
        assert isinstance(completed, Completed)
        if completed.timely_reply:
            asked += 1
            assert completed.commands is not None
            speaking.say(KnownCompleted(completed.commands))
    assert asked == 3
    assert len(session.inbound.completed) < 256


@pytest.mark.rule("session.completed.commands.completed-implies-confirmed")
def test_what_is_completed_counts_as_confirmed() -> None:
    speaking, session = with_server_session()
    speaking.say(Transfer("x"))
    session.complete(0)
    assert speaking.asked(confirmed=True) == [Confirmed(RangeSet.of(0))]
    mine, ours = with_client_session(timeout=None)
    for _ in range(3):
        ours.sync()
    mine.say(Timeout(None), Completed(RangeSet.of(0)))
    assert mine.say(Confirmed(RangeSet.of(0, 1))) == [CommandsConfirmed(b"s", RangeSet.of(1))]
    assert sorted(ours.outbound.kept) == [2]  # neither has to be said again


@given(st.lists(st.sets(st.integers(0, 9), min_size=1), max_size=6))
@pytest.mark.rule("session.known-completed.stateless")
def test_the_ids_of_a_completed_come_back(sets: list[set[int]]) -> None:
    """Whatever was said before, known-completed echoes the ids of the completed that asks for it."""
    speaking, session = with_client_session()
    for _ in range(10):
        session.sync()
    speaking.hear()
    for ids in sets:
        speaking.say(Completed(RangeSet.of(*ids), True))
        assert speaking.hear() == [KnownCompleted(RangeSet.of(*ids))]


@pytest.mark.rule("session.known-completed.stateless")
def test_an_echo_is_answer_enough() -> None:
    speaking, session = with_server_session()
    speaking.say(*[Transfer("x")] * 3)
    session.complete([0, 2])
    (completed,) = speaking.hear()
    assert isinstance(completed, Completed)
    assert completed.commands is not None
    for _ in range(2):
        speaking.say(KnownCompleted(completed.commands))
        assert not session.inbound.completed


@pytest.mark.rule("session.known-completed.commands.known-completed-implies-known-confirmed")
def test_who_knows_what_was_never_reported_is_told() -> None:
    said: tuple[Said, ...] = (
        *ATTACHING, ("C", CommandPoint(0, 0)), ("C", Sync()), ("C", KnownCompleted(RangeSet.of(0))),
    )  # fmt: skip
    rule = "session.known-completed.commands.known-completed-implies-known-confirmed"
    assert overheard(*said, strict=True) == [f"C {rule}"]


# --- gap --------------------------------------------------------------------------------------------------------------------


@pytest.mark.rule("session.gap.gap-confirmation-and-completion")
def test_commands_in_a_gap_count_as_confirmed_and_completed() -> None:
    speaking, _ = with_server_session()
    assert speaking.say(Gap(RangeSet.of(0, 1))) == [CommandsSkipped(b"s", RangeSet.of(0, 1))]
    assert speaking.hear() == [Completed(RangeSet.of(0, 1))]
    assert speaking.asked(expected=True, confirmed=True) == [Expected(RangeSet.of(2)), Confirmed(RangeSet.of(0, 1))]
    (event,) = speaking.say(Declare("q"))
    assert isinstance(event, CommandReceived)
    assert event.id == 2


@pytest.mark.rule("session.gap.aborted-commands")
def test_a_command_received_in_part_is_aborted_by_a_gap() -> None:
    speaking, _ = with_server_session()
    assert speaking.say(speaking.begun()) == []
    assert speaking.say(Gap(RangeSet.of(0))) == [CommandsSkipped(b"s", RangeSet.of(0))]
    assert speaking.hear() == [Completed(RangeSet.of(0))]
    assert bodies(speaking.say(speaking.begun(b"new"), speaking.rest())) == [(1, b"newrest")]


@pytest.mark.rule("session.gap.completed-or-confirmed-commands")
def test_what_was_completed_or_confirmed_stays_so_in_spite_of_a_gap() -> None:
    speaking, session = with_server_session()
    speaking.say(*[Transfer("x")] * 3)
    session.complete(0)
    session.confirm(1)
    speaking.hear()
    assert speaking.say(Gap(RangeSet([(0, 2)]))) == []  # all three were received
    assert speaking.asked(confirmed=True, completed=True) == [
        Confirmed(RangeSet.of(0, 1)),
        Completed(RangeSet.of(0), True),
    ]
    session.complete([1, 2])
    assert speaking.hear() == [Completed(RangeSet([(0, 2)]))]
