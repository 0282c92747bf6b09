"""Tests of amqp_sansio.tables.handshake."""

from __future__ import annotations

from amqp_sansio.kernel.machine import Row, Table
from amqp_sansio.tables import connection
from amqp_sansio.tables.handshake import SESSIONS, CloseCodes, Handshake


def test_0_10_begins_and_ends_by_its_own_rows_and_codes() -> None:
    assert SESSIONS.greets
    assert SESSIONS.codes.legal == {200, 320, 402, 501}
    assert SESSIONS.dialogue().states == connection.ConnectionDialogue().states


def test_a_dialogue_runs_the_rows_of_its_dialect() -> None:
    """Its closes are those of every dialect."""
    rows = Table("short", "begun", [Row("begun", connection.CLIENT, connection.OPEN, "open")], final=["open"])
    dialogue = Handshake(rows, CloseCodes({1}), greets=False).dialogue()
    assert dialogue.said(connection.SERVER, connection.START) is not None
    assert dialogue.said(connection.CLIENT, connection.OPEN) is None
    assert (dialogue.state, dialogue.finished) == ("open", True)
    assert dialogue.close_by_client.state == "talking"


def test_a_code_that_a_dialect_lacks_becomes_another_one() -> None:
    codes = CloseCodes({200, 501, 503}, direction=503)
    assert [codes.said(code) for code in (200, 501, 503, 505, 506)] == [200, 501, 503, 503, 501]
