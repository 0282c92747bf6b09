"""What every family's history does; tests/families/test_history.py has it through a capture."""

from __future__ import annotations

import pytest
from tests.captures.packets import tables_of
from tests.kept.scene import DATA

from amqp_sansio.captures.replay.families import HISTORIES
from amqp_sansio.captures.replay.history import History


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
