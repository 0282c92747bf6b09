from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from math import inf, nan
from pathlib import Path
from uuid import UUID

import pytest

from amqp_sansio.captures import reader
from amqp_sansio.captures.json_values import fields, plain
from amqp_sansio.cli import output
from amqp_sansio.cli.main import main
from amqp_sansio.cli.output import Progress, json_line, pairs, short
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.connection import StartOk
from amqp_sansio.spec.message import DeliveryProperties
from amqp_sansio.spec.values import Array, List, Map, OpaqueValue, Str8, Uint8, UnknownStruct


def test_values_as_json() -> None:
    value = {
        "bool": True,
        "typed": Uint8(7),
        "text": Str8("\u00e9\ud800\n"),
        "octets": b"\x00\xff",
        "nan": nan,
        "inf": [inf, -inf, 0.5],
        "void": None,
        "uuid": UUID(int=1),
        "decimal": Decimal("1.50"),
        "map": Map({"k": List([1, Map({})])}),
        "array": Array(0x02, [Uint8(1)]),
        "set": RangeSet([(1, 5), (9, 9)]),
        "struct": DeliveryProperties(routing_key="q"),
        "unknown": UnknownStruct(9, 8, b"x"),
        "opaque": OpaqueValue(0x0F, b"y"),
    }
    line = json_line(plain(value))
    assert line.isascii()
    assert json.loads(line) == {
        "bool": True,
        "typed": 7,
        "text": "\u00e9\ud800\n",
        "octets": "00ff",
        "nan": "NaN",
        "inf": ["Infinity", "-Infinity", 0.5],
        "void": None,
        "uuid": "00000000-0000-0000-0000-000000000001",
        "decimal": "1.50",
        "map": {"k": [1, {}]},
        "array": [1],
        "set": [[1, 5], [9, 9]],
        "struct": {"struct": "message.delivery-properties", "routing_key": "q"},
        "unknown": {"struct": "9.8", "octets": "78"},
        "opaque": {"type": "0x0f", "octets": "79"},
    }


def test_secrets_are_lengths() -> None:
    said = StartOk(None, "PLAIN", b"\0guest\0secret")
    assert fields(said, secrets=False) == {"mechanism": "PLAIN", "response": 13}
    assert fields(said) == {"mechanism": "PLAIN", "response": b"\0guest\0secret".hex()}


def test_text_for_people_is_harmless() -> None:
    assert short("amq.direct") == "amq.direct"
    assert short("") == '""'
    assert short("\x1b[31mred") == '"\\u001b[31mred"'
    assert short("x" * 100) == "x" * 60 + "..."
    assert short([[0, 4], [7, 7]]) == "{0-4,7}"
    assert pairs({"accept_mode": 1, "sync": True, "queue": "c d"}) == 'accept-mode=1 sync queue="c d"'
    assert short({"a_key": ["v", None], "a b": True}) == '{a_key=[v, null] "a b"=true}'
    assert short({"struct": "dtx.xid", "branch_id": "62"}) == "{struct=dtx.xid branch-id=62}"


HELLO = Path(__file__).parents[1] / "data" / "captures" / "hello.pcap"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def files(told: Progress) -> None:
    told.files("dtx", 7, 9)


def octets(told: Progress) -> None:
    told.octets("a.pcap", 12_400_000)


def obeyed(told: Progress) -> None:
    told.octets("\x1b[2J.pcap", 12_400_000)


def rounds(told: Progress) -> None:
    told.rounds(40, 10_000, "seeds")


def tasks(told: Progress) -> None:
    told.tasks("2 captures", 3, 8)


def uncounted(told: Progress) -> None:
    told.tasks("/captures", 0, 0)


@pytest.mark.parametrize(
    ("tell", "said"),
    [
        (tasks, "2 captures: 3 of 8 tasks"),
        (uncounted, "/captures"),
        (files, "reading dtx: 7 of 9 files"),
        (octets, "reading a.pcap: 12 MB"),
        (obeyed, r"reading \x1b[2J.pcap: 12 MB"),
        (rounds, "40 of 10000 seeds"),
    ],
)
@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_shown_now_and_then(
    tell: Callable[[Progress], None], said: str, terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    stream = Terminal() if terminal else io.StringIO()
    told = Progress(stream)
    tell(told)
    told.clear()
    assert stream.getvalue() == ""
    now += 61.5
    tell(told)
    tell(told)  # too soon after the last word
    told.clear()
    told.clear()
    line = f"amqp-sansio: {said}, 1:01"
    assert stream.getvalue() == (f"\r\033[K{line}\r\033[K" if terminal else f"{line}\n")


@pytest.mark.parametrize("verb", ["check", "decode"])
def test_it_tells_while_a_capture_is_read(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, str(HELLO)]) == 0
    quiet = capsys.readouterr()
    assert quiet.err == ""
    monkeypatch.setattr(reader, "TELL_OCTETS", 1000)
    monkeypatch.setattr(output, "ELSEWHERE", 0.0)
    assert main([verb, str(HELLO)]) == 0
    said = capsys.readouterr()
    assert said.out == quiet.out
    assert said.err.splitlines()[0] == f"amqp-sansio: reading {HELLO}: 0 MB, 0:00"
    assert 1 < said.err.count("\n") <= HELLO.stat().st_size / 1000


@pytest.mark.parametrize("verb", ["check", "decode"])
def test_on_a_terminal_the_line_is_gone_before_other_output(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(reader, "TELL_OCTETS", 1)
    monkeypatch.setattr(output, "ON_A_TERMINAL", 0.0)
    assert main([verb, str(HELLO)]) == 0
    assert "amqp-sansio: reading" in screen.getvalue()
    for line in screen.getvalue().split("\n"):
        *_, shown = line.split("\033[K")
        assert "reading" not in shown
