"""The checks before a method is sent, and the state changes after it.

Each check looks at one method, raises when it is illegal now, changes nothing, and returns the effect to apply once it is
written.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.engine.channels.base import (
    CONFIRMING,
    TRANSACTED,
    AnsweredMethod,
    BaseChannel,
    MethodCheck,
    MethodId,
    OnceWritten,
    waits,
)
from amqp_sansio.errors import FlowStopped, LimitError, LocalProtocolError
from amqp_sansio.kernel.machine import spoken_by
from amqp_sansio.kernel.serials import TOP, RangeSet
from amqp_sansio.ledger.tags import UNKNOWN
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import basic, channel, confirm, tx
from amqp_sansio.tables.channel import COMMIT, CONFIRM, SELECT_CONFIRM
from amqp_sansio.tables.connection import CLIENT, SERVER

# An argument that is None goes out as 0, or empty.

# --- the client's ---------------------------------------------------------------------------------------------------------


def _consume(on: BaseChannel, method: basic.Consume, _: AnsweredMethod) -> OnceWritten:
    key = "basic", method.consumer_tag
    if method.consumer_tag and on._consumers.taken(key):
        legal = (f"basic.cancel {method.consumer_tag!r:.80}", "another tag")
        raise LocalProtocolError(f"basic.consume {method.consumer_tag!r:.80}", on.state, legal, "basic.consume.consumer-tag")
    most = on._carrier.limits.subscriptions
    if on._consumers.held >= most:
        raise LimitError("subscriptions", most, on._consumers.held + 1)
    return lambda _: on._consumers.consume(key, bool(method.no_ack), waits(method))


def _get(on: BaseChannel, method: basic.Get, _: AnsweredMethod) -> None:
    most = on._carrier.limits.deliveries
    expected = on._deliveries.tags.count + on._asked.count(method.VERB)
    if expected >= most and not method.no_ack:
        raise LimitError("deliveries", most, expected + 1)


def _cancel(on: BaseChannel, method: basic.Cancel, _: AnsweredMethod) -> OnceWritten:
    def effect(_: MethodId) -> None:
        on._consumers.cancel(("basic", method.consumer_tag), waits(method))
        on._consumers.bound_leaving(on._carrier.limits.subscriptions)  # what wants no answer leaves at no time

    return effect


def _settle(on: BaseChannel, method: basic.Ack | basic.Nack | basic.Reject, _: AnsweredMethod) -> OnceWritten:
    multiple = not isinstance(method, basic.Reject) and method.multiple
    found, wrong = on._deliveries.tags.named(method.delivery_tag or 0, multiple, True)
    if wrong:
        raise unsettleable(on, method.VERB, str(method.delivery_tag), f"delivery-tag.{wrong}")
    transacted = may_settle(on, found)
    return lambda _: on._deliveries.settle_set(found, transacted)


def may_settle(on: BaseChannel, found: RangeSet) -> bool:
    """Returns whether settling these tags is part of a transaction.  Raises LimitError when that has settled too many
    already."""
    transacted = on._mode.states[0] == TRANSACTED
    most = on._carrier.limits.ranges
    if transacted and (ranges := on._deliveries.ranges_with(found)) > most:
        raise LimitError("ranges", most, ranges)
    return transacted


def unsettleable(on: BaseChannel, verb: str, tags: str, rule: str) -> LocalProtocolError:
    """Returns the error for tags without an outstanding delivery."""
    outstanding = on.unsettled
    legal = (f"{verb} {outstanding}",) if outstanding else ()
    state = "never delivered" if rule.endswith(UNKNOWN) else "settled, or not to be settled"
    return LocalProtocolError(f"{verb} {tags}", state, legal, rule)


def _publish(on: BaseChannel, method: basic.Publish, _: AnsweredMethod) -> OnceWritten:
    channels, tags = on._channels, on._published
    if not on._flow:
        raise FlowStopped("basic.publish", on.number)
    if channels.blocked_raises and on._carrier.blocked:
        raise FlowStopped("basic.publish", None)
    most = on._carrier.limits.unconfirmed
    if tags.count >= most and on._mode.states[0] == CONFIRMING:
        raise LimitError("unconfirmed", most, tags.count + 1)

    def effect(_: MethodId) -> None:
        tags.give_next()
        if method.mandatory or method.immediate:
            on._returnable.publish(tags.last & TOP, method.exchange, method.routing_key, tags.ids.outstanding)

    return effect


def _recover(on: BaseChannel, method: Method, _: AnsweredMethod) -> OnceWritten:
    return lambda _: on._deliveries.tags.settle_all()


def _switch(on: BaseChannel, method: Method, _: AnsweredMethod) -> OnceWritten:
    verb = method.VERB
    if not on._mode.can(CLIENT, verb):
        mine = spoken_by(CLIENT, on._mode.legal)
        rule = "confirm and tx exclude each other" if verb.endswith("select") else "tx.select comes first"
        raise LocalProtocolError(verb, f"{on.mode} mode", mine, rule)

    def effect(_: MethodId) -> None:
        if verb == SELECT_CONFIRM and on._mode.states[0] != CONFIRMING:
            on._confirm_base = on._published.last
        on._mode.step(CLIENT, verb)
        ends(on, verb)

    return effect


def ends(on: BaseChannel, verb: str) -> None:
    """Ends a transaction if the client's verb does: what was settled in it stays settled, or is outstanding again."""
    if verb == COMMIT:
        on._deliveries.commit()
    elif verb == "tx.rollback":
        on._deliveries.roll_back()


