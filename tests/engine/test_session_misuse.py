"""What a caller may not say on a session, and when: nothing is said and nothing changes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.builds import wrong_type
from tests.carriers import BareCarrier, attached_session
from tests.engine.delivered import with_transfers

from amqp_sansio.engine.session import Session
from amqp_sansio.errors import EncodeError, LocalProtocolError, SessionDetachedError
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import execution, file, message, queue
from amqp_sansio.spec import session as c
from amqp_sansio.spec.codes import ErrorCode, FlowMode, RejectCode


def test_too_large_for_a_frame_is_refused_and_changes_nothing() -> None:
    carrier, session = attached_session("client", max_frame_size=4096)
    before = session.snapshot()
    with pytest.raises(EncodeError):
        session.publish("", message.DeliveryProperties(routing_key="k"), b"\0" * 4085)
    with pytest.raises(EncodeError):
        session.send(queue.Declare("q", arguments={"k": "v" * 5000}))
    with pytest.raises(EncodeError):
        session.publish("x" * 256)
    with wrong_type():
        session.publish(body="text")  # type: ignore[arg-type]
    with pytest.raises(EncodeError):
        session.publish(accept_mode=2)  # type: ignore[arg-type]
    assert session.snapshot() == before
    assert carrier.said() == []


Act = Callable[[Session], object]


MISUSE: dict[str, tuple[Act, type[Exception]]] = {
    "accept of an unknown id": (lambda s: s.accept(77), LocalProtocolError),
    "accept of some unknown ids": (lambda s: s.accept([0, 77]), LocalProtocolError),
    "accept of nothing": (lambda s: s.accept(RangeSet()), LocalProtocolError),
    "accept of billions": (lambda s: s.accept(RangeSet([(0, 0x7FFFFFFF)])), LocalProtocolError),
    "reject of an unknown id": (lambda s: s.reject(77, RejectCode.UNROUTABLE, "text"), LocalProtocolError),
    "release of an unknown id": (lambda s: s.release(77), LocalProtocolError),
    "acquire of what is acquired": (lambda s: s.acquire(0), LocalProtocolError),
    "no id at all": (lambda s: s.accept(-1), EncodeError),
    "completion of an unknown id": (lambda s: s.complete(77), LocalProtocolError),
    "completion of nothing": (lambda s: s.complete([]), LocalProtocolError),
    "confirmation of an unknown id": (lambda s: s.confirm(77), LocalProtocolError),
    "a result nobody waits for": (lambda s: s.result(0), LocalProtocolError),
    "failing what was never received": (lambda s: s.fail(77, ErrorCode.NOT_FOUND), LocalProtocolError),
    "subscribing twice to one destination": (lambda s: s.subscribe("q", "d"), LocalProtocolError),
    "subscribing in a mode there is not": (lambda s: s.subscribe("q", "e", accept_mode=4), EncodeError),  # type: ignore[arg-type]
    "delivering where nobody subscribed": (lambda s: s.deliver("nowhere"), LocalProtocolError),
    "granting nothing": (lambda s: s.subscriptions["d"].grant(0, 0), LocalProtocolError),
    "granting too much": (lambda s: s.subscriptions["d"].grant(1 << 32), EncodeError),
    "changing the mode with credit": (lambda s: s.subscriptions["d"].set_mode(FlowMode.CREDIT), LocalProtocolError),
    "cancelling what is not there": (lambda s: s.send(message.Cancel("zz")), LocalProtocolError),
    "flow for what is not there": (lambda s: s.send(message.Flow("zz", 0, 1)), LocalProtocolError),
    "a flow in no unit": (lambda s: s.send(message.Flow("d", 7, 1)), EncodeError),
    "stop of what is not there": (lambda s: s.send(message.Stop("zz")), LocalProtocolError),
    "flush of what is not there": (lambda s: s.send(message.Flush("zz")), LocalProtocolError),
    "what only a server says": (lambda s: s.send(file.QosOk()), LocalProtocolError),
    "message.resume": (lambda s: s.send(message.Resume("d", "r")), LocalProtocolError),
    "fragments": (lambda s: s.publish("", message.FragmentProperties(True, False)), LocalProtocolError),
    "content with a command that carries none": (lambda s: s.send(queue.Declare("q"), body=b"x"), LocalProtocolError),
    "a control": (lambda s: s.send(c.Flush()), TypeError if COMPILED else EncodeError),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", MISUSE)
def test_a_callers_mistake_raises_says_nothing_and_changes_nothing(name: str) -> None:
    act, error = MISUSE[name]
    carrier, session = with_transfers()
    before = session.snapshot()
    with pytest.raises(error) as raised:
        act(session)
    if isinstance(raised.value, LocalProtocolError) and name != "what only a server says":
        assert raised.value.said
    assert session.snapshot() == before
    assert carrier.said() == []
    assert carrier.happened() == []


def test_misuse_tells_what_would_have_been_legal() -> None:
    _, session = with_transfers(acquire_mode=1)
    with pytest.raises(LocalProtocolError) as raised:
        session.accept([0, 1])
    assert raised.value.rule == "message.accept.acquisition"
    assert {"message.acquire 0", "message.release 0"} <= set(raised.value.legal)
    _, session = with_transfers()
    with pytest.raises(LocalProtocolError) as raised:
        session.accept(9)
    assert raised.value.legal == ("message.accept {0-2}",)


EVERY_VERB: dict[str, Act] = {
    "send": lambda s: s.send(queue.Declare("q")),
    "send transfer": lambda s: s.send(message.Transfer("")),
    "publish": lambda s: s.publish(body=b"x"),
    "deliver": lambda s: s.deliver("d"),
    "subscribe": lambda s: s.subscribe("q", "e"),
    "accept": lambda s: s.accept(0),
    "reject": lambda s: s.reject(0),
    "release": lambda s: s.release(0),
    "acquire": lambda s: s.acquire(0),
    "sync": lambda s: s.sync(),
    "flush": lambda s: s.flush(),
    "complete": lambda s: s.complete(0),
    "confirm": lambda s: s.confirm(0),
    "result": lambda s: s.result(0),
    "fail": lambda s: s.fail(0, ErrorCode.NOT_FOUND),
    "request_timeout": lambda s: s.request_timeout(3),
    "grant": lambda s: s.subscriptions["d"].grant(3),
    "stop": lambda s: s.subscriptions["d"].stop(),
}


STATES = ("before attached", "detached", "detaching", "ended", "resuming", "refused")


UNSAID = {(name, state) for name in ("complete", "confirm") for state in ("detached", "resuming")}
"""These only note what is done, and are told when the session is resumed."""


@pytest.mark.parametrize(("name", "state"), [(n, s) for n in EVERY_VERB for s in STATES if (n, s) not in UNSAID])
def test_a_race_with_the_other_side_raises_and_changes_nothing(name: str, state: str) -> None:
    carrier, session = with_transfers()
    if state == "before attached":
        carrier = BareCarrier("client")
        snapshot = session.snapshot()
        session = Session.restore(snapshot)
        carrier.channel(0).bind(session)
        session.attach()
    elif state == "detached":
        carrier.lost()
    elif state == "detaching":
        session.detach()
    elif state == "ended":
        carrier.hear(message.Transfer("d", 9, 9))
    elif state == "resuming":
        carrier.lost()
        carrier = BareCarrier("client")
        carrier.channel(0).bind(session)
        session.attach()
        carrier.hear(c.Attached(b"s"))
    else:
        carrier.hear(execution.Exception_(404, 0))
    assert session.state == {"before attached": "attaching"}.get(state, state)
    carrier.take()
    before = session.snapshot()
    with pytest.raises(SessionDetachedError) as raised:
        EVERY_VERB[name](session)
    assert raised.value.cause
    assert session.snapshot() == before
    assert carrier.said() == []
