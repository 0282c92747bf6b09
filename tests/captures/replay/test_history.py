"""What every family's history does; tests/families/test_history.py has it through a capture."""

from __future__ import annotations

import pytest
from tests.captures.fake import FakeWitness
from tests.captures.packets import tables_of
from tests.captures.replay.made import named
from tests.kept.scene import DATA

from amqp_sansio.captures.conversation import Conversation, Heard
from amqp_sansio.captures.flows import Talk
from amqp_sansio.captures.replay.families import HISTORIES
from amqp_sansio.captures.replay.history import History
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.replay.rows import Rows
from amqp_sansio.events.observed import MethodSeen


def test_it_writes_the_commands_that_sessions_have(monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(DATA / "captures" / "hello.pcap")
    known = [(row["direction"], row["verb"], row["octets"]) for row in tables_of(path)["commands"]]

    class Plain(History):
        def transfers(self, run: object) -> None:
            raise AssertionError("the first transfer of each kind is heard alone, and there is no second one")

        def answered(self, answer: object, time: int, file: int, offset: int) -> None:
            """Not a command."""

    monkeypatch.setitem(HISTORIES, "sessions", Plain)
    found = [(row["direction"], row["verb"], row["octets"]) for row in tables_of(path)["commands"]]
    assert set(found) <= set(known)
    assert len(found) >= len(known) - 1


def test_a_method_is_a_row_and_no_message_unless_its_family_says_so() -> None:
    talk = Talk(Conversation(FakeWitness, lambda _, __: None), (b"\1" * 4, 1, b"\2" * 4, 2), False)
    rows = Rows()
    said = MethodSeen(1, "basic.999", None, b"1234", None, None, None)
    history = History(talk, rows, ReplayOptions(), {"C": False, "S": False})
    assert history.method(Heard(7, 200, "C", said, 100, 112), said) is False
    (row,) = named(rows, "commands")
    assert (row["verb"], row["arguments"], row["octets"], row["outcome"]) == ("basic.999", None, 4, "unknown")
    assert row["whole"] is False
