"""Which lines of `decode` are wanted."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio.cli.decode import decode
from amqp_sansio.cli.selection import Selection, Wanted, is_error, known_verb, moment

DATA = Path(__file__).parents[1] / "data" / "captures"
HELLO = str(DATA / "hello.pcap")


class Said:
    """As much of a connection as a selection looks at."""

    def __init__(self, name: str) -> None:
        self.name = name


def row(verb: str | None = None, **more: Any) -> Any:
    about: dict[str, Any] = {
        "kind": "command",
        "connection": "a:1>b:2#1",
        "channel": 1,
        "time": 0,
        "complete": True,
        "headers": [],
    }
    return {**about, "verb": verb, "fields": {}, **more}


def taken(wanted: Wanted, *rows: Any) -> list[int]:
    selection = Selection(wanted)
    names = [Said(each["connection"]) for each in rows]
    pairs = enumerate(zip(names, rows, strict=True))
    return [at for at, (talk, each) in pairs if selection.takes(talk, each)]  # type: ignore[arg-type]


def test_a_connection_by_number_or_by_a_part_of_its_name() -> None:
    rows = [row("x.y", connection=name) for name in ("a:1>b:2#1", "a:3>b:2#1", "a:1>b:2#1")]
    assert taken(Wanted(connections=("2",)), *rows) == [1]
    assert taken(Wanted(connections=("a:1>",)), *rows) == [0, 2]
    assert taken(Wanted(connections=("2", "a:1>")), *rows) == [0, 1, 2]


def test_channels_and_verbs_and_both() -> None:
    rows = [row("message.transfer"), row("message.flow", channel=2), row("queue.declare", channel=2), row(None, kind="opaque")]
    assert taken(Wanted(channels=(2,)), *rows) == [1, 2]
    assert taken(Wanted(verbs=("message.*", "opaque")), *rows) == [0, 1, 3]
    assert taken(Wanted(channels=(2,), verbs=("message.*",)), *rows) == [1]


def test_a_session_lasts_from_attach_to_detached() -> None:
    name = {"name": b"mine".hex()}
    rows = [
        row("session.attach", fields=name), row("message.transfer"), row("message.transfer", channel=2),
        row("session.detached", fields={**name, "code": 0}), row("session.attach", fields={"name": "ff00"}),
        row("message.transfer"),
    ]  # fmt: skip
    assert taken(Wanted(sessions=("mi*",)), *rows) == [0, 1, 3]
    assert taken(Wanted(sessions=("ff00",)), *rows) == [4, 5]
    assert taken(Wanted(sessions=("*",)), *rows) == [0, 1, 3, 4, 5]  # no session is none of them


def test_a_queue_is_named_published_to_and_delivered_from() -> None:
    rows = [
        row("queue.declare", fields={"queue": "q"}),
        row("message.subscribe", fields={"queue": "q", "destination": "d"}),
        row("message.transfer", fields={"destination": "d"}),
        row("message.transfer", fields={"destination": "e"}),
        row("message.transfer", headers=[{"struct": "message.delivery-properties", "routing_key": "q"}]),
        row("message.cancel", fields={"destination": "d"}),
        row("message.flow", fields={"destination": "d"}, channel=2),
        row("session.attach", channel=None),
    ]
    assert taken(Wanted(queues=("q",)), *rows) == [0, 1, 2, 4, 5]
    older = [
        row("basic.consume", fields={"queue": "q"}), row("basic.get", fields={"queue": "r"}),
        row("basic.consume-ok", fields={"consumer_tag": "t"}), row("basic.get-ok"),
        row("basic.deliver", fields={"consumer_tag": "t"}),
        row("basic.publish", fields={"routing_key": "q"}), row("basic.publish", fields={"exchange": "x", "routing_key": "q"}),
        row("basic.get-empty"),
    ]  # fmt: skip
    assert taken(Wanted(queues=("q",)), *older) == [0, 2, 4, 5]
    assert taken(Wanted(queues=("r",)), *older) == [1, 3]


def test_times_are_seconds_behind_the_first_line_or_moments() -> None:
    begun = moment("2024-05-01T12:30:00")
    assert begun == moment("2024-05-01T14:30:00+02:00") == 1_714_566_600_000_000_000
    rows = [row("x.y", time=begun + seconds * 1_000_000_000) for seconds in range(4)]
    assert taken(Wanted(since=1.0, until=2.0), *rows) == [1, 2]
    assert taken(Wanted(since=moment("2024-05-01T12:30:02Z")), *rows) == [2, 3]
    assert moment("1.5") == 1.5
    for wrong in ("-1", "nan", "yesterday", "1e12"):
        with pytest.raises(argparse.ArgumentTypeError):
            moment(wrong)


def test_errors_are_refusals_ends_with_a_reason_and_what_is_not_whole() -> None:
    wrong = [
        row("execution.exception"), row("channel.close", kind="method"), row("basic.return"),
        row("message.transfer", complete=False),
        row(None, kind="opaque"), row("session.detached", fields={"code": 1}),
        row("connection.close", fields={"reply_code": 320}),
    ]  # fmt: skip
    assert all(map(is_error, wrong))
    well = [
        row("session.detached", fields={"code": 0}),
        row("connection.close", fields={"reply_code": 200}),
        row("session.detach"),
    ]
    assert not any(map(is_error, well))
    assert taken(Wanted(errors=True), *wrong, *well) == list(range(len(wrong)))


def test_of_a_recording(capsys: pytest.CaptureFixture[str]) -> None:
    assert decode([HELLO], as_json=True, ports=(), secrets=False, wanted=Wanted(queues=("hello-q",))) == 0
    verbs = [json.loads(line)["verb"] for line in capsys.readouterr().out.splitlines()]
    assert verbs[:3] == ["queue.declare", "exchange.bind", "message.subscribe"]
    assert verbs.count("message.transfer") == 1


@pytest.mark.parametrize("text", ["message.transfer", "basic.deliver", "connection.*", "*.declare", "header", "119.1"])
def test_a_verb_may_be_a_pattern_or_a_number(text: str) -> None:
    assert known_verb(text) == text


def test_a_verb_that_does_not_exist_is_refused_with_the_nearest() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"^no verb is 'basic.publsh' \(did you mean basic.publish\?\)$"):
        known_verb("basic.publsh")
    with pytest.raises(argparse.ArgumentTypeError, match=r"^no verb is 'zz\*'$"):
        known_verb("zz*")
