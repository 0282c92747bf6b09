from __future__ import annotations

from amqp_sansio.captures.replay.families import HISTORIES
from amqp_sansio.captures.replay.sessions import Sessions
from amqp_sansio.dialects import DIALECTS
from amqp_sansio.engine.observer import Observer


def test_every_dialect_has_its_history() -> None:
    assert {HISTORIES[Observer(dialect)._family()] for dialect in DIALECTS} == {Sessions}
