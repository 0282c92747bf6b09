"""Tests of amqp_sansio.tables.handshake."""

from __future__ import annotations

from amqp_sansio.kernel.machine import Row, Table
from amqp_sansio.tables import connection
from amqp_sansio.tables.handshake import SESSIONS, Handshake


def test_0_10_begins_and_ends_by_its_own_rows_and_codes() -> None:
    assert SESSIONS.greets
    assert SESSIONS.close_codes == {200, 320, 402, 501}
    assert SESSIONS.dialogue().states == connection.ConnectionDialogue().states


def test_a_dialogue_runs_the_rows_of_its_dialect() -> None:
    """Its closes are those of every dialect."""
    rows = Table("short", "begun", [Row("begun", connection.CLIENT, connection.OPEN, "open")], final=["open"])
    dialogue = Handshake(rows, frozenset({1}), greets=False).dialogue()
    assert dialogue.said(connection.SERVER, connection.START) is not None
    assert dialogue.said(connection.CLIENT, connection.OPEN) is None
    assert (dialogue.state, dialogue.finished) == ("open", True)
    assert dialogue.close_by_client.state == "talking"
