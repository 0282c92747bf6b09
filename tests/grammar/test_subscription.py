"""The grammar of a subscription and its credit."""

from __future__ import annotations

from amqp_sansio.grammar import subscription as s

BOTH = ["client:message.flow message", "client:message.flow byte"]
TRANSFER = "server:message.transfer"
STOP, STOPPED = "client:message.stop", "server:message.stop completed"


def test_both_units_before_any_transfer() -> None:
    legal = s.conversation().prefixes()
    for given in ([], BOTH[:1], BOTH[1:]):
        assert not legal.accepts(["client:message.subscribe", *given, TRANSFER])
    assert legal.accepts(["client:message.subscribe", *BOTH, TRANSFER, TRANSFER])


def test_no_credit_behind_a_stop() -> None:
    legal = s.conversation().prefixes()
    begun = ["client:message.subscribe", *BOTH, TRANSFER, STOP]
    assert legal.accepts([*begun, TRANSFER, STOPPED])
    assert not legal.accepts([*begun, STOPPED, TRANSFER])
    assert legal.accepts([*begun, *BOTH, STOPPED, TRANSFER])  # granted again behind the stop


def test_the_mode_is_set_without_credit_only() -> None:
    mode = "client:message.set-flow-mode"
    legal = s.conversation().prefixes()
    assert legal.accepts(["client:message.subscribe", mode, *BOTH])
    assert not legal.accepts(["client:message.subscribe", *BOTH[:1], mode])
    assert legal.accepts(["client:message.subscribe", *BOTH, STOP, mode])
    assert not legal.accepts(["client:message.subscribe", *BOTH, STOP, *BOTH[:1], mode])
    assert legal.accepts(["client:message.subscribe", *BOTH, STOP, STOPPED, mode])


def test_transfers_until_the_cancel_is_complete() -> None:
    legal = s.conversation().prefixes()
    begun = ["client:message.subscribe", *BOTH, "client:message.cancel", TRANSFER]
    assert legal.accepts(begun)
    assert not legal.accepts([*begun, "client:message.flow byte"])
    assert not legal.accepts([*begun, "server:message.cancel completed", TRANSFER])
