"""Handles the peer's methods on a channel: updates its state, emits events, or reports a violation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar

from amqp_sansio.engine.channels.base import CONFIRMING, OPENED, TRANSACTED, BaseChannel, waits
from amqp_sansio.engine.channels.breaches import order_of, rule_of_content
from amqp_sansio.engine.channels.saying import ends
from amqp_sansio.engine.connection import legal_of
from amqp_sansio.errors import DecodeError
from amqp_sansio.events import (
    ChannelOpened,
    Confirmed,
    ConsumerCancelled,
    ContentReceived,
    DeliveriesSettled,
    Event,
    FlowChanged,
    MessageDelivered,
    MessageGot,
    MessageReturned,
    MethodAnswered,
    MethodReceived,
    Nacked,
    Origin,
)
from amqp_sansio.events.channel import Content
from amqp_sansio.kernel.serials import EMPTY, TOP, RangeSet
from amqp_sansio.ledger.tags import TWICE, UNKNOWN
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import basic, channel, confirm, tx
from amqp_sansio.spec.reply_codes import ReplyCode
from amqp_sansio.tables.channel import ANSWERS, ANY_TIME, CLOSE, CLOSE_OK, CONFIRM, OPEN, OPEN_OK, REPLIES, WORK, may_say
from amqp_sansio.tables.connection import CLIENT, SERVER
from amqp_sansio.wire.framing import Assembly

Hearing: TypeAlias = Callable[[BaseChannel, Any, Assembly], object]  # Any: each row takes its own method
C = TypeVar("C", bound=Content[Any])

ENDED: Final = 1024
"""The most consumers of a channel that are remembered after their end."""
_LIVES: Final = (OPEN, OPEN_OK, CLOSE, CLOSE_OK)


def hear(on: BaseChannel, method: Method, unit: Assembly) -> None:
    """Handles a method of the peer, with its content if it has one."""
    channels = on._channels
    peer, verb = on._carrier.peer, method.VERB
    if not may_say(peer, verb, channels.codec.extended):
        text = f"the {peer} says what only the {on.role} may say"
        on._blame(unit.start, "method.direction", verb, text, (), ReplyCode.COMMAND_INVALID)
        return
    word = verb if verb in _LIVES else WORK
    before = on._life.state
    refusal = on._life.step(peer, word)
    if refusal is not None:
        if word is WORK and channels.passes_over(on.number):
            return
        rule, text = order_of(before, word)
        on._blame(unit.start, rule, verb, text, refusal.legal_for(peer), ReplyCode.CHANNEL_ERROR)
    elif word is not WORK:
        _hear_life(on, method)
    elif on._told:
        return  # we have closed it for a violation: only close-ok still counts
    elif verb in ANSWERS:
        _hear_answer(on, method, unit)
    elif on.role == CLIENT:
        if on._cause is None or type(method) in _BEHIND_CLOSE:
            CLIENT_HEARS.get(type(method), _hear_other)(on, method, unit)
    elif on._cause is None:
        SERVER_HEARS.get(type(method), _hear_other)(on, method, unit)


def _hear_life(on: BaseChannel, method: Method) -> None:
    if isinstance(method, channel.OpenOk):
        on._channels.take_up(on.number)
        if on._cause is None:
            on._carrier._emit(ChannelOpened(on.number))
    elif isinstance(method, channel.Close):
        on._hear_close(method)
    elif isinstance(method, channel.CloseOk):
        on._hear_close_ok()


# --- answers --------------------------------------------------------------------------------------------------------------


def _hear_answer(on: BaseChannel, method: Method, unit: Assembly) -> None:
    verb = method.VERB
    answered = on._asked.find(verb)  # left in the queue until the answer has passed all checks
    if answered is None:
        if isinstance(method, basic.CancelOk) and method.consumer_tag in on._ended:
            return  # RabbitMQ may answer twice when a quorum queue is deleted at the same time
        wanted = on._asked.oldest
        rule = "reply.other" if wanted else "reply.unasked"
        text = f"{wanted} waits for another answer" if wanted else "nobody asked for it"
        on._blame(unit.start, rule, verb, text, REPLIES.get(wanted, ()), ReplyCode.COMMAND_INVALID)
        return
    if answered.passed and on._carrier.profile.strict:
        text, legal = f"{answered.passed} was asked before", REPLIES[answered.passed]
        on._blame(unit.start, "reply.order", verb, text, legal, ReplyCode.COMMAND_INVALID)
        return
    asked, emit = answered.kept, on._carrier._emit
    if isinstance(method, basic.ConsumeOk | basic.CancelOk) and asked.tag and asked.tag != method.consumer_tag:
        said, text = f'{verb} with consumer-tag "{method.consumer_tag[:200]}"', "it answers a method with another consumer-tag"
        legal = (f'consumer-tag "{asked.tag[:200]}"',)
        on._blame(unit.start, f"{verb}.consumer-tag", said, text, legal, ReplyCode.COMMAND_INVALID)
        return
    if isinstance(method, basic.GetOk):
        if on._cause is not None:
            on._asked.ask(answered.verb, asked)  # our close requeues the message: the get counts as unanswered
        elif not _take_tag(on, method.delivery_tag, asked.settled, verb, unit) or not _tell_content(
            on, unit, MessageGot(on.number, asked.id, method, unit.header or b"", unit.body or b"")
        ):
            return
    else:
        emit(MethodAnswered(on.number, asked.id, method))
        if unit.header is not None:
            _tell_content(on, unit, ContentReceived(on.number, None, method, unit.header, unit.body or b""))
    on._asked.take(answered.verb)
    if answered.verb not in ANY_TIME:
        on._last_answered = asked.id
    if asked.taken:
        on._published.settle(on._published.named(asked.taken, True)[0])
    if isinstance(method, basic.ConsumeOk):
        on._consumers.started(("basic", method.consumer_tag), bool(asked.tag), asked.settled)
    elif isinstance(method, basic.CancelOk) and on.role == CLIENT:
        _remember(on, method.consumer_tag)
        on._consumers.left(("basic", method.consumer_tag))
        emit(ConsumerCancelled(on.number, method.consumer_tag, Origin.LOCAL))
    elif isinstance(method, (basic.RecoverOk, basic.RecoverSyncOk)):
        on._deliveries.tags.settle_all()  # what arrived since was in flight when the server requeued everything


# --- contents -------------------------------------------------------------------------------------------------------------


def _tell_content(on: BaseChannel, unit: Assembly, event: Event) -> bool:
    """Emits a content's event; its properties are read at once on an eager connection, otherwise when asked for.

    Returns False when they cannot be read.
    """
    assert isinstance(event, Content)
    carrier = on._carrier
    event.read_as(on._channels.properties)
    if carrier.eager_headers and unit.header is not None:
        try:
            event.read_properties()
        except DecodeError as error:
            on._blame(unit.start, rule_of_content(error), event.method.VERB, str(error), legal_of(error), error.code)
            return False
    carrier._emit(event)
    return True


def _take_tag(on: BaseChannel, tag: int, settled: bool, verb: str, unit: Assembly) -> bool:
    """Records a message's tag; returns False when the tag is illegal."""
    deliveries = on._deliveries
    if not deliveries.deliver(tag, settled):
        on._blame(unit.start, "delivery-tag.order", f"{verb} with delivery-tag {tag}", "tags of a channel go up from 1")
        return False
    most = on._carrier.limits.deliveries
    if deliveries.tags.count > most or deliveries.tags.doubt:
        text = "more deliveries than our limit wait to be settled"
        on._blame(unit.start, "limits.deliveries", verb, text, (f"at most {most}",), ReplyCode.RESOURCE_ERROR)
        return False
    return True


