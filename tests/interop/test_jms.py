"""The Qpid JMS client as a client of `serve`: what our Java programs print is what Broker-J lets them print, too."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from amqp_sansio.adapters.access_files import Verifier, write
from amqp_sansio.adapters.sync import connect
from amqp_sansio.cli.served import Process
from amqp_sansio.conversation.message import Message
from amqp_sansio.spec import queue
from amqp_sansio.spec.codes import DeliveryMode
from amqp_sansio.spec.message import DeliveryProperties
from amqp_sansio.spec.queue import QueueQueryResult
from amqp_sansio.spec.values import List, Map, Value
from amqp_sansio.wire.encoding import encode_map
from amqp_sansio.wire.types import decode_map
from tools.interop.broker_j import BrokerJ
from tools.interop.jms import Jms, url
from tools.interop.recording import Recording

BY_PRIORITY = "order [9, 19, 8, 18, 7, 17, 6, 16, 5, 15, 4, 14, 3, 13, 2, 12, 1, 11, 0, 10]"
AS_SENT = "order [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]"
WHO = ("own", "other")
SAID = {
    "login": ["let in"],
    "queue": [BY_PRIORITY, "persistent 10", "expiring 7", "left null"],
    "topic": [
        f"all [{', '.join([f'{who} news.{key} {n}' for who in WHO for key in ('world', 'sport') for n in (2, 3, 4)])}]",
        "some [own news.world 4, own news.sport 4, other news.world 4, other news.sport 4]",
        "foreign [other news.world 2, other news.world 3, other news.world 4,"
        " other news.sport 2, other news.sport 3, other news.sport 4]",
        f"sport [{', '.join([f'{who} news.sport {n}' for who in WHO for n in (2, 3, 4)])}]",
        "more null null null null",
    ],
    "durable": ["here", "away", "null"],
    "transacted": [
        "before commit 0",
        "after commit 6",
        "[in 0, in 1, in 2]",
        "in 0 true",
        "[in 1, in 2, in 3, in 4, in 5]",
        "left 0",
        "left 0",
    ],
    "acknowledge": ["[0, 1]", "[3, 4]", "recovered 3 true", "[3, 4, 5, 6, 7, 8, 9]", "left 0"],
    "browse": ["all 5", "some 2", "still 5", "[0, 1, 2, 3, 4]", "left 0"],
    "messages": [
        "map 1010 1 zwei ü [1, 2, 3] 3.5 4.5 true x 1125899906842624 -5 7 value 999",
        "stream 5 six 1",
        "bytes 0 true",
        "bytes 1 true",
        "bytes 65511 true",
        "bytes 65536 true",
        "bytes 300000 true",
        "bytes 8388608 true",
        "object [a, b]",
        "text 1000000",
        "empty false",
    ],
    "request": ["one ONE", "two TWO", "three THREE"],
    "selector": ["even [0, 2, 4] null", "left 3", "odd [1, 3, 5]", "left 0"],
    "sessions": ["received 100"],
    "temporary": ["kept", "[kept, too, foreign]", "gone"],
    "durable-selector": [
        "n > 1: here 2, here 3",
        "n > 1: away 2, away 3, here 2, here 3",
        "n < 2: here 0, here 1",
    ],
    "same-manager": ["same connection true", "other connection true"],
    "priority": ["nothing yet null null", "high [0, 1, 2, 3] low null", "low [last]"] * 2,
    "replay": ["now null", "now [after]", "hour [before]"],
    "xa": [
        "prepare true 0",
        "commit 1",
        "one phase 2",
        "rollback 2",
        "nothing to do true",
        "received two phases",
        "brought back 2",
        "timeout 120",
        "in doubt 3",
        "recovered 1",
        "committed 4",
        "[two phases, one phase, outside, suspended]",
    ],
    "xa-wrong": [
        "commit unknown -4",
        "prepare unknown -4",
        "rollback unknown -4",
        "forget unknown -4",
        "end unknown -6",
        "start twice -8",
        "prepare active -6",
        "end failing 100",
        "prepare failed 100",
        "rollback failed passed",
    ],
}
"""What each scenario prints."""
BROKER_J = {
    "queue": [AS_SENT, *SAID["queue"][1:]],  # its queues know no priorities unless told so
    "xa-wrong": [*SAID["xa-wrong"][:7], "end failing passed", "prepare failed passed", "rollback failed passed"],
}
"""Where Broker-J lets it print something else."""


@pytest.fixture(scope="module", params=[False, True], ids=["memory", "data-dir"])
def serving(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of one `serve` for all, in memory and with a store."""
    process = Process(*(["--data-dir", str(tmp_path_factory.mktemp("jms") / "data")] if request.param else []))
    try:
        yield urlsplit(process.url).port or 0
        assert process.end() == 0
    finally:
        process.kill()


