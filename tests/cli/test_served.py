"""The story of the main job: a broker is killed, and nothing that was completed is lost."""

from __future__ import annotations

import pytest

from amqp_sansio.cli.served import NotServing, Process, tell


def test_what_was_completed_outlives_the_broker() -> None:
    story = tell(50)
    assert story.confirmed == 50
    assert story.received == tuple(b"order %d" % number for number in range(50))
    assert story.ended == 0


def test_a_broker_that_does_not_begin() -> None:
    with pytest.raises(NotServing, match="did not start"):
        Process("--data-dir", "/proc/nowhere")
