"""What every checker does alike: it tells what was said, and behind it what was found."""

from __future__ import annotations

from collections import deque

from amqp_sansio.captures.replay.rows import properties_of
from amqp_sansio.engine.checker import Checker
from amqp_sansio.engine.observed import Observed
from amqp_sansio.events import Note, OpaqueSeen
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.spec.execution import Sync
from amqp_sansio.wire.framing import Cut, KnownCommand
from amqp_sansio.wire.headers import Headers
from amqp_sansio.wire.reading import Reading


def test_findings_come_after_the_words_that_they_are_about() -> None:
    told: deque[Observed] = deque()
    checker = Checker(True, DEFAULT_LIMITS, {}, told)
    checker.findings.note("rule", "text")
    checker.say("C", 3, 5, OpaqueSeen("why"))
    checker.flush("C", 3, 5)
    checker.flush("C", 5, 6)
    assert list(told) == [Observed("C", 3, 5, OpaqueSeen("why")), Observed("C", 3, 5, Note("rule", "text"))]


def test_without_a_way_of_its_own_everything_is_taken_one_by_one() -> None:
    checker = Checker(False, DEFAULT_LIMITS, {}, deque())
    cut: Cut = (KnownCommand(1, Sync(), False, b""), b"", None, b"", 0, 1)
    assert checker.hear_plain("C", cut) is None
    assert checker.next_alike("S", Headers(Reading.of(DEFAULT_LIMITS), properties_of), 0) is None
    assert checker.books(1) is None
