"""How long the ends of a connection's parts are waited for."""

from __future__ import annotations

import pytest
from tests.conversation.stage import staged

from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.client import Client
from amqp_sansio.conversation.ending import Ending
from amqp_sansio.errors import SessionLost
from amqp_sansio.spec import queue


def test_close_does_not_wait_again_for_a_broker_that_let_one_end_time_out() -> None:
    client = Client(ClientConfig(), prefix="p")
    ending = Ending(client, 10.0)
    assert (ending.timeout, ending.seconds) == (10.0, 10.0)
    ending.missed()
    assert (ending.timeout, ending.seconds) == (0.0, 10.0)
    client.connections += 1  # it came back
    assert ending.timeout == 10.0


def test_a_broker_that_has_spoken_since_is_waited_for_again() -> None:
    stage = staged()
    ending = Ending(stage.client, 10.0)
    ending.missed()
    assert ending.timeout == 0.0
    talk = stage.client.open_session()
    assert ending.timeout == 0.0
    stage.run()
    assert talk.attached.done
    assert ending.timeout == 10.0


def test_a_broker_that_makes_progress_has_come_further_however_much_is_sent_meanwhile() -> None:
    stage = staged()
    ending = Ending(stage.client, 10.0)
    talk = stage.client.open_session()
    before = ending.come(talk)
    stage.run()
    talk.execute(queue.Declare("q"))
    attached = ending.come(talk)
    talk.publish("", "q", b"x")
    assert before != attached == ending.come(talk)
    stage.run()
    assert ending.come(talk) != attached


def test_a_silent_end_names_what_was_awaited_and_what_is_in_doubt() -> None:
    stage = staged()
    ending = Ending(stage.client, 10.0)
    talk = stage.open()
    sent = talk.publish("", "q", b"x")
    id = talk.session._outbound.next_id - 1
    ending.silent(talk, "execution.sync")
    assert ending.timeout == 0.0
    for ticket in (sent, talk.ended):
        with pytest.raises(SessionLost, match=r"no answer to execution.sync within 10.0 seconds") as lost:
            ticket.result()
        assert id in lost.value.in_doubt
