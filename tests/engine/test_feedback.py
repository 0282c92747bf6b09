"""What is told about the other side's commands, and how it is cut."""

from __future__ import annotations

from amqp_sansio.engine.feedback import parts
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import queue
from amqp_sansio.spec.session import Completed, Flush
from amqp_sansio.testing.carriers import attached_session


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