_MODES: Final[dict[type[Method], MethodCheck]] = dict.fromkeys((tx.Select, tx.Commit, tx.Rollback, confirm.Select), _switch)
CLIENT_SAYS: Final[dict[type[Method], MethodCheck]] = {
    basic.Consume: _consume,
    basic.Get: _get,
    basic.Cancel: _cancel,
    **dict.fromkeys((basic.Ack, basic.Nack, basic.Reject), _settle),
    basic.Publish: _publish,
    **dict.fromkeys((basic.Recover, basic.RecoverAsync, basic.RecoverSync), _recover),
    **_MODES,
}
"""The checks on methods of a client."""


# --- the server's ---------------------------------------------------------------------------------------------------------


def _next_tag(on: BaseChannel, verb: str, tag: int) -> None:
    if tag <= on._deliveries.tags.last:
        legal = (f"{verb} {on._deliveries.tags.last + 1}",)
        raise LocalProtocolError(f"{verb} {tag}", on.state, legal, "delivery-tag.order")
    most = on._carrier.limits.deliveries
    if on._deliveries.tags.count >= most:
        raise LimitError("deliveries", most, on._deliveries.tags.count + 1)


def _deliver(on: BaseChannel, method: basic.Deliver, _: AnsweredMethod) -> OnceWritten:
    settled = on._consumers.settled(("basic", method.consumer_tag))
    if settled is None and not on._consumers.unnamed:
        legal = tuple([f"basic.deliver to {tag!r:.80}" for tag in on.consumers[:8]])
        raise LocalProtocolError(
            f"basic.deliver to {method.consumer_tag!r:.80}", "no such consumer", legal, "basic.deliver.consumer-tag"
        )
    if not on._flow:
        raise FlowStopped("basic.deliver", on.number)
    _next_tag(on, "basic.deliver", method.delivery_tag or 0)
    return lambda _: on._deliveries.deliver(method.delivery_tag, settled is True)


def _got(on: BaseChannel, method: basic.GetOk, answered: AnsweredMethod) -> OnceWritten:
    assert answered is not None  # the method is an answer
    _next_tag(on, "basic.get-ok", method.delivery_tag or 0)
    return lambda _: on._deliveries.deliver(method.delivery_tag, answered.kept.settled)


def _confirm(on: BaseChannel, method: basic.Ack | basic.Nack, _: AnsweredMethod) -> OnceWritten:
    if not on._mode.can(SERVER, CONFIRM):
        raise LocalProtocolError(method.VERB, f"{on.mode} mode", (), "confirm.select-required")
    found, wrong = on._published.named(method.delivery_tag or 0, method.multiple)
    if wrong:
        doubt = on.in_doubt
        rule = "confirm.unpublished" if wrong == UNKNOWN else "confirm.twice"
        legal = (f"{method.VERB} {doubt}",) if doubt else ()
        raise LocalProtocolError(f"{method.VERB} {method.delivery_tag}", on.state, legal, rule)
    return lambda _: on._published.settle(found)


def _revoke(on: BaseChannel, method: basic.Cancel, _: AnsweredMethod) -> OnceWritten:
    key = "basic", method.consumer_tag
    if on._consumers.settled(key) is None and not on._consumers.unnamed:
        legal = tuple([f"basic.cancel {tag!r:.80}" for tag in on.consumers[:8]])
        raise LocalProtocolError(f"basic.cancel {method.consumer_tag!r:.80}", "no such consumer", legal, "basic.cancel")
    return lambda _: on._consumers.cancelled(key)


def _started(on: BaseChannel, method: basic.ConsumeOk, answered: AnsweredMethod) -> OnceWritten:
    assert answered is not None  # the method is an answer
    named, settled = bool(answered.kept.tag), answered.kept.settled
    return lambda _: on._consumers.started(("basic", method.consumer_tag), named, settled)


def _left(on: BaseChannel, method: basic.CancelOk, _: AnsweredMethod) -> OnceWritten:
    return lambda _: on._consumers.left(("basic", method.consumer_tag))


def _flows(on: BaseChannel, method: channel.FlowOk, _: AnsweredMethod) -> OnceWritten:
    def effect(_: MethodId) -> None:
        on._flow = method.active

    return effect


SERVER_SAYS: Final[dict[type[Method], MethodCheck]] = {
    basic.Deliver: _deliver,
    basic.GetOk: _got,
    basic.Ack: _confirm,
    basic.Nack: _confirm,
    basic.Cancel: _revoke,
    basic.ConsumeOk: _started,
    basic.CancelOk: _left,
    channel.FlowOk: _flows,
}
"""The checks on methods of a server."""
