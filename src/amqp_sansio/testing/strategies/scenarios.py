"""Strategies of whole scenarios from the first octet to close: queues, messages with payloads, subscriptions, transactions."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from hypothesis import strategies as st

from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import exchange, message, queue, tx
from amqp_sansio.spec import session as s
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.execution import Sync
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties
from amqp_sansio.spec.queue import QueueQueryResult
from amqp_sansio.testing.speech.parts import opening
from amqp_sansio.testing.speech.step import Conversation, Step
from amqp_sansio.testing.speech.word_encoder import ConnectionVoice, Setting, Voice
from amqp_sansio.testing.strategies.values import TEXT, maps, signed

ACTIONS: Final = ("publish", "subscribe", "accept", "declare", "query", "commit", "bind", "sync", "cancel")
QUEUES: Final = 3
CREDIT: Final = 0xFFFFFFFF


class Payload(NamedTuple):
    """A message: its header structs and its body."""

    delivery: DeliveryProperties
    properties: MessageProperties | None
    body: bytes | None

    @property
    def header(self) -> list[Struct]:
        """Both header structs, or the first one alone."""
        return [self.delivery] if self.properties is None else [self.delivery, self.properties]

    def addressed(self, key: str, exchange: str | None = None) -> Payload:
        """Returns it with another address, of the same priority and delivery mode."""
        priority, mode = self.delivery.priority, self.delivery.delivery_mode
        return self._replace(
            delivery=DeliveryProperties(priority=priority, delivery_mode=mode, exchange=exchange, routing_key=key)
        )


_EMPTY: Final = Payload(DeliveryProperties(), None, None)


def payloads(key: str = "q0") -> st.SearchStrategy[Payload]:
    """Generates messages to a routing key: with and without properties, with bodies from no octets to several frames."""
    bodies = st.one_of(st.none(), st.binary(max_size=64), st.integers(65_500, 66_000).map(bytes))
    delivery = st.builds(
        DeliveryProperties,
        priority=st.none() | st.integers(0, 9),
        delivery_mode=st.none() | st.integers(1, 2),
        routing_key=st.just(key),
    )
    headers = st.none() | maps(st.one_of(st.booleans(), signed(64), TEXT, st.binary(max_size=8), st.just(None)))
    properties = st.builds(
        MessageProperties,
        content_type=st.none() | st.sampled_from(["text/plain", "application/octet-stream"]),
        correlation_id=st.none() | st.binary(max_size=16),
        application_headers=headers,
    )
    return st.builds(Payload, delivery, st.none() | properties, bodies)


_PAYLOADS: Final = payloads()


class _Scene(Voice):
    """A client, and a broker that acts at once: it delivers what is published to a queue to its subscriber."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.steps: Final[list[Step]] = []
        self.queues: Final[dict[str, deque[Payload]]] = {}
        self.subscribed: Final[set[str]] = set()
        self.unsettled: Final[list[int]] = []
        self.held: Final[list[tuple[str, Payload]]] = []
        """Published in the open transaction."""
        self.in_tx = False
        self._asked = ""

    def told(self, step: Step) -> None:
        super().told(step)
        self.steps.append(step)

    def client(self, said: Command, payload: Payload | None = None) -> None:
        self.told(self.step("client", said, header=payload and payload.header, body=payload and payload.body))
        if isinstance(said, queue.Query):
            self._asked = said.queue or ""

    def result(self, name: str) -> Struct:
        waiting = len(self.queues.get(self._asked, ()))
        used = int(self._asked in self.subscribed)
        return QueueQueryResult(self._asked, message_count=waiting, subscriber_count=used)

    def answer(self) -> None:
        """Completes all commands as the broker, and delivers what it may."""
        self.heard(self.feedback("server"))
        for name in sorted(self.subscribed):
            while self.queues[name]:
                self._deliver(name, self.queues[name].popleft())

    def _deliver(self, name: str, payload: Payload) -> None:
        self.unsettled.append(self.halves["server"].next_id)
        header = payload.addressed(name, "").header
        self.told(self.step("server", message.Transfer(name, 0, 0), header=header, body=payload.body))

    def act(self, action: str, number: int, payload: Payload) -> None:
        """Performs an action, where possible."""
        name = self.setting.named(f"q{number % QUEUES}")
        if action in ("publish", "subscribe", "query", "bind") and name not in self.queues:
            self.act("declare", number, payload)
        if action == "declare":
            self.queues.setdefault(name, deque())
            self.client(queue.Declare(name, exclusive=True, auto_delete=False))
        elif action == "bind":
            self.client(exchange.Bind(name, "amq.topic", f"#.{number}"))
        elif action == "publish":
            self._publish(name, payload)
        elif action == "subscribe" and name not in self.subscribed:
            self.client(message.Subscribe(name, name, 0, 0))
            self.client(message.Flow(name, 0, CREDIT))
            self.client(message.Flow(name, 1, CREDIT))
            self.subscribed.add(name)
        elif action == "accept" and self.unsettled:
            self.client(message.Accept(RangeSet.of(self.unsettled.pop(number % len(self.unsettled)))))
        elif action == "query":
            self.client(queue.Query(name))
        elif action == "commit" and self.in_tx:
            self.commit()
        elif action == "sync":
            self.client(Sync())
        elif action == "cancel" and name in self.subscribed:
            self.client(message.Cancel(name))
            self.subscribed.discard(name)
        else:
            return
        self.answer()

    def _publish(self, name: str, payload: Payload) -> None:
        addressed = payload.addressed(name)
        self.client(message.Transfer("", 1, 0), addressed)
        if self.in_tx:
            self.held.append((name, addressed))
        else:
            self.queues[name].append(addressed)

    def commit(self) -> None:
        self.client(tx.Commit())
        for name, payload in self.held:
            self.queues[name].append(payload)
        self.held.clear()


@st.composite
def scenarios(draw: st.DrawFn, *, max_size: int = 10, setting: Setting | None = None) -> Conversation:
    """Generates whole scenarios, legal throughout: a connection, a session, queues, messages, and the close.

    Both sides speak.  The broker answers at once, and delivers the messages of a queue in the order of publication, whatever
    the priorities.  At most `max_size` actions.
    """
    scene = _Scene(setting or Setting())
    scene.heard(opening("work", scene))
    opened = len(scene.steps)
    actions = draw(
        st.lists(st.tuples(st.integers(0, len(ACTIONS) - 1), st.integers(0, 5)), max_size=max_size)
    )  # fmt: skip
    if draw(st.booleans()):
        scene.client(tx.Select())
        scene.in_tx = True
        scene.answer()
    for action, number in actions:
        scene.act(ACTIONS[action], number, draw(_PAYLOADS) if ACTIONS[action] == "publish" else _EMPTY)
    scene.told(scene.step("client", s.Detach(scene.setting.session)))
    scene.told(scene.step("server", s.Detached(scene.setting.session, 0)))
    closing = ConnectionVoice(scene.setting)
    for word in ("client:connection.close", "server:connection.close-ok"):
        scene.heard(closing.say(word))
    return Conversation("scenario", scene.steps, opened)


def delivered(conversation: Conversation) -> list[bytes]:
    """Returns the bodies that the server delivers, in order."""
    return [step.body or b"" for step in conversation.by("server") if isinstance(step.said, message.Transfer)]
