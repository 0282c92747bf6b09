"""Builds the methods of named client calls and checks their answers, for asynchronous and blocking code alike."""

from __future__ import annotations

from typing import Final

from amqp_sansio.conversation.properties import Arguments, as_arguments
from amqp_sansio.errors import EncodeError, LocalProtocolError
from amqp_sansio.errors.checks import check_bits, check_types
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import exchange as exchanges
from amqp_sansio.spec.methods import queue as queues
from amqp_sansio.wire.layouts.methods import Methods


def declare_queue(
    queue: str, passive: bool, durable: bool, exclusive: bool, auto_delete: bool, arguments: Arguments | None
) -> queues.Declare:
    """Returns a queue.declare that requires an answer."""
    check_types(str, queue=queue)
    return queues.Declare(queue, passive, durable, exclusive, auto_delete, False, as_arguments(arguments), 0)


def declared(answer: Method) -> queues.DeclareOk:
    """Returns the answer to it."""
    assert isinstance(answer, queues.DeclareOk)  # the engine accepts no other answer
    return answer


def delete_queue(queue: str, if_unused: bool, if_empty: bool) -> queues.Delete:
    """Returns a queue.delete that requires an answer."""
    check_types(str, queue=queue)
    return queues.Delete(queue, if_unused, if_empty, False, 0)


def purge(queue: str) -> queues.Purge:
    """Returns a queue.purge that requires an answer."""
    check_types(str, queue=queue)
    return queues.Purge(queue, False, 0)


def count(answer: Method) -> int:
    """Returns how many messages were removed."""
    assert isinstance(answer, queues.DeleteOk | queues.PurgeOk)  # the engine accepts no other answer
    return answer.message_count


def bind(queue: str, exchange: str, key: str, arguments: Arguments | None) -> queues.Bind:
    """Returns a queue.bind that requires an answer."""
    check_types(str, queue=queue, exchange=exchange, binding_key=key)
    return queues.Bind(queue, exchange, key, False, as_arguments(arguments), 0)


def unbind(queue: str, exchange: str, key: str, arguments: Arguments | None) -> queues.Unbind:
    """Returns a queue.unbind, which is always answered."""
    check_types(str, queue=queue, exchange=exchange, binding_key=key)
    return queues.Unbind(queue, exchange, key, as_arguments(arguments), 0, False)


def declare_exchange(
    exchange: str, type: str, passive: bool, durable: bool, auto_delete: bool, internal: bool, arguments: Arguments | None
) -> exchanges.Declare:
    """Returns an exchange.declare that requires an answer."""
    check_types(str, exchange=exchange, type=type)
    return exchanges.Declare(exchange, type, passive, durable, False, as_arguments(arguments), 0, auto_delete, internal)


def delete_exchange(exchange: str, if_unused: bool) -> exchanges.Delete:
    """Returns an exchange.delete that requires an answer."""
    check_types(str, exchange=exchange)
    return exchanges.Delete(exchange, if_unused, False, 0)


_NOT_EXECUTED: Final = {"basic.get": ("its answer is a message", "get"), "basic.consume": ("it brings messages", "subscribe")}
"""Methods that bring messages: why `execute` does not send them, and the call that does."""


def check_executable(method: Method, methods: Methods) -> None:
    """Raises an error for what `execute` does not send: methods with a content or a wrong bit, and basic.get."""
    if not isinstance(method, Method):
        raise EncodeError("method", f"a method of amqp_sansio.spec.methods, not {type(method).__name__}")
    why, instead = (
        ("it carries a content", "publish") if method.VERB in methods.contents else _NOT_EXECUTED.get(method.VERB, ("", ""))
    )
    if why:
        raise LocalProtocolError(f"execute {method.VERB}", why, (instead,), method.VERB)
    check_bits(method, methods.arguments.get(type(method), ()))


def with_queue(method: Method, declared: str) -> Method:
    """Returns the method with the queue's name instead of "", which means the queue that was declared last on the channel.

    If the routing key of a binding is "" as well, it becomes that name, too.
    """
    if not isinstance(method, queues.Bind | queues.Unbind | queues.Delete) or method.queue:
        return method
    said = {name: getattr(method, name) for name in method.FIELDS} | {"queue": declared}
    if not isinstance(method, queues.Delete) and not method.routing_key:
        said["routing_key"] = declared
    return type(method)(**said)


def check_mode(now: str | None, mode: str, method: Method) -> None:
    """Raises an error where the channel is in another mode than the one that a method selects."""
    if now not in (None, mode):
        raise LocalProtocolError(
            method.VERB, f"the channel is in {now} mode", ("another channel",), "confirms or transactions, not both"
        )
