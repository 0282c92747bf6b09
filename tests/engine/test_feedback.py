"""What is told about the other side's commands, and how it is cut."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.carriers import attached_session

from amqp_sansio.engine.feedback import parts
from amqp_sansio.engine.inbound import TIMELY_RANGES
from amqp_sansio.kernel.serials import EMPTY, RangeSet
from amqp_sansio.spec import queue
from amqp_sansio.spec.session import Completed, Confirmed, Flush, KnownCompleted


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