def _hear_deliver(on: BaseChannel, method: basic.Deliver, unit: Assembly) -> None:
    tag = method.consumer_tag
    settled = on._consumers.settled(("basic", tag))
    if settled is None:
        settled = on._ended.get(tag)
    if settled is None and not on._consumers.unnamed:
        said = f'basic.deliver with consumer-tag "{tag[:200]}"'
        on._blame(unit.start, "basic.deliver.consumer-tag", said, "no consumer has this tag", (), ReplyCode.COMMAND_INVALID)
    elif _take_tag(on, method.delivery_tag, settled is True, "basic.deliver", unit):
        _tell_content(on, unit, MessageDelivered(on.number, method, unit.header or b"", unit.body or b""))
        on._channels.learn(on, unit.payload, method)


def _hear_return(on: BaseChannel, method: basic.Return, unit: Assembly) -> None:
    number = on._returnable.returned(method.exchange, method.routing_key, on._published.ids.outstanding)
    _tell_content(on, unit, MessageReturned(on.number, number, method, unit.header or b"", unit.body or b""))


def _hear_publish(on: BaseChannel, method: basic.Publish, unit: Assembly) -> None:
    number = None
    if on._mode.states[0] == CONFIRMING:
        on._published.give_next()
        number = on._published.last & TOP
    _tell_content(on, unit, ContentReceived(on.number, number, method, unit.header or b"", unit.body or b""))


# --- settling -------------------------------------------------------------------------------------------------------------


