"""What two sides said that they can do."""

from __future__ import annotations

from amqp_sansio.engine.capabilities import Capabilities, capabilities_of
from amqp_sansio.spec.fields import as_fields


def test_what_is_true_in_the_table_of_capabilities() -> None:
    said = {"capabilities": {"basic.nack": True, "connection.blocked": False}, "product": "x"}
    for properties in (said, as_fields(said)):
        assert capabilities_of(properties) == {"basic.nack"}


def test_a_peer_that_announces_nothing_has_none() -> None:
    for properties in (None, {}, {"capabilities": 7}, {"capabilities": None}):
        assert capabilities_of(properties) == frozenset()


def test_by_side() -> None:
    both = Capabilities(frozenset({"a", "b"}), frozenset({"c"}))
    assert (both.of("client"), both.of("server")) == (frozenset("ab"), frozenset("c"))
    assert both == Capabilities(frozenset("ba"), frozenset("c"))
    assert repr(both) == "Capabilities(client=['a', 'b'], server=['c'])"
