"""Whatever is given for an argument: it is taken, or refused by one of our errors (a TypeError where no annotation allows it),
and when it is refused nothing has changed and nothing was said."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from types import ModuleType
from typing import Any, Final

import pytest
from tests.carriers import BareCarrier, attached_session

from amqp_sansio import AmqpError, DecodeError, EncodeError, LocalProtocolError, RangeSet, Session
from amqp_sansio.engine.connection import Role
from amqp_sansio.spec import dtx, exchange, execution, file, message, queue, stream, tx
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.codes import AcquireMode, ErrorCode, RejectCode

# Any: the point is to give what no annotation allows.
Anything = Any
Call = Callable[[Session, Anything], object]

ODD: Final[tuple[Anything, ...]] = (
    None, True, False, 0, 1, 7, -1, 1.5, float("nan"), Decimal("NaN"), 2**32, 2**64, 2**70,
    "d", "", "\udcff", "x" * 256, "x" * 70_000, b"d", b"x" * 70_000, bytearray(b"d"), memoryview(b"abcd")[::2],
    [1, 1], [3, 2], [-1], [1.5], ["a"], (), {}, {"a": 1}, {1: 2}, {"k" * 300: 1}, {"a": {"b": object()}}, object(), object,
    range(3), RangeSet(), RangeSet.of(0), RangeSet.of(5), RangeSet([(0, 2**31 - 2)]),
    message.DeliveryProperties(), message.Transfer(), queue.Declare("q"), execution.Result(0), execution.Sync(),
)  # fmt: skip

CALLS: Final[dict[str, Call]] = {
    "attach": lambda s, x: s.attach(x),
    "request_timeout": lambda s, x: s.request_timeout(x),
    "send": lambda s, x: s.send(x),
    "send body": lambda s, x: s.send(message.Transfer("d"), body=x),
    "send headers": lambda s, x: s.send(message.Transfer("d"), x),
    "send sync": lambda s, x: s.send(message.Transfer("d"), sync=x),
    "send_all": lambda s, x: s.send_all(x),
    "send_all of one": lambda s, x: s.send_all([x]),
    "publish": lambda s, x: s.publish(x),
    "publish body": lambda s, x: s.publish("d", body=x),
    "publish headers": lambda s, x: s.publish("d", message.DeliveryProperties(), x),
    "publish accept_mode": lambda s, x: s.publish("d", accept_mode=x),
    "publish acquire_mode": lambda s, x: s.publish("d", acquire_mode=x),
    "deliver": lambda s, x: s.deliver(x),
    "subscribe": lambda s, x: s.subscribe(x, "e"),
    "subscribe destination": lambda s, x: s.subscribe("q", x),
    "subscribe accept_mode": lambda s, x: s.subscribe("q", "e", accept_mode=x),
    "subscribe arguments": lambda s, x: s.subscribe("q", "e", arguments=x),
    "subscribe resume_ttl": lambda s, x: s.subscribe("q", "e", resume_ttl=x),
    "accept": lambda s, x: s.accept(x),
    "reject": lambda s, x: s.reject(0, x),
    "reject text": lambda s, x: s.reject(0, RejectCode.UNSPECIFIED, x),
    "release": lambda s, x: s.release(x),
    "acquire": lambda s, x: s.acquire(x),
    "flush": lambda s, x: s.flush(x),
    "complete": lambda s, x: s.complete(x),
    "confirm": lambda s, x: s.confirm(x),
    "result": lambda s, x: s.result(x),
    "result value": lambda s, x: s.result(3, x),
    "fail": lambda s, x: s.fail(x, ErrorCode.NOT_FOUND),
    "fail code": lambda s, x: s.fail(3, x),
    "fail text": lambda s, x: s.fail(3, ErrorCode.NOT_FOUND, x),
    "fail error_info": lambda s, x: s.fail(3, ErrorCode.NOT_FOUND, error_info=x),
    "grant": lambda s, x: s.subscriptions["d"].grant(x),
    "grant octets": lambda s, x: s.subscriptions["d"].grant(1, x),
    "set_mode": lambda s, x: s.subscriptions["d"].set_mode(x),
}


def talking(role: Role) -> tuple[BareCarrier, Session]:
    """A session in the middle of everything."""
    carrier, session = attached_session(role, timeout=None, max_timeout=None)
    if role == "client":
        session.subscribe("q", "d")
        session.subscribe("q", "browse", acquire_mode=AcquireMode.NOT_ACQUIRED)
        session.subscriptions["d"].grant(10)
        session.subscriptions["browse"].grant(1)
        carrier.hear(message.Transfer("d", 0, 0), message.Transfer("d", 0, 0), message.Transfer("browse", 0, 1), body=b"x")
        session.send(queue.Query("q"))
    else:
        carrier.hear(message.Subscribe("q", "d", 0, 0), message.Flow("d", 0, 10), message.Flow("d", 1, None))
        carrier.hear(queue.Query("q"), message.Transfer("x", 0, 0), execution.Sync())
    carrier.said()
    carrier.happened()
    return carrier, session


def fingerprint(carrier: BareCarrier, session: Session) -> tuple[object, ...]:
    outbound, inbound = session._outbound, session._inbound
    half = (outbound.position, outbound.expected_asked, inbound.due, inbound.asked, inbound.pointed)
    return repr(session.snapshot()), bytes(carrier.out), list(carrier.events), session.state, session.cause, half


def given(call: Call, odd: Anything, session: Session) -> object:
    return call(session, odd)


UNCHANGED: Final[dict[Role, tuple[BareCarrier, Session, tuple[object, ...]]]] = {}
"""Sessions in which nothing has changed, as the last attempt has shown: the next one may have them."""


def attempt(role: Role, call: Callable[[Session], object], what: str) -> None:
    if role == "server" and what.startswith(("grant", "set_mode")):
        return
    if role not in UNCHANGED:
        carrier, session = talking(role)
        UNCHANGED[role] = carrier, session, fingerprint(carrier, session)
    carrier, session, before = UNCHANGED.pop(role)
    try:
        call(session)
    except (AmqpError, TypeError):
        assert fingerprint(carrier, session) == before, what
        UNCHANGED[role] = carrier, session, before
        return
    carrier.said()  # what was written can be read
    session.snapshot()


@pytest.mark.parametrize("name", CALLS)
def test_an_odd_argument_is_taken_or_refused(name: str) -> None:
    roles: tuple[Role, Role] = ("client", "server")
    for role in roles:
        for odd in ODD:
            attempt(role, partial(given, CALLS[name], odd), f"{name} {odd!r:.60}")


def vocabulary(*modules: ModuleType) -> list[type[Command] | type[Struct]]:
    return [
        thing
        for module in modules
        for thing in vars(module).values()
        if inspect.isclass(thing) and issubclass(thing, Command | Struct) and thing.__module__ == module.__name__
    ]


@pytest.mark.parametrize(
    "kind", vocabulary(dtx, exchange, execution, file, message, queue, stream, tx), ids=lambda k: k.__qualname__
)
def test_an_odd_field_is_taken_or_refused(kind: type[Command] | type[Struct]) -> None:
    def call(session: Session, field: str, odd: object) -> None:
        thing = kind(**{field: odd})
        if isinstance(thing, Command):
            session.send(thing)
        else:
            session.publish("d", thing)

    roles: tuple[Role, Role] = ("client", "server")
    for role in roles:
        for field in kind.FIELDS:
            for odd in ODD:
                attempt(role, lambda s, f=field, o=odd: call(s, f, o), f"{kind.__name__}.{field} {odd!r:.60}")  # type: ignore[misc]


@pytest.mark.parametrize("header", [b"x", b"\0\0\0\1\4", b"\0\0\0\x09\4\1\0\0"])
def test_octets_that_are_no_header_structs_are_not_sent(header: bytes) -> None:
    _, session = talking("client")
    with pytest.raises(EncodeError, match="whole structs"):
        session.publish("d", header, body=b"x")


def test_several_commands_at_once_must_not_decide_about_one_another() -> None:
    carrier, session = talking("client")
    before = fingerprint(carrier, session)
    for command in (
        message.Subscribe("q", "e"),
        message.Transfer("d"),
        execution.Exception_(404),
        message.Accept(RangeSet.of(0)),
    ):
        with pytest.raises(LocalProtocolError):
            session.send_all([queue.Declare("q"), command])
    assert fingerprint(carrier, session) == before
    assert len(session.send_all([queue.Declare("q"), queue.Declare("r")])) == 2


def test_a_snapshot_that_is_none_is_refused() -> None:
    good = talking("client")[1].snapshot()
    for key in good:
        for bad in ("nonsense", (1, 2, 3), object()):
            with pytest.raises((DecodeError, EncodeError)):
                Session.restore({**good, key: bad, "wanted": -1})
        with pytest.raises(DecodeError):
            Session.restore({name: value for name, value in good.items() if name != key})
    assert Session.restore(good).snapshot() == {**good, "cause": "restored, and not attached yet"}
