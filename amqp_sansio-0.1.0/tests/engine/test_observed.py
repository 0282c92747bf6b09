from __future__ import annotations

from amqp_sansio.engine.observed import Observed
from amqp_sansio.events import Note


def test_it_is_a_plain_tuple_of_speaker_octets_and_event() -> None:
    event = Note("gap", "12 octets are missing")
    speaker, start, end, said = Observed("C", 8, 20, event)
    assert (speaker, start, end, said) == ("C", 8, 20, event)
