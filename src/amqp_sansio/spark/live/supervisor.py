"""Restarts a failed query: a Python source that crashes ends its whole query."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from typing import Final, Protocol

from amqp_sansio.conversation.retry import RetryPolicy
from amqp_sansio.spark.errors import PipelineError, reason_of

LOG: Final = logging.getLogger("amqp_sansio.spark.live")
POLICY: Final = RetryPolicy(attempts=10, first=1.0, longest=60.0, give_up=None)
"""Ten failures in a row, with delays from a second to a minute between them."""
HEALTHY: Final = 300.0
"""Seconds that a query must run before it fails for its failure to count as the first one."""
NO_USE: Final = ("LiveSetupError", "LiveLossError")
"""Errors that trying again does not cure."""


class Query(Protocol):
    """The part of a StreamingQuery that is used."""

    def awaitTermination(self) -> object:  # noqa: N802 -- Spark's name
        """Waits for its end; raises its failure."""
        raise NotImplementedError


class QueryGaveUp(PipelineError):
    """A query failed too often, or with an error that trying again does not cure; the text has the last reason."""


def supervise(
    start: Callable[[], Query],
    policy: RetryPolicy = POLICY,
    *,
    healthy: float = HEALTHY,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    chance: Callable[[], float] = random.random,
) -> int:
    """Starts a query, waits for its end, and restarts it when it failed; returns the number of restarts.

    `start` starts it: `lambda: frame.writeStream. ... .start()`, with its checkpoint.  Returns when the query ends on its own
    (available-now, or somebody stopped it).  Raises QueryGaveUp, with the reason in one sentence.
    """
    again = 0
    delays = policy.delays(chance)
    in_a_row = 0
    while True:
        began = clock()
        try:
            start().awaitTermination()
            return again
        except Exception as error:
            why, hopeless = reason(error)
            if hopeless:
                raise QueryGaveUp(why) from error
            if clock() - began >= healthy:
                delays, in_a_row = policy.delays(chance), 0
            in_a_row += 1
            delay = next(delays, None)
            if delay is None:
                raise QueryGaveUp(f"gave up after {in_a_row} failures in a row, the last one: {why}") from error
            LOG.warning("the query failed: %s; it is started again in %.1f s", why, delay)
            sleep(delay)
            again += 1


def reason(error: BaseException) -> tuple[str, bool]:
    """Returns why a query failed, in one sentence, and whether trying again is useless."""
    text = str(error)
    kinds = [type(error).__name__, *[each for each in NO_USE if f"{each}: " in text]]
    return reason_of(error), any(each in NO_USE for each in kinds)
