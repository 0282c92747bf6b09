"""What a session does with the other side's controls: section 4.6 of the model, control by control."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.carriers import BareCarrier, attached_session
from tests.engine.opened import served

from amqp_sansio.config import DEFAULT_PROFILE, STRICT_PROFILE, Profile
from amqp_sansio.engine.controls import parts
from amqp_sansio.engine.halves import EXPECTED_RANGES, TIMELY_RANGES
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.events import CommandsCompleted, CommandsConfirmed, CommandsSkipped, Origin, SessionDetached, TransferReceived
from amqp_sansio.kernel.serials import EMPTY, RangeSet
from amqp_sansio.limits import Limits
from amqp_sansio.spec import execution, message, queue
from amqp_sansio.spec import session as c
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.session import Completed, Confirmed, Flush, KnownCompleted
from amqp_sansio.wire.frames import frame_command


def test_flush_is_answered_in_order_even_when_there_is_nothing() -> None:
    carrier, session = attached_session("server", pointed=False)
    carrier.hear(c.Flush(True, True, True))
    assert carrier.said() == [c.Expected(EMPTY), c.Confirmed(EMPTY), c.Completed(EMPTY)]
    carrier.hear(c.CommandPoint(0, 0), queue.Declare("q"), queue.Declare("q"), queue.Declare("q"))
    session.complete(1)
    session.confirm(0)
    carrier.hear(c.Flush(True, True, True))
    assert carrier.said() == [
        c.Expected(RangeSet.of(3)),
        c.Confirmed(RangeSet([(0, 1)])),
        c.Completed(RangeSet.of(1), True),
    ]
    assert carrier.said() == []
    carrier.hear(c.Flush(False, False, True), c.Flush(True))
    assert carrier.said() == [c.Completed(RangeSet.of(1), True), c.Expected(RangeSet.of(3))]


def test_session_expected_include_next_command_and_holes() -> None:
    carrier, _ = attached_session("server")
    carrier.hear(queue.Declare("q"), c.CommandPoint(5, 0), queue.Declare("q"), c.Flush(True))
    assert carrier.said() == [c.Expected(RangeSet([(1, 4), (6, 6)]))]


def test_completed_each_id_comes_once() -> None:
    carrier, session = attached_session("client")
    for _ in range(4):
        session.sync()
    carrier.hear(c.Completed(RangeSet([(0, 1)])), c.Completed(RangeSet([(0, 2)])), c.Completed(EMPTY), c.Completed(None))
    assert carrier.happened() == [CommandsCompleted(b"s", RangeSet([(0, 1)])), CommandsCompleted(b"s", RangeSet.of(2))]
    carrier.hear(c.Confirmed(RangeSet([(2, 3)])), c.Confirmed(RangeSet([(2, 3)])))
    assert carrier.happened() == [CommandsConfirmed(b"s", RangeSet.of(3))]


def test_session_completed_known_completed_reply_is_never_unsolicited() -> None:
    carrier, session = attached_session("client")
    for _ in range(4):
        session.sync()
    carrier.take()
    carrier.hear(c.Completed(RangeSet.of(0)), c.Completed(RangeSet.of(2)))
    assert carrier.said() == []
    carrier.hear(c.Completed(RangeSet.of(3), True))
    assert carrier.said() == [c.KnownCompleted(RangeSet.of(0, 2, 3))]
    carrier.hear(c.Completed(RangeSet.of(3), True))
    assert carrier.said() == [c.KnownCompleted(RangeSet.of(3))]


def test_session_completed_commands_completed_implies_confirmed() -> None:
    carrier, session = attached_session("client", timeout=60)
    session.sync()
    carrier.hear(c.Completed(RangeSet.of(0)))
    assert session._outbound.kept == {}
    carrier.hear(c.Confirmed(RangeSet.of(0)))
    assert carrier.happened() == [CommandsCompleted(b"s", RangeSet.of(0))]


def test_session_completed_commands_exclude_known_complete() -> None:
    carrier, session = attached_session("server")
    carrier.hear(queue.Declare("q"), queue.Declare("q"))
    session.complete([0, 1])
    carrier.take()
    carrier.hear(c.KnownCompleted(RangeSet.of(0)), c.Flush(False, True, True))
    assert carrier.said() == [c.Confirmed(RangeSet.of(1)), c.Completed(RangeSet.of(1), True)]


def test_session_gap_rules() -> None:
    carrier, session = attached_session("server")
    carrier.hear(queue.Declare("q"), queue.Declare("q"))
    session.complete(0)
    carrier.happened()
    carrier.hear(c.Gap(RangeSet([(0, 4)])))
    assert carrier.happened() == [CommandsSkipped(b"s", RangeSet([(2, 4)]))]
    assert carrier.said() == [c.Completed(RangeSet([(0, 4)]))]
    carrier.hear(c.Flush(True))
    assert carrier.said() == [c.Expected(RangeSet.of(5))]
    carrier.hear(c.Gap(RangeSet([(0, 4)])), c.Gap(EMPTY))
    assert carrier.happened() == []


def test_session_gap_aborted_commands() -> None:
    """A gap over a command that is half received aborts it."""
    carrier, session = attached_session("server")
    writer, theirs = attached_session("client")
    theirs.publish("", message.DeliveryProperties(routing_key="k"), body=b"x" * 100)
    octets = writer.take()[28:]  # behind command-point
    carrier.feed(octets[:-40])
    assert carrier.happened() == []
    assert carrier.reader.buffered
    carrier, session = attached_session("server")
    carrier.feed(octets[: octets.index(b"x") - 12])  # command and header frames, no body
    carrier.hear(c.Gap(RangeSet.of(0)))
    assert carrier.happened() == [CommandsSkipped(b"s", RangeSet.of(0))]
    carrier.feed(octets[octets.index(b"x") - 12 :])
    assert carrier.happened() == []
    assert carrier.failed == []
    carrier.hear(execution.Sync())
    assert session._inbound.next_id == 2


def test_session_command_point_nonzero_offset() -> None:
    carrier, session = attached_session("server")
    carrier.hear(c.CommandPoint(3, 17))
    assert carrier.said() == [c.Detached(b"s", 4)]
    (event,) = carrier.happened()
    assert isinstance(event, SessionDetached)
    assert event.violation is not None
    assert event.violation.rule == "session.command-point.nonzero-offset"
    assert session.state == "ended"


NEVER_SENT: dict[str, Control] = {
    "completed": c.Completed(RangeSet([(0, 7)])),
    "confirmed": c.Confirmed(RangeSet([(0, 7)])),
    "known-completed": c.KnownCompleted(RangeSet([(0, 7)])),
}


@pytest.mark.parametrize("profile", [DEFAULT_PROFILE, STRICT_PROFILE], ids=["default", "strict"])
@pytest.mark.parametrize("name", NEVER_SENT)
def test_ids_that_were_never_sent_are_a_violation_as_an_observer_says(name: str, profile: Profile) -> None:
    carrier, session = attached_session("client", profile=profile)
    session.sync()
    carrier.take()
    carrier.hear(NEVER_SENT[name])
    exception, detach = carrier.said()
    assert isinstance(exception, execution.Exception_)
    assert (exception.error_code, detach) == (542, c.Detach(b"s"))
    (event,) = carrier.happened()
    assert isinstance(event, SessionDetached)
    assert event.origin == Origin.VIOLATION
    assert event.violation is not None
    assert event.violation.rule == f"session.{name}.commands"


@pytest.mark.parametrize("last", [0, 1, 2])
def test_a_confirmed_set_may_end_one_behind_the_last_unless_the_letter_counts(last: int) -> None:
    for profile, ends in ((DEFAULT_PROFILE, last > 1), (STRICT_PROFILE, last > 0)):
        carrier, session = attached_session("client", profile=profile)
        session.sync()
        carrier.hear(c.Confirmed(RangeSet([(0, last)])))
        assert (session.state == "ended") is ends


def test_expected_that_nobody_asked_for() -> None:
    carrier, session = attached_session("client")
    carrier.hear(c.Expected(RangeSet.of(0)))
    assert session.state == "attached"
    session.flush(expected=True)
    carrier.hear(c.Expected(RangeSet.of(0)))
    assert carrier.happened() == []
    carrier, session = attached_session("client", profile=STRICT_PROFILE)
    carrier.hear(c.Expected(RangeSet.of(0)))
    assert session.state == "ended"


@pytest.mark.parametrize(("ranges", "ends"), [(2, False), (3, False), (4, True)])
def test_limit_of_ranges(ranges: int, ends: bool) -> None:
    carrier, session = attached_session("server", limits=Limits(ranges=3))
    for n in range(ranges):
        carrier.hear(c.CommandPoint(2 * n + 1, 0), execution.Sync())
    assert (session.state == "ended") == ends
    if ends:
        event = carrier.happened()[-1]
        assert isinstance(event, SessionDetached)
        assert event.violation is not None
        assert (event.violation.rule, event.violation.code) == ("limits.ranges", 506)


@pytest.mark.parametrize(("ranges", "ends"), [(2, False), (3, False), (4, True)])
def test_limit_of_ranges_that_are_completed(ranges: int, ends: bool) -> None:
    """Completions that leave holes, of which the other side never says that we need not remember them."""
    carrier, session = attached_session("client", limits=Limits(ranges=3))
    for _ in range(2 * ranges):
        session.sync()
    for n in range(ranges):
        carrier.hear(c.Completed(RangeSet.of(2 * n)))
    assert (session.state == "ended") == ends
    if ends:
        event = carrier.happened()[-1]
        assert isinstance(event, SessionDetached)
        assert event.violation is not None
        assert (event.violation.rule, event.violation.said) == ("limits.ranges", "session.completed")


def test_sync_is_complete_when_all_before_it_are() -> None:
    carrier, session = attached_session("server")
    carrier.hear(queue.Declare("q"), execution.Sync(), queue.Declare("q"))
    assert carrier.said() == []
    session.complete(2)
    assert carrier.said() == [c.Completed(RangeSet.of(2))]
    session.complete(0)
    assert carrier.said() == [c.Completed(RangeSet([(0, 2)]))]


def test_more_holes_than_one_control_can_say() -> None:
    carrier, session = attached_session("server", max_frame_size=4096)
    for n in range(700):
        carrier.hear(c.CommandPoint(2 * n + 1, 0), execution.Sync())
    carrier.take()
    carrier.hear(c.Flush(True))
    (expected,) = carrier.said()
    assert isinstance(expected, c.Expected)
    assert expected.commands is not None
    assert expected.commands.ranges == tuple((2 * n, 2 * n) for n in range(EXPECTED_RANGES))
    assert session.state == "attached"


def test_holes_of_billions_can_still_be_reported() -> None:
    """Two points far ahead leave a hole wider than one range can say: the oldest of it is forgotten."""
    carrier, session = attached_session("server")
    carrier.hear(c.CommandPoint(0x7FFFFFFE, 0), c.CommandPoint(0xFFFFFFF0, 0), c.CommandPoint(0x7FFFFFE0, 0))
    carrier.hear(c.Flush(True, True, True), c.Gap(RangeSet([(0x7FFFFFE0, 0xFFFFFFDE)])), c.Flush(True, True, True))
    assert session.state == "attached"
    assert len(carrier.said()) == 6


def test_expectations_of_billions_can_still_be_answered() -> None:
    carrier, session = attached_session("client", timeout=60)
    session.publish()
    carrier.lost()
    carrier = BareCarrier("client")
    carrier.channel(0).bind(session)
    session.attach()
    carrier.hear(c.Attached(b"s"))
    carrier.take()
    carrier.hear(c.Expected(RangeSet([(0x80000010, 0xFFFFFFF0), (0xFFFFFFF2, 1)])))
    assert session.state == "attached"
    assert isinstance(carrier.said()[0], c.Gap)


@pytest.mark.rule("session.request-timeout.maximum-granted-timeout")
@pytest.mark.parametrize(("asked", "granted"), [(9, 9), (10, 10), (11, 10), (None, 10)])
def test_a_client_grants_no_more_than_it_wants(asked: int | None, granted: int) -> None:
    """And says what it has granted: not what was asked for."""
    carrier, session = attached_session("client", timeout=0, max_timeout=10)
    carrier.hear(c.RequestTimeout(asked))
    assert carrier.said() == [c.Timeout(granted)]
    assert session.timeout == granted


@pytest.mark.rule("session.gap.gap-confirmation-and-completion")
def test_an_application_may_end_what_a_gap_has_completed() -> None:
    carrier, session = attached_session("server")
    carrier.hear(queue.Query("q"), message.Transfer("x", 0, 0), c.Gap(RangeSet([(0, 1)])))
    assert c.Completed(RangeSet([(0, 1)])) in carrier.said()
    session.result(0, queue.QueueQueryResult())
    session.accept(1)
    session.complete(0)
    with pytest.raises(LocalProtocolError):
        session.complete(0)


@pytest.mark.parametrize(("gap", "heard"), [(5, 1), (0, 0)])
def test_a_gap_ahead_leaves_what_is_under_way_to_be_received(gap: int, heard: int) -> None:
    """Only a gap over the next id means that a command which was begun will not be finished."""
    peer = served()
    peer.say(c.Attach(b"s"), c.CommandPoint(0, 0), channel=1)
    payload = peer.dialect.codec.encode_command(message.Transfer("", 1, 0), False)
    *begun, rest = frame_command(1, payload, b"\0\0\0\x04\0\x63\0\0", b"body")
    events = peer.say(b"".join(begun), peer.octets_of(c.Gap(RangeSet.of(gap)), 1), rest)
    assert [type(event) for event in events].count(TransferReceived) == heard


def test_a_set_is_cut_so_that_each_part_fits_into_a_frame() -> None:
    _, session = attached_session("server", max_frame_size=4096)
    whole = RangeSet.of(*range(0, 2 * 509, 2))
    assert parts(session, whole) == [whole]
    more = RangeSet.of(*range(0, 2 * 510, 2))
    assert [len(part) for part in parts(session, more)] == [509, 1]
    assert parts(session, RangeSet()) == [RangeSet()]


def test_said_once_however_often_it_was_asked() -> None:
    carrier, session = attached_session("server")
    carrier.hear(queue.Declare("q"))
    session.complete(0)
    carrier.hear(*[Flush(False, False, True)] * 5)
    assert carrier.said() == [Completed(RangeSet.of(0), True)] * 2
    assert carrier.said() == []


@settings(max_examples=settings().max_examples * 3)
@given(
    st.lists(st.tuples(st.sampled_from(["complete", "complete", "flush", "take", "known"]), st.integers(0, 99)), max_size=80)
)
def test_what_is_not_sent_again_was_sent_with_timely_reply(words: list[tuple[str, int]]) -> None:
    """Of what is complete and not known to be known, nothing is left out of session.completed that was not said before with the
    mark by which the sender must answer at once."""
    carrier, session = attached_session("server")
    carrier.hear(*[queue.Declare("q")] * 100)
    for id in range(0, 60, 2):  # many ranges
        session.complete(id)
    done, timely = set(range(0, 60, 2)), set[int]()
    incomplete = set(range(100)) - done
    for word, id in [*words, ("flush", 0), ("take", 0)]:
        if word == "complete" and id in incomplete:
            session.complete(id)
            incomplete.remove(id)
            done.add(id)
        elif word == "flush":
            carrier.hear(Flush(False, False, True))
        elif word == "known" and id in timely:
            carrier.hear(KnownCompleted(RangeSet.of(id)))
            done.discard(id)
        elif word == "take":
            batch = [said for said in carrier.said() if isinstance(said, Completed)]
            told = {id for id in done for said in batch if id in (said.commands or EMPTY)}
            assert not batch or done - told <= timely
            timely |= {id for id in done for said in batch if said.timely_reply and id in (said.commands or EMPTY)}


def test_commands_confirmed_in_many_ranges_are_reported_complete_too() -> None:
    carrier, session = attached_session("server")
    carrier.hear(*[queue.Declare("q")] * 40)
    for count, words in ((TIMELY_RANGES, [Confirmed]), (TIMELY_RANGES + 1, [Confirmed, Completed])):
        for id in range(0, 2 * count, 2):
            if id in session._inbound.outstanding:
                session.complete(id)
        carrier.said()
        carrier.hear(Flush(False, True, False))
        assert [type(each) for each in carrier.said()] == words