def _hear_confirm(on: BaseChannel, method: basic.Ack | basic.Nack, unit: Assembly) -> None:
    verb, tag = method.VERB, method.delivery_tag
    said = f"{verb} with delivery-tag {tag}"
    if on._mode.step(SERVER, CONFIRM) is not None:
        text = "the client did not ask for confirms on this channel"
        on._blame(unit.start, "confirm.select-required", said, text, (), ReplyCode.COMMAND_INVALID)
        return
    tags, base = on._published, on._confirm_base
    found, wrong = tags.named(tag + base if tag else 0, method.multiple)
    if wrong == UNKNOWN:
        on._blame(unit.start, "confirm.unpublished", said, "no message with this number was published")
        return
    if wrong == TWICE and on._carrier.profile.strict:
        on._blame(unit.start, "confirm.twice", said, "the message is confirmed already")
        return
    tags.settle(found)
    if base and method.multiple:  # confirms do not cover what was published before confirm mode
        found = found - _up_to(found, on, base)
    if found:
        make = Confirmed if isinstance(method, basic.Ack) else Nacked
        on._carrier._emit(make(on.number, found))


def hear_ack(on: BaseChannel, tag: int, multiple: bool) -> Confirmed | None:
    """Handles a basic.ack that confirms publishes, if `hear` would find nothing wrong with it.

    Returns None for any other, and has changed nothing then.
    """
    if on._mode.states[0] != CONFIRMING or on._life.states[0] != OPENED or on._told or on._cause is not None:
        return None
    if on._confirm_base:  # confirms do not cover what was published before confirm mode
        return None
    found = on._published.take(tag, multiple)
    return Confirmed(on.number, found) if found else None


def _up_to(found: RangeSet, on: BaseChannel, base: int) -> RangeSet:
    """Returns the numbers up to `base`, which is one of those published."""
    if not found or on._published.tag_of(found.first) > base:
        return EMPTY
    return found & RangeSet.span(found.first, base & TOP)


def _hear_settle(on: BaseChannel, method: basic.Ack | basic.Nack | basic.Reject, unit: Assembly) -> None:
    multiple = not isinstance(method, basic.Reject) and method.multiple
    tags = on._deliveries.tags
    found, wrong = tags.named(method.delivery_tag, multiple, True)
    if wrong and on._deliveries.settle(method.delivery_tag, multiple, False):
        text = "no delivery has this tag" if wrong == UNKNOWN else "the delivery is settled already"
        legal = ("the tag of a delivery that is not settled",)
        said = f"{method.VERB} with delivery-tag {method.delivery_tag}"
        on._blame(unit.start, f"delivery-tag.{wrong}", said, text, legal, ReplyCode.PRECONDITION_FAILED)
    elif found:
        transacted, most = on._mode.states[0] == TRANSACTED, on._carrier.limits.ranges
        if transacted and on._deliveries.ranges_with(found) > most:
            text, legal = "a transaction settles deliveries in more ranges than our limit", (f"at most {most} ranges",)
            on._blame(unit.start, "limits.ranges", method.VERB, text, legal, ReplyCode.RESOURCE_ERROR)
            return
        on._deliveries.settle_set(found, transacted)
        requeue = not isinstance(method, basic.Ack) and method.requeue
        on._carrier._emit(DeliveriesSettled(on.number, found, method.VERB, requeue))


def _hear_recover(on: BaseChannel, method: basic.Recover | basic.RecoverAsync, unit: Assembly) -> None:
    found = on._deliveries.recover(on._carrier.limits.ranges)
    if found:
        on._carrier._emit(DeliveriesSettled(on.number, found, method.VERB, True))
    _hear_other(on, method, unit)


# --- consumers, modes, flow -----------------------------------------------------------------------------------------------


def _hear_consume(on: BaseChannel, method: basic.Consume, unit: Assembly) -> None:
    key = "basic", method.consumer_tag
    said = f'basic.consume with consumer-tag "{method.consumer_tag[:200]}"'
    if method.consumer_tag and on._consumers.taken(key):
        legal = ("a tag that is not in use", "an empty one")
        text = "the tag is that of another consumer on this channel"
        on._blame(unit.start, "basic.consume.consumer-tag", said, text, legal, ReplyCode.NOT_ALLOWED)
        return
    most = on._carrier.limits.subscriptions
    if len(on._consumers) >= most:
        text = "more consumers than our limit"
        on._blame(unit.start, "limits.subscriptions", said, text, (f"at most {most}",), ReplyCode.RESOURCE_ERROR)
        return
    on._consumers.consume(key, method.no_ack, waits(method))
    _hear_other(on, method, unit)


