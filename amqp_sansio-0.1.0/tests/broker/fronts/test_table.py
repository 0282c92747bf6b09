"""Which families a broker serves."""

from __future__ import annotations

from amqp_sansio.broker.fronts.table import FRONTS


def test_each_connection_and_each_form_has_one_front() -> None:
    assert len({front.CONNECTION for front in FRONTS}) == len({front.FORM.name for front in FRONTS}) == len(FRONTS)
