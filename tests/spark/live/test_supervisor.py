"""The supervisor: starts again, gives up, and says why."""

from __future__ import annotations

import pytest

from amqp_sansio.conversation.retry import RetryPolicy
from amqp_sansio.spark.errors import LiveError, LiveSetupError
from amqp_sansio.spark.live.supervisor import QueryGaveUp, reason, supervise

POLICY = RetryPolicy(attempts=3, first=1.0, factor=2.0, jitter=0.0)


class Play:
    """A query that fails as often as it is told, after so many seconds."""

    def __init__(self, *failures: Exception | None, lasts: float = 0.0) -> None:
        self.failures = list(failures)
        self.lasts = lasts
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> Play:
        return self

    def awaitTermination(self) -> None:  # noqa: N802 -- Spark's name
        self.now += self.lasts
        failure = self.failures.pop(0)
        if failure is not None:
            raise failure

    def supervise(self) -> int:
        return supervise(self, POLICY, sleep=self.slept.append, clock=lambda: self.now, healthy=100.0)


def test_a_query_that_failed_is_started_again_with_growing_delays() -> None:
    play = Play(LiveError("one"), LiveError("two"), None)
    assert play.supervise() == 2
    assert play.slept == [1.0, 2.0]


def test_it_gives_up_and_says_why() -> None:
    play = Play(*[LiveError(f"failure {number}") for number in range(9)])
    with pytest.raises(QueryGaveUp, match="gave up after 4 failures in a row, the last one: failure 3"):
        play.supervise()
    assert play.slept == [1.0, 2.0, 4.0]


def test_a_failure_after_a_long_run_is_the_first_one() -> None:
    play = Play(*[LiveError("x")] * 6, None, lasts=100.0)
    assert play.supervise() == 6
    assert play.slept == [1.0] * 6


def test_what_trying_does_not_heal_is_not_tried() -> None:
    play = Play(LiveSetupError("there is no queue 'q'"))
    with pytest.raises(QueryGaveUp, match=r"^there is no queue 'q'$"):
        play.supervise()
    assert play.slept == []


def test_the_reason_is_found_in_what_spark_says() -> None:
    said = (
        "[STREAM_FAILED] Query terminated\nTraceback (most recent call last):\n  File ...\n"
        "amqp_sansio.spark.errors.LiveSetupError: amqp://b: there is no queue 'q'\n SQLSTATE: 38000"
    )
    assert reason(RuntimeError(said)) == ("amqp://b: there is no queue 'q'", True)
    assert reason(RuntimeError(said.replace("LiveSetupError", "LiveError"))) == ("amqp://b: there is no queue 'q'", False)