def _hear_cancel(on: BaseChannel, method: basic.Cancel, unit: Assembly) -> None:
    key = "basic", method.consumer_tag
    if waits(method):
        on._consumers.cancel(key, True)
    else:
        on._consumers.drop(key)  # nothing follows that could end it
    _hear_other(on, method, unit)


def _hear_revoke(on: BaseChannel, method: basic.Cancel, unit: Assembly) -> None:
    tag = method.consumer_tag
    _remember(on, tag)
    if not on._consumers.cancelled(("basic", tag)):
        said = f'basic.cancel with consumer-tag "{tag[:200]}"'
        on._blame(unit.start, "basic.cancel.consumer-tag", said, "no consumer has this tag", (), ReplyCode.COMMAND_INVALID)
        return
    if waits(method):
        if not _may_owe(on, method.VERB, unit):
            return
        on._say_soon(basic.CancelOk(tag))
    on._carrier._emit(ConsumerCancelled(on.number, tag, Origin.PEER))


def _remember(on: BaseChannel, tag: str) -> None:
    """Remembers a consumer that ends, unless strict: RabbitMQ may deliver to it after basic.cancel-ok, when its queue is
    deleted at the same time."""
    settled = on._consumers.settled(("basic", tag))
    if settled is None or on._carrier.profile.strict:
        return
    on._ended.pop(tag, None)
    on._ended[tag] = settled
    if len(on._ended) > ENDED:
        del on._ended[next(iter(on._ended))]


def _hear_switch(on: BaseChannel, method: Method, unit: Assembly) -> None:
    verb = method.VERB
    refusal = on._mode.step(CLIENT, verb)
    if refusal is not None:
        if verb.endswith(".select"):
            rule, text = "confirm.with-tx", "a channel is transacted, or its messages are confirmed, not both"
        else:
            rule, text = "tx.select-required", "the channel is not transacted"
        on._blame(unit.start, rule, verb, text, refusal.legal_for(CLIENT), ReplyCode.PRECONDITION_FAILED)
        return
    ends(on, verb)
    _hear_other(on, method, unit)


def _may_owe(on: BaseChannel, verb: str, unit: Assembly) -> bool:
    """Returns whether one more answer may wait for the end of our content."""
    most = on._carrier.limits.calls
    if len(on._owed) < most:
        return True
    text, legal = "more answers than our limit wait for the end of a content of ours", (f"at most {most}",)
    on._blame(unit.start, "limits.calls", verb, text, legal, ReplyCode.RESOURCE_ERROR)
    return False


def _hear_flow(on: BaseChannel, method: channel.Flow, unit: Assembly) -> None:
    if not _may_owe(on, method.VERB, unit):
        return
    on._flow, on._writer = method.active, None
    on._say_soon(channel.FlowOk(method.active))
    on._carrier._emit(FlowChanged(on.number, method.active))


def _hear_other(on: BaseChannel, method: Method, unit: Assembly) -> None:
    """Handles a method without an event of its own."""
    channels = on._channels
    id = None
    verb = method.VERB
    if verb in channels.answerable and waits(method):
        most = on._carrier.limits.calls
        if on._heard.waiting >= most:
            text, legal = "more methods than our limit wait for an answer", (f"at most {most}",)
            on._blame(unit.start, "limits.calls", verb, text, legal, ReplyCode.RESOURCE_ERROR)
            return
        id = on._heard_ids = on._heard_ids + 1 & TOP
        on._heard.ask(verb, on._question(method, id))
    if unit.header is not None:
        _tell_content(on, unit, ContentReceived(on.number, None, method, unit.header, unit.body or b""))
    else:
        on._carrier._emit(MethodReceived(on.number, id, method))


_BEHIND_CLOSE: Final = (basic.Ack, basic.Nack, basic.Return)
"""What the server sent before it received our close still counts if it resolves doubt; its deliveries are requeued.

At a server nothing counts: it may have redelivered what the client settles now.
"""

CLIENT_HEARS: Final[dict[type[Method], Hearing]] = {
    basic.Deliver: _hear_deliver,
    basic.Return: _hear_return,
    basic.Ack: _hear_confirm,
    basic.Nack: _hear_confirm,
    basic.Cancel: _hear_revoke,
    channel.Flow: _hear_flow,
}
SERVER_HEARS: Final[dict[type[Method], Hearing]] = {
    basic.Publish: _hear_publish,
    **dict.fromkeys((basic.Ack, basic.Nack, basic.Reject), _hear_settle),
    **dict.fromkeys((basic.Recover, basic.RecoverAsync, basic.RecoverSync), _hear_recover),
    basic.Consume: _hear_consume,
    basic.Cancel: _hear_cancel,
    **dict.fromkeys((tx.Select, tx.Commit, tx.Rollback, confirm.Select), _hear_switch),
}
