"""Class stream."""

from __future__ import annotations

from amqp_sansio.tables import stream
from amqp_sansio.tables.session import COMMAND_SPEAKERS


def test_every_command_of_the_class_has_a_row_and_its_speaker() -> None:
    rows = [row for table in (stream.QOS, stream.CONSUMER, stream.PUBLISHING) for row in table.rows]
    said = {(row.verb.removesuffix(" nowait"), row.speaker) for row in rows if row.verb.startswith("stream.")}
    assert said == {(verb, speaker) for verb, speaker in COMMAND_SPEAKERS.items() if verb.startswith("stream.")}
