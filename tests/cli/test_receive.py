"""`amqp-sansio receive`: what is printed is accepted, and nothing else is."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Iterator

import pytest
from tests.cli.serving import COMMAND, Serving, environment, run

from amqp_sansio.adapters.sync import connect
from amqp_sansio.cli.receive import Interrupts
from amqp_sansio.spec import queue


@pytest.fixture(scope="module")
def serving() -> Iterator[Serving]:
    with Serving() as serving:
        yield serving
        assert serving.stop() == 0


def depth(serving: Serving, name: str) -> int:
    with connect(serving.url) as connection, connection.session() as session:
        answer = session.query_queue(name)
    assert isinstance(answer, queue.QueueQueryResult)
    return answer.message_count or 0


def fill(serving: Serving, name: str, *bodies: bytes) -> None:
    with connect(serving.url) as connection, connection.session() as session:
        session.declare_queue(name)
        for body in bodies:
            session.send("", name, body)


def test_so_many_as_are_wanted(serving: Serving) -> None:
    fill(serving, "count", b"one", b"two", b"three")
    done = run("receive", serving.url, "count", "--count", "2")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"one\ntwo\n", b"")
    assert depth(serving, "count") == 1
    done = run("receive", serving.url, "count", "--count", "2", "--timeout", "0.3")
    assert (done.returncode, done.stdout) == (1, b"three\n")
    assert done.stderr == b"amqp-sansio: 1 of 2 messages arrived within 0.3 s\n"
    done = run("receive", serving.url, "count", "--timeout", "0")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_what_was_not_printed_is_as_it_was(serving: Serving) -> None:
    fill(serving, "rest", *[b"%d" % number for number in range(300)])
    assert run("receive", serving.url, "rest", "--count", "150").returncode == 0
    done = run("receive", serving.url, "rest", "--count", "1", "--json")
    assert json.loads(done.stdout) == {"body": "150", "exchange": "", "routing_key": "rest", "redelivered": False}
    assert depth(serving, "rest") == 149


def test_browsing_leaves_them(serving: Serving) -> None:
    fill(serving, "browse", *[b"%d" % number for number in range(250)])
    done = run("receive", serving.url, "browse", "--browse", "--count", "250")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 250)
    assert depth(serving, "browse") == 250


def test_json(serving: Serving) -> None:
    fill(serving, "json", b"\xff\x00")
    assert run("send", serving.url, "--queue", "json", "--header", "a=ü", "--content-type", "x", "grüße").returncode == 0
    done = run("receive", serving.url, "json", "--count", "2", "--json")
    assert done.returncode == 0
    assert done.stdout.isascii()
    first, second = [json.loads(line) for line in done.stdout.splitlines()]
    assert first["body_hex"] == "ff00"
    assert (second["body"], second["headers"], second["properties"]["content_type"]) == ("grüße", {"a": "ü"}, "x")
    more = ("--header", "a=b", "--priority", "9", "--ttl", "60000")
    assert run("send", serving.url, "--queue", "json", *more, "bare").returncode == 0
    bare = json.loads(run("receive", serving.url, "json", "--count", "1", "--json").stdout)
    assert bare["headers"] == {"a": "b"}
    assert bare["properties"].items() >= {"priority": 9, "ttl": 60000, "delivery_mode": 2}.items()
    assert run("send", serving.url, "--queue", "json", "--transient", "--header", "a=b", "bare").returncode == 0
    bare = json.loads(run("receive", serving.url, "json", "--count", "1", "--json").stdout)
    assert (bare["headers"], "properties" in bare) == ({"a": "b"}, False)


def test_a_queue_that_is_not_there(serving: Serving) -> None:
    done = run("receive", serving.url, "missing", "--count", "1")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"amqp-sansio: there is no queue 'missing' (--create makes it)\n"
    assert run("receive", serving.url, "missing", "--create", "--timeout", "0").returncode == 0


def test_a_reader_who_has_read_enough_loses_nothing(serving: Serving) -> None:
    """What could not be printed is on the queue again."""
    fill(serving, "pipe", *[b"%05d" % number + b"x" * 10_000 for number in range(100)])
    with subprocess.Popen(
        [*COMMAND, "receive", serving.url, "pipe"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141
    assert 80 < depth(serving, "pipe") < 100


def test_an_interrupt_ends_it(serving: Serving) -> None:
    fill(serving, "interrupt", b"one")
    with subprocess.Popen(
        [*COMMAND, "receive", serving.url, "interrupt"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"one\n"
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(20) == 130
        finally:
            process.kill()  # else this test waits for it without end
    fill(serving, "interrupt")


def test_the_first_interrupt_is_remembered_and_the_second_is_raised_at_once() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as interrupts:
        interrupts.look()
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            interrupts.look()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) == before


def test_a_thread_that_gets_no_signals_changes_nothing() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    def elsewhere() -> None:
        with Interrupts() as interrupts:
            interrupts.look()
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [before]