@pytest.fixture(scope="module")
def served(serving: int, jms: Jms) -> dict[str, list[str]]:
    """What every scenario printed with `serve`: one Java for all of them."""
    return jms.run_all(SAID, url(serving))


@pytest.fixture(scope="module")
def by_broker_j(broker_j: BrokerJ, jms: Jms) -> dict[str, list[str]]:
    """What every scenario printed with Broker-J."""
    return jms.run_all(SAID, url(broker_j.port, virtual_host="default"))


@pytest.mark.parametrize("scenario", SAID)
def test_served(scenario: str, served: dict[str, list[str]]) -> None:
    assert served[scenario] == SAID[scenario]


@pytest.mark.parametrize("scenario", SAID)
def test_the_same_with_broker_j(scenario: str, by_broker_j: dict[str, list[str]]) -> None:
    """The expectations are not of our making."""
    assert by_broker_j[scenario] == BROKER_J.get(scenario, SAID[scenario])


def test_what_is_refused_is_reported_and_the_connection_goes_on(serving: int, jms: Jms) -> None:
    said = jms.run("errors", url(serving))
    assert said[::2] == [
        "refused ADDR:nowhere",
        "refused ADDR:amq.nowhere; {create: always, node: {type: topic}}",
        "refused ADDR:amq.nowhere/key; {create: always, node: {type: topic, x-declare: {type: strange}}}",
        "refused exclusive",
        "goes on",
    ]
    assert "errorCode=NOT_FOUND, commandId=0, classCode=7, commandCode=1, fieldIndex=3" in said[3]
    assert "there is no exchange 'amq.nowhere'" in said[3]
    assert "queue 'jms-mine' belongs to another session" in said[7]


def test_heartbeats_both_ways(serving: int, jms: Jms) -> None:
    assert jms.run("idle", url(serving, heartbeat="1"), "3500") == ["alive"]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_users_of_a_file(mechanism: str, tmp_path: Path, jms: Jms) -> None:
    users = str(tmp_path / "users")
    write(users, "guest", Verifier.make("secret"))
    write(users, "other", Verifier.make("other"))
    process = Process("--auth", users)
    try:
        port = urlsplit(process.url).port or 0
        assert jms.run("login", url(port, "guest", "secret", sasl_mechs=mechanism)) == ["let in"]
        (said,) = jms.run("login", url(port, "guest", "wrong", sasl_mechs=mechanism))
        assert said.startswith("refused:")
        assert jms.run("transacted", url(port, "guest", "secret", sasl_mechs=mechanism)) == SAID["transacted"]
    finally:
        process.kill()


def committed(process: subprocess.Popen[str]) -> str:
    """The next line of a sender, which goes on behind it."""
    assert process.stdout is not None
    assert process.stdin is not None
    line = process.stdout.readline().strip()
    process.stdin.write("\n")
    process.stdin.flush()
    return line


def counted(where: str, name: str) -> dict[int, list[int]]:
    """What is on a queue of messages "batch.number": the numbers by batch."""
    found: dict[int, list[int]] = {}
    with connect(where) as connection, connection.session() as session:
        asked = session.execute(queue.Query(name))
        assert isinstance(asked, QueueQueryResult)
        with session.subscribe(name) as subscription:
            for _ in range(asked.message_count or 0):
                message = subscription.receive(20)
                batch, number = message.body.decode().split(".")
                found.setdefault(int(batch), []).append(int(number))
                message.accept()
    return found


