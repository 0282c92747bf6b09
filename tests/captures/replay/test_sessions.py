"""The history of sessions; tests/captures/columns and tests/captures/replay have its rows."""

from __future__ import annotations

from amqp_sansio.captures.replay.sessions import Sessions
from amqp_sansio.captures.replay.state import _classes


def test_all_of_its_parts_are_in_snapshots() -> None:
    known = _classes()
    assert [part for part in (Sessions, *Sessions.PARTS) if known.get(part.__name__) is not part] == []
