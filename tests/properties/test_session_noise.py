"""Whatever well-formed controls and commands a peer says, in whatever order: nothing but events comes out."""

from __future__ import annotations

import pickle

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.carriers import BareCarrier, attached_session

from amqp_sansio.config import DEFAULT_PROFILE, STRICT_PROFILE, Profile
from amqp_sansio.engine.connection import Role
from amqp_sansio.engine.session import Session
from amqp_sansio.errors import AmqpError
from amqp_sansio.events import AttachRequested, SessionDetached
from amqp_sansio.kernel.serials import TOP, RangeSet
from amqp_sansio.limits import Limits
from amqp_sansio.spec import execution, message, queue
from amqp_sansio.spec import session as c
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.spec.codes import ErrorCode

ids = st.one_of(st.integers(0, 8), st.sampled_from([TOP, TOP - 1, 0x7FFFFFFF, 0x80000000, 0x80000001]))
half = st.integers(0, 0x7FFFFFFF)
sets = st.one_of(
    st.none(),
    st.lists(st.one_of(ids.map(lambda id: (id, id)), st.tuples(ids, half)), max_size=4).map(
        lambda pairs: RangeSet([(low, high if low == high else (low + high) & TOP) for low, high in pairs])
    ),
)
sets = sets.filter(lambda ids: ids is None or all(((high - low) & TOP) <= 0x7FFFFFFF for low, high in ids.ranges))
names = st.sampled_from([b"s", b"t", b"", None])
destinations = st.sampled_from(["d", "", "e", None])
bits = st.booleans()
small = st.one_of(st.none(), st.integers(0, 3))
controls: st.SearchStrategy[Control] = st.one_of(
    st.builds(c.Attach, names, bits),
    st.builds(c.Attached, names),
    st.builds(c.Detach, names),
    st.builds(c.Detached, names, small),
    st.builds(c.RequestTimeout, small),
    st.builds(c.Timeout, small),
    st.builds(c.CommandPoint, ids, st.sampled_from([0, 0, 0, 0, None, 5])),
    st.builds(c.Expected, sets),
    st.builds(c.Confirmed, sets),
    st.builds(c.Completed, sets, bits),
    st.builds(c.KnownCompleted, sets),
    st.builds(c.Flush, bits, bits, bits),
    st.builds(c.Gap, sets),
)
commands: st.SearchStrategy[Command] = st.one_of(
    st.builds(execution.Sync),
    st.builds(execution.Result, st.one_of(st.none(), ids), st.one_of(st.none(), st.builds(message.Acquired, sets))),
    st.builds(execution.Exception_, small, small, small, small),
    st.builds(message.Transfer, destinations, small, small),
    st.builds(message.Accept, sets),
    st.builds(message.Reject, sets),
    st.builds(message.Release, sets),
    st.builds(message.Acquire, sets),
    st.builds(message.Subscribe, st.just("q"), destinations, small, small),
    st.builds(message.Cancel, destinations),
    st.builds(message.SetFlowMode, destinations, small),
    st.builds(message.Flow, destinations, small, st.sampled_from([None, 0, 1, 0xFFFFFFFE, 0xFFFFFFFF])),
    st.builds(message.Flush, destinations),
    st.builds(message.Stop, destinations),
    st.builds(queue.Query, st.just("q")),
)
acts = st.sampled_from([
    "publish", "sync", "subscribe", "grant", "accept", "acquire", "complete", "detach", "attach", "deliver", "take", "lost",
    "fail", "result", "flush", "cancel", "accept request", "refuse request",
])  # fmt: skip


class Alone:
    """A session and what is done with it, on a carrier whose other side says anything."""

    def __init__(self, role: Role, profile: Profile, timeout: int | None) -> None:
        self.profile = profile
        self.limits = Limits(ranges=6, subscriptions=2, replay_commands=6)
        self.carrier, self.session = attached_session(
            role, timeout=timeout, max_timeout=timeout, profile=profile, limits=self.limits
        )

    def act(self, verb: str) -> None:
        session, carrier = self.session, self.carrier
        if verb == "publish":
            session.publish(body=b"x")
        elif verb == "sync":
            session.sync()
        elif verb == "subscribe":
            session.subscribe("q", "d").grant(2)
        elif verb == "grant":
            for subscription in session.subscriptions.values():
                subscription.grant(1)
        elif verb == "accept":
            session.accept(session._transfers.unsettled())
        elif verb == "acquire":
            session.acquire(session._transfers.unsettled())
        elif verb == "complete":
            session.complete(session._inbound.outstanding.freeze())
        elif verb == "detach":
            session.detach()
        elif verb == "attach":
            if session._channel is None:
                carrier.channel(0).bind(session)
            session.attach()
        elif verb == "deliver":
            session.deliver("d", body=b"x")
        elif verb == "take":
            carrier.take()
        elif verb == "lost":
            carrier.lost()
            self.carrier = BareCarrier(session.role, profile=self.profile, limits=self.limits)
        elif verb == "fail":
            session.fail(0, ErrorCode.NOT_FOUND)
        elif verb == "result":
            for id in list(session._inbound.owed):
                session.result(id)
        elif verb == "flush":
            session.flush(True, True, True)
        elif verb == "cancel":
            for subscription in list(session.subscriptions.values()):
                subscription.cancel()
        elif verb == "accept request":
            requested = carrier.channel(0).requested
            if requested is not None:
                if session.name != requested or session.state == "ended" or session._channel is not None:
                    self.session = session = Session(requested, "server", profile=self.profile, limits=self.limits)
                carrier.channel(0).accept(session)
        else:
            carrier.channel(0).refuse()


@settings(max_examples=settings().max_examples * 7)
@given(
    st.sampled_from(["client", "server"]),
    st.sampled_from([DEFAULT_PROFILE, STRICT_PROFILE, Profile(completion="manual"), Profile(completion="on_hand_out")]),
    st.sampled_from([0, 60, None]),
    st.lists(st.one_of(acts, controls, commands, commands, controls), max_size=30),
)
def test_nothing_but_events_comes_out(
    role: Role, profile: Profile, timeout: int | None, script: list[str | Control | Command]
) -> None:
    alone = Alone(role, profile, timeout)
    for step in script:
        if isinstance(step, str):
            before = alone.session.snapshot()
            try:
                alone.act(step)
            except AmqpError:
                if step not in ("grant", "result", "cancel", "subscribe"):  # those are several steps
                    assert alone.session.snapshot() == before
        else:
            alone.carrier.hear(step)
            session = alone.session
            assert session._inbound.ranges <= 6 or session.state == "ended" or not session._hears
            for event in alone.carrier.happened():
                if isinstance(event, SessionDetached):
                    assert event.ended == (session.state == "ended") or alone.session.name != event.session
                elif isinstance(event, AttachRequested):
                    assert role == "server"
    snapshot = alone.session.snapshot()
    again = Session.restore(pickle.loads(pickle.dumps(snapshot)))
    restored = again.snapshot()
    for state in (snapshot, restored):
        state["cause"] = ""
    assert restored == snapshot
    alone.carrier.take()
