"""The callers that wait for answers to their requests."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conversation.channels.stage import staged

from amqp_sansio.errors import ChannelClosed, EncodeError, LimitError, LocalProtocolError, MessageReturned


def test_an_answer_reaches_the_caller_of_its_request() -> None:
    stage = staged()
    stage.queue("q", b"1")
    core = stage.open()
    message = stage.fetch(core, "q")
    requests = core.requests
    one, two = requests.ask("1"), requests.ask("2")
    requests.answered("2", message)
    requests.answered("2", message)  # a second answer
    requests.answered("3", message)  # nobody asked that
    assert two.result() is message
    assert not one.done


def test_an_id_waits_once() -> None:
    requests = staged().open().requests
    first = requests.ask("1")
    with pytest.raises(LocalProtocolError, match="correlation_id '1'"):
        requests.ask("1")
    requests.forget(first)
    requests.ask("1")


def test_a_request_fails_with_what_became_of_it() -> None:
    requests = staged().open().requests
    one, two = requests.ask("1"), requests.ask("2")
    requests.failed("1", ValueError())
    requests.failed("1", ValueError())
    assert isinstance(one.error, ValueError)
    requests.lost(ChannelClosed(1, "gone"))
    assert isinstance(two.error, ChannelClosed)


def test_at_most_so_many_wait() -> None:
    requests = staged().open().requests
    requests.most = 2
    for id in ("1", "2"):
        requests.ask(id)
    with pytest.raises(LimitError, match="requests is 2"):
        requests.ask("3")


def test_only_its_caller_learns_the_outcome_of_a_request() -> None:
    stage = staged()
    core = stage.open()
    answer = core.requests.publish("", "nowhere", b"", {"mandatory": True})
    stage.run()
    assert isinstance(answer.error, MessageReturned)
    lost = core.requests.publish("", "nowhere", b"", {})
    stage.cut()
    assert isinstance(lost.error, ChannelClosed)
    core.in_flight.unheard()


@pytest.mark.parametrize("id", [b"\xff", 5, "x" * 256])
def test_a_wrong_id_is_refused_before_anything_waits_for_it(id: Any) -> None:
    stage = staged()
    core = stage.open()
    with pytest.raises(EncodeError, match="correlation_id"):
        core.requests.publish("", "q", b"", {"correlation_id": id})
    assert not core.requests._waiting


def test_another_place_for_answers_is_refused() -> None:
    core = staged().open()
    with pytest.raises(EncodeError, match=r"^request: reply_to: is amq\.rabbitmq\.reply-to"):
        core.requests.publish("", "q", b"", {"reply_to": "my-answers"})
    assert not core.requests._waiting
