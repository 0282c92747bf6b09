"""A client and a server session on a wire that is cut at random octets, any number of times, in both directions."""

from __future__ import annotations

import pickle

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.carriers import Wire

from amqp_sansio.config import Profile
from amqp_sansio.engine.session import Session
from amqp_sansio.errors import NoCredit, SessionDetachedError
from amqp_sansio.events import (
    CommandReceived,
    CommandsCompleted,
    CommandsSkipped,
    Event,
    SessionAttached,
    SessionDetached,
    TransferReceived,
)
from amqp_sansio.kernel.serials import EMPTY, RangeSet
from amqp_sansio.spec import message
from amqp_sansio.spec.codes import FlowMode

steps = st.one_of(
    st.tuples(st.just("publish"), st.integers(0, 9000), st.booleans()),
    st.tuples(st.just("deliver"), st.integers(0, 9000), st.booleans()),
    st.tuples(st.just("grant"), st.integers(1, 5), st.booleans()),
    st.tuples(st.just("settle"), st.integers(0, 3), st.booleans()),
    st.tuples(st.just("serve"), st.integers(0, 3), st.booleans()),
    st.tuples(st.just("step"), st.integers(0, 400), st.booleans()),
    st.tuples(st.just("cut"), st.integers(0, 3000), st.booleans()),
)


class Both:
    """A client that publishes and consumes, a server that executes and delivers, and what each of them has seen."""

    def __init__(self, first_id: int, window: bool) -> None:
        self.wire = Wire(session_timeout=None, profile=Profile())
        self.client, self.server = self.wire.session(timeout=None)
        for session in (self.client, self.server):
            # As if so many commands had passed already.
            session._outbound.next_id = session._inbound.next_id = session._inbound.cursor = first_id
            session._outbound.begun = session._inbound.begun = True
        self.published: list[bytes] = []
        self.executed: list[bytes] = []
        self.delivered: list[bytes] = []
        self.consumed: list[bytes] = []
        self.client_sent: set[int] = set()
        self.client_completed: list[int] = []
        self.server_sent: set[int] = set()
        self.server_completed: list[int] = []
        self.to_complete: list[int] = []
        self.to_settle: list[int] = []
        self.subscription = self.client.subscribe("q", "d")
        if not window:
            self.subscription.set_mode(FlowMode.CREDIT)
        self.subscription.grant(3)
        self.client_sent.update((first_id + n) & 0xFFFFFFFF for n in range(3 if window else 4))
        self.wire.run()
        self.hear()

    def hear(self) -> None:
        for event in self.wire.client.happened():
            self._heard(event, self.client_completed)
            if isinstance(event, TransferReceived):
                self.consumed.append(event.body)
                self.to_settle.append(event.id)
        for event in self.wire.server.happened():
            self._heard(event, self.server_completed)
            if isinstance(event, TransferReceived):
                self.executed.append(event.body)
                self.to_complete.append(event.id)
            elif isinstance(event, CommandReceived):
                self.to_complete.append(event.id)

    def _heard(self, event: Event, completed: list[int]) -> None:
        assert not isinstance(event, CommandsSkipped)
        if isinstance(event, SessionDetached):
            assert not event.ended, event
        elif isinstance(event, SessionAttached):
            assert event.channel in (0, 1)
        elif isinstance(event, CommandsCompleted):
            for low, high in event.ids.ranges:
                completed += [(low + n) & 0xFFFFFFFF for n in range(((high - low) & 0xFFFFFFFF) + 1)]

    def do(self, verb: str, n: int, flag: bool) -> None:
        if verb == "publish":
            body = b"%d:" % len(self.published) + b"p" * n
            if self.client.state == "attached":
                header = message.DeliveryProperties(routing_key="k")
                id = self.client.publish("", header, body=body, sync=flag) if flag else self.client.publish("", body=body)
                self.published.append(body)
                self.client_sent.add(id)
        elif verb == "deliver":
            body = b"%d:" % len(self.delivered) + b"d" * n
            try:
                id = self.server.deliver("d", message.DeliveryProperties(routing_key="k"), body=body)
            except (NoCredit, SessionDetachedError):
                return
            self.delivered.append(body)
            self.server_sent.add(id)
        elif verb == "grant":
            if self.client.state == "attached":
                self.client_sent.add(self.subscription.grant(n))
        elif verb == "settle":
            self.settle(n if flag else None)
        elif verb == "serve":
            self.serve(n if flag else None)
        elif verb == "step":
            self.wire.step(n if flag else None, None if flag else n)
            self.hear()
        else:
            self.cut(n, flag)

    def settle(self, n: int | None) -> None:
        ids = self.to_settle[:n]
        if ids and self.client.state == "attached":
            self.client_sent.add(self.client.accept(RangeSet.of(*ids)))
            del self.to_settle[: len(ids)]

    def serve(self, n: int | None) -> None:
        ids = self.to_complete[:n]
        if ids and self.server.state == "attached":
            self.server.complete(ids)
            del self.to_complete[: len(ids)]

    def cut(self, n: int, restore: bool) -> None:
        self.wire.max_frame_size = 4096 if n % 2 else 65535
        self.wire.cut(n, n // 2)
        self.hear()
        if restore:
            self.client = Session.restore(pickle.loads(pickle.dumps(self.client.snapshot())))
            self.server = Session.restore(pickle.loads(pickle.dumps(self.server.snapshot())))
            self.wire.sessions[b"s"] = self.server
            self.subscription = self.client.subscriptions["d"]
        self.wire.client.channel(n % 2).bind(self.client)
        self.client.attach(force=restore)

    def finish(self) -> None:
        for _ in range(3):
            self.wire.run()
            self.hear()
            self.settle(None)
            self.serve(None)
        self.wire.run()
        self.hear()


@settings(max_examples=settings().max_examples * 2)
@given(st.lists(steps, max_size=40), st.sampled_from([0, 0xFFFFFFF8, 0x7FFFFFFC]), st.booleans())
def test_every_command_is_executed_once_and_in_order_and_no_credit_is_lost(
    script: list[tuple[str, int, bool]], first_id: int, window: bool
) -> None:
    both = Both(first_id, window)
    for verb, n, flag in script:
        both.do(verb, n, flag)
    both.finish()
    assert both.client.state == both.server.state == "attached"
    assert both.executed == both.published
    assert both.consumed == both.delivered
    assert sorted(both.client_completed) == sorted(both.client_sent)
    assert sorted(both.server_completed) == sorted(both.server_sent)
    assert both.client.in_doubt == both.server.in_doubt == EMPTY
    assert both.client._outbound.kept == both.server._outbound.kept == {}
    subscriber = both.server.subscribers["d"]
    assert subscriber.message_credit == both.subscription.message_credit
    assert subscriber._book.granted() == both.subscription._book.granted()
    assert not both.server._subscribers.windows
    assert not both.client._transfers.deliveries
