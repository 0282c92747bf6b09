"""The crossing that `amqp-sansio run` shows: sessions that outlive their connections."""

from __future__ import annotations

from random import Random

import pytest

from amqp_sansio.cli.link_demo import WINDOW, Crossing


@pytest.mark.parametrize("seed", range(8))
def test_every_message_arrives_once_and_in_order_however_often_the_link_is_cut(seed: int) -> None:
    crossing = Crossing(Random(seed), messages=40, body_octets=300, cuts=seed)
    outcome = crossing.run()
    down, up = crossing.messages
    assert outcome.received == down
    assert outcome.collected == up
    assert outcome.cuts == seed
    assert outcome.connections == seed + 1
    assert outcome.violations == 0
    assert outcome.confirmed == outcome.commands
    assert outcome.credit_left == WINDOW


def test_some_cuts_break_a_frame() -> None:
    assert sum(Crossing(Random(seed), messages=16, body_octets=300, cuts=4).run().mid_message for seed in range(4)) > 0
