"""What happens to a client is told as values, in order."""

from __future__ import annotations

import pytest
from tests.conversation.stage import Stage, refuse

from amqp_sansio.config import ServerConfig
from amqp_sansio.conversation.happenings import (
    ClientEvent,
    Connected,
    ConnectionEnded,
    GaveUp,
    SessionEnded,
    SessionOpened,
    SessionResumed,
)
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import queue


def told(stage: Stage) -> list[ClientEvent]:
    events: list[ClientEvent] = []
    stage.client.tell = events.append
    return events


def test_a_session_that_is_kept_is_resumed() -> None:
    stage = Stage(server=ServerConfig(session_timeout=600))
    events = told(stage)
    stage.client.endpoint = "h:1"
    stage.connect()
    core = stage.open(timeout=60)
    name = core.name
    stage.cut()
    stage.connect()
    assert events == [Connected("h:1", 1), SessionOpened(name, False), Connected("h:1", 2), SessionResumed(name)]


def test_a_session_that_is_not_kept_is_opened_again_and_what_is_in_doubt_is_named() -> None:
    stage = Stage(server=ServerConfig(session_timeout=0))
    stage.connect()
    core = stage.open()
    stage.get(core.execute(queue.Declare("q")))
    events, name = told(stage), core.name
    core.publish("", "q", b"x", {})
    id = core.session._outbound.next_id - 1
    stage.cut()
    stage.connect()
    ended, connected, opened = events
    assert isinstance(ended, SessionEnded)
    assert (ended.session, ended.in_doubt, connected) == (name, RangeSet.of(id), Connected("", 2))
    assert opened == SessionOpened(core.name, True)


def test_the_client_reports_a_refusal_once() -> None:
    stage = Stage()
    stage.connect()
    core = stage.open()
    events = told(stage)
    refuse(stage, core)
    (ended,) = events
    assert isinstance(ended, SessionEnded)
    assert ended.cause.startswith("the other side answers 542")


@pytest.mark.parametrize("closed", [True, False])
def test_the_client_reports_once_that_it_gives_up_and_not_at_all_when_it_was_closed(closed: bool) -> None:
    stage = Stage()
    stage.connect()
    stage.open()
    events = told(stage)
    if closed:
        stage.client.close()
        stage.run()
    stage.client.give_up(Exception("over"))
    stage.client.give_up(Exception("over"))
    assert [each for each in events if isinstance(each, GaveUp)] == ([] if closed else [GaveUp("over")])
    assert not [each for each in events if isinstance(each, ConnectionEnded | SessionEnded)]