def test_a_connection_that_is_cut_is_made_again(serving: int, jms: Jms) -> None:
    """Each batch that was committed is there; a batch whose commit was in doubt is there once or twice, and whole."""
    here = f"amqp://127.0.0.1:{serving}"
    with connect(here) as connection, connection.session() as session:
        session.execute(queue.Declare("jms-cut", durable=True))
    with Recording(serving) as proxy:
        where = url(proxy.port, failover="singlebroker", retries="50", connectdelay="50")
        sender = jms.start("reconnect", where, "jms-cut", "20")
        try:
            batches: set[int] = set()
            while (line := committed(sender)) != "done":
                if not line:
                    raise AssertionError("the sender has ended")
                word, _, number = line.partition(" ")
                if word == "committed":
                    batches.add(int(number))
                    if int(number) in (4, 9):
                        proxy.cut()
        finally:
            sender.kill()
            sender.wait()
    found = counted(here, "jms-cut")
    assert batches == set(range(20)) == set(found)
    assert all(sorted(set(numbers)) == list(range(10)) for numbers in found.values())
    assert all(len(numbers) % 10 == 0 for numbers in found.values())
    assert sum(map(len, found.values())) <= 220


def test_a_broker_that_is_killed_comes_again_with_all_that_was_committed(tmp_path: Path, jms: Jms) -> None:
    data = str(tmp_path / "data")
    process = Process("--data-dir", data)
    port = urlsplit(process.url).port or 0
    sender: subprocess.Popen[str] | None = None
    try:
        with connect(process.url) as connection, connection.session() as session:
            session.execute(queue.Declare("jms-killed", durable=True))
        where = url(port, failover="singlebroker", retries="200", connectdelay="100")
        sender = jms.start("reconnect", where, "jms-killed", "10")
        batches: set[int] = set()
        while (line := committed(sender)) != "done":
            if not line:
                raise AssertionError("the sender has ended")
            word, _, number = line.partition(" ")
            if word == "committed":
                batches.add(int(number))
                if int(number) == 4:
                    process.kill()
                    process = Process("--data-dir", data, "--port", str(port))
        found = counted(process.url, "jms-killed")
        assert batches == set(range(10)) == set(found)
        assert all(sorted(set(numbers)) == list(range(10)) for numbers in found.values())
    finally:
        process.kill()
        if sender is not None:
            sender.kill()
            sender.wait()


def delivered(message: Message) -> DeliveryProperties:
    properties = message.received.delivery_properties
    assert properties is not None
    return properties


def test_what_java_sends_our_client_reads(serving: int, jms: Jms) -> None:
    assert jms.run("send", url(serving), "jms-to-us") == ["sent"]
    with connect(f"amqp://127.0.0.1:{serving}") as connection, connection.session() as session:
        with session.subscribe("jms-to-us") as subscription:
            found = [subscription.receive(20) for _ in range(3)]
            for each in found:
                assert each is not None
                each.accept()
    mapped, octets, text = found  # by priority
    assert mapped is not None
    assert octets is not None
    assert text is not None
    assert (mapped.content_type, delivered(mapped).delivery_mode) == ("amqp/map", DeliveryMode.PERSISTENT)
    content, _ = decode_map(mapped.body, 0, len(mapped.body))
    assert dict(content) == {"int": 1, "string": "zwei ü", "bytes": b"\1\2\3", "double": 3.5}
    assert mapped.headers["property"] == "ß"
    assert (octets.body, octets.content_type) == (b"\0\1\2", "application/octet-stream")
    assert (text.body.decode(), text.correlation_id) == ("grün", "c")
    assert delivered(text).delivery_mode == DeliveryMode.NON_PERSISTENT


def test_what_our_client_sends_java_reads(serving: int, jms: Jms) -> None:
    with connect(f"amqp://127.0.0.1:{serving}") as connection, connection.session() as session:
        session.execute(queue.Declare("us-to-jms"))
        session.publish("", "us-to-jms", "grün".encode(), content_type="text/plain", correlation_id=b"c", priority=9)
        inner: dict[str, Value] = {"a": List((1, 2))}
        content: dict[str, Value] = {"int": 1, "string": "zwei ü", "nested": Map(inner)}
        body = encode_map(content)
        session.publish("", "us-to-jms", body, content_type="amqp/map", priority=8)
        session.publish("", "us-to-jms", bytes(200_000), headers={"property": "ß"})
    said = jms.run("receive", url(serving), "us-to-jms", "3")
    assert said == [
        "text grün 9 c",
        "map int 1",
        "map nested {a=[1, 2]}",
        "map string zwei ü",
        "bytes 200000 ß",
    ]
