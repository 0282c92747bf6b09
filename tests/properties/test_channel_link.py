"""Channels over a link that delays, chops and breaks: published = delivered + returned + in doubt, and nothing is
acknowledged twice.

`make test` takes 50 seeds in each dialect and 30 examples of the machine, `make soak` 1,000 and 2,000.
"""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.engine.channels.stage import DIALECTS
from tests.properties.channel_world import FIRST, SEEDS, World

from amqp_sansio.dialects import ChannelDialect


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


class TwoConnections(RuleBasedStateMachine):
    """Hypothesis says who acts next, and when the link breaks: published = delivered + returned + in doubt all the same."""

    @initialize(dialect=st.sampled_from(DIALECTS), seed=st.integers(0, 1 << 32))
    def begins(self, dialect: ChannelDialect, seed: int) -> None:
        self.world = World(seed, dialect)
        self.world.link.run(60)

    @rule(times=st.integers(1, 20))
    def the_client_acts(self, times: int) -> None:
        for _ in range(times):
            self.world.move()

    @rule(times=st.integers(1, 5))
    def the_broker_acts(self, times: int) -> None:
        for _ in range(times):
            self.world.tend()

    @rule(steps=st.integers(1, 40))
    def octets_fly(self, steps: int) -> None:
        for _ in range(steps):
            self.world.link.step()

    @rule(luck=st.integers(0, 9))
    def the_link_breaks(self, luck: int) -> None:
        if luck:  # else it breaks so often that next to nothing is acknowledged
            return
        self.world.link.cut()
        self.world.move()  # which connects again
        self.world.link.run(60)

    def teardown(self) -> None:
        self.world.finish()


TestTwoConnections = TwoConnections.TestCase
TestTwoConnections.settings = settings(
    max_examples=2000 if SEEDS > 50 else 30, stateful_step_count=200 if SEEDS > 50 else 30, deadline=None
)
