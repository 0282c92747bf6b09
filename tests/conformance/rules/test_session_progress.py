"""The named rules of what a session says about commands: expected, confirmed, completed, known-completed, gap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conformance.rules.peers import (
    ATTACHING,
    Said,
    Speaking,
    bodies,
    of_open_client,
    of_open_server,
    overheard,
    with_client_session,
    with_server_session,
)
from tests.engine.verdicts import server_of

from amqp_sansio.config import ServerConfig
from amqp_sansio.events import (
    AttachRequested,
    CommandReceived,
    CommandsConfirmed,
    CommandsSkipped,
    SessionDetached,
)
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.execution import Sync
from amqp_sansio.spec.message import Transfer
from amqp_sansio.spec.queue import Declare
from amqp_sansio.spec.session import (
    Attach,
    Attached,
    CommandPoint,
    Completed,
    Confirmed,
    Expected,
    Gap,
    KnownCompleted,
    RequestTimeout,
    Timeout,
)

EMPTY = RangeSet()


@pytest.mark.rule("session.expected.include-next-command")
def test_the_command_after_the_highest_one_is_expected() -> None:
    speaking, _ = with_server_session()
    speaking.say(Sync(), Sync())
    assert speaking.asked(expected=True) == [Expected(RangeSet.of(2))]
    speaking.say(CommandPoint(5, 0), Sync())
    assert speaking.asked(expected=True) == [Expected(RangeSet([(2, 4), (6, 6)]))]


@pytest.mark.rule("session.expected.include-next-command")
def test_a_replay_includes_what_follows_the_greatest_expected_id() -> None:
    speaking, session = with_client_session(timeout=None)
    for _ in range(4):
        session.sync()
    speaking.peer.end()
    again = of_open_client()
    again.client.resume(session)
    assert session._channel is not None
    again.hear()
    again.say(Attached(b"s"), Expected(RangeSet.of(0, 2)), channel=session._channel.number)
    said = [each for each in again.hear() if isinstance(each, CommandPoint | Sync)]
    assert said == [CommandPoint(0, 0), Sync(), CommandPoint(2, 0), Sync(), Sync()]


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
    again.client.resume(session)
    assert session._channel is not None
    last = again.say(Attached(b"s"), Expected(EMPTY), channel=session._channel.number)[-1]
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
def test_what_is_known_to_be_complete_is_not_sent_again() -> None:
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
    speaking.say(KnownCompleted(RangeSet.of(2)))  # confirmed, and not complete
    assert speaking.asked(confirmed=True) == [Confirmed(RangeSet.of(1))]
    again: tuple[Said, ...] = (
        *ATTACHING, ("C", CommandPoint(0, 0)), ("C", Sync()), ("S", Completed(RangeSet.of(0))),
        ("C", KnownCompleted(RangeSet.of(0))), ("S", Completed(RangeSet.of(0))),
    )  # fmt: skip
    assert overheard(*again, strict=True) == ["S session.completed.commands.exclude-known-complete"]


@pytest.mark.rule("session.completed.known-completed-reply")
def test_ids_in_several_ranges_are_answered_by_known_completed_when_that_is_asked_for() -> None:
    speaking, session = with_client_session()
    for _ in range(3):
        session.sync()
    speaking.hear()
    speaking.say(Completed(RangeSet.of(0, 2), True))
    assert speaking.hear() == [KnownCompleted(RangeSet.of(0, 2))]


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
    assert len(session._inbound.known) < 256


@pytest.mark.rule("session.completed.commands.completed-implies-confirmed")
def test_what_is_completed_counts_as_confirmed() -> None:
    speaking, session = with_server_session()
    speaking.say(Transfer("x"))
    session.complete(0)
    assert speaking.asked(confirmed=True) == [Confirmed(RangeSet.of(0))]
    for completed in (RangeSet.of(0), RangeSet.of(0, 3)):
        mine, ours = with_client_session(timeout=None)
        for _ in range(4):
            ours.sync()
        mine.say(Timeout(None), Completed(completed))
        assert mine.say(Confirmed(RangeSet.of(0, 1))) == [CommandsConfirmed(b"s", RangeSet.of(1))]
        assert sorted(ours._outbound.kept) == [id for id in (2, 3) if id not in completed]  # no other has to be said again


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
        assert speaking.say(KnownCompleted(completed.commands)) == []
        assert not session._inbound.known
    assert session.state == "attached"


@pytest.mark.rule("session.known-completed.commands.known-completed-implies-known-confirmed")
def test_knowing_what_was_never_reported_is_a_violation() -> None:
    said: tuple[Said, ...] = (
        *ATTACHING, ("C", CommandPoint(0, 0)), ("C", Sync()), ("C", KnownCompleted(RangeSet.of(0))),
    )  # fmt: skip
    rule = "session.known-completed.commands.known-completed-implies-known-confirmed"
    assert overheard(*said, strict=True) == [f"C {rule}"]


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
        Confirmed(RangeSet([(0, 2)])),
        Completed(RangeSet([(0, 2)]), True),
    ]
    session.complete([1, 2])  # the application had them
    assert speaking.hear() == [Completed(RangeSet([(0, 2)]))]
