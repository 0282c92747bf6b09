"""`amqp-sansio send`: what is sent is there for certain, or the shell hears that it is not."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.cli.serving import Serving, run

from amqp_sansio.adapters.sync import connect
from amqp_sansio.conversation.message import Message
from amqp_sansio.spec import queue


@pytest.fixture(scope="module")
def serving() -> Iterator[Serving]:
    with Serving() as serving:
        yield serving
        assert serving.stop() == 0


def taken(serving: Serving, name: str) -> list[Message]:
    """All that is on a queue, which is emptied and goes."""
    found = []
    with connect(serving.url) as connection, connection.session() as session:
        answer = session.query_queue(name)
        assert isinstance(answer, queue.QueueQueryResult)
        with session.subscribe(name) as messages:
            for _ in range(answer.message_count or 0):
                message = messages.receive(20)
                message.accept()
                found.append(message)
    return found


def test_bodies_are_arguments_or_stdin_or_its_lines(serving: Serving) -> None:
    for arguments, given, bodies in (
        (["a", "b c"], b"not read", [b"a", b"b c"]),
        ([], b"one\ntwo\n", [b"one\ntwo\n"]),
        ([], b"", [b""]),
        (["--lines"], b"one\n\ntwo", [b"one", b"", b"two"]),
        (["--lines"], b"", []),
        (["--", "--lines"], b"", [b"--lines"]),
    ):
        done = run("send", serving.url, "--queue", "bodies", "--create", *arguments, given=given)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert [message.body for message in taken(serving, "bodies")] == bodies


def test_octets_are_sent_as_they_are(serving: Serving) -> None:
    octets = bytes(range(256)) * 1000
    assert run("send", serving.url, "--queue", "octets", "--create", given=octets).returncode == 0
    (message,) = taken(serving, "octets")
    assert message.body == octets


def test_properties(serving: Serving) -> None:
    done = run(
        "send", serving.url, "--queue", "properties", "--create", "--priority", "7", "--ttl", "60000", "--content-type",
        "text/plain", "--header", "a=1", "--header", "b=x=y", "hello",
    )  # fmt: skip
    assert done.returncode == 0
    (message,) = taken(serving, "properties")
    delivery = message.received.delivery_properties
    assert delivery is not None
    assert (delivery.priority, delivery.ttl, delivery.delivery_mode) == (7, 60000, 2)
    assert (message.content_type, dict(message.headers)) == ("text/plain", {"a": "1", "b": "x=y"})
    assert run("send", serving.url, "--queue", "properties", "--transient", "hello").returncode == 0
    (message,) = taken(serving, "properties")
    delivery = message.received.delivery_properties
    assert delivery is not None
    assert delivery.delivery_mode != 2


def test_by_an_exchange(serving: Serving) -> None:
    with connect(serving.url) as connection, connection.session() as session:
        session.declare_queue("bound")
        session.bind("bound", "amq.topic", "a.*")
    done = run("send", serving.url, "--exchange", "amq.topic", "--key", "a.b", "--json", "hello", "again")
    assert (done.returncode, json.loads(done.stdout)) == (0, {"sent": 2})
    assert [message.body for message in taken(serving, "bound")] == [b"hello", b"again"]


def test_what_nobody_takes_is_reported(serving: Serving) -> None:
    done = run("send", serving.url, "--exchange", "amq.topic", "--key", "nobody", "--json", "hello", "again")
    assert (done.returncode, json.loads(done.stdout)) == (1, {"sent": 0})
    place = b"exchange 'amq.topic', routing key 'nobody'"
    assert done.stderr == b"amqp-sansio: the other side returned the message: unroutable: " + place + b"\n"
    for arguments, said in (
        (["--queue", "no such queue"], b"there is no queue 'no such queue' (--create makes it)"),
        (["--exchange", "no such exchange"], b"404"),
        (["--queue", "x" * 300], b"255"),
    ):
        done = run("send", serving.url, *arguments, "hello")
        assert (done.returncode in (1, 2), done.stdout) == (True, b"")
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_many_lines(serving: Serving) -> None:
    lines = b"".join(b"%d\n" % number for number in range(5000))
    done = run("send", serving.url, "--queue", "many", "--create", "--lines", "--json", given=lines)
    assert (done.returncode, json.loads(done.stdout)) == (0, {"sent": 5000})
    assert [message.body for message in taken(serving, "many")] == [b"%d" % number for number in range(5000)]
