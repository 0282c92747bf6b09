"""Channels over a link that delays, chops and breaks: published = delivered + returned + in doubt, and nothing is
acknowledged twice.

`make test` takes 50 seeds in each dialect, `make soak` 1,000.
"""

from __future__ import annotations

import os

import pytest
from tests.engine.channels.stage import DIALECTS
from tests.properties.channel_world import World

from amqp_sansio.dialects import ChannelDialect

SEEDS = 1000 if os.environ.get("AMQP_PROFILE") == "soak" else 50
FIRST = int(os.environ.get("AMQP_SEED", "0")) * SEEDS


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_what_is_published_is_delivered_or_returned_or_in_doubt(dialect: ChannelDialect) -> None:
    """Every message that a client publishes comes to the broker or is told to be in doubt, and none is settled twice."""
    met: set[str] = set()
    for seed in range(FIRST, FIRST + SEEDS):
        world = World(seed, dialect)
        try:
            world.run(150)
        except AssertionError as error:
            raise AssertionError(f"seed {seed} in {dialect.name}: {error}") from error
        met |= {word for sent in world.all for word in sent.told.values()}
        met |= {"returned"} if world.returned else set()
        met |= {"acknowledged"} if world.done else set()
        met |= {"broken"} if world.link.connections > 1 else set()
    wanted = {"in doubt", "returned", "acknowledged", "broken"}
    assert met >= (wanted | {"confirmed", "nacked"} if dialect.codec.extended else wanted)
