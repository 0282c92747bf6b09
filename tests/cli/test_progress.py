"""How far long work is."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from amqp_sansio.captures import reader
from amqp_sansio.cli import progress
from amqp_sansio.cli.main import main
from amqp_sansio.cli.progress import Progress

HELLO = Path(__file__).parents[1] / "data" / "captures" / "hello.pcap"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def files(told: Progress) -> None:
    told.files("dtx", 7, 9)


def octets(told: Progress) -> None:
    told.octets("a.pcap", 12_400_000)


def rounds(told: Progress) -> None:
    told.rounds(40, 10_000, "seeds")


@pytest.mark.parametrize(
    ("tell", "said"),
    [(files, "reading dtx: 7 of 9 files"), (octets, "reading a.pcap: 12 MB"), (rounds, "40 of 10000 seeds")],
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
    monkeypatch.setattr(progress, "ELSEWHERE", 0.0)
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
    monkeypatch.setattr(progress, "ON_A_TERMINAL", 0.0)
    assert main([verb, str(HELLO)]) == 0
    assert "amqp-sansio: reading" in screen.getvalue()
    for line in screen.getvalue().split("\n"):
        *_, shown = line.split("\033[K")
        assert "reading" not in shown
