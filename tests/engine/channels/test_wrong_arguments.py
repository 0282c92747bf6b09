"""Whatever is given for an argument: it is taken, and what is said of it is legal, or one of our errors refuses it, and then
nothing was said and nothing has changed."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from decimal import Decimal
from enum import Enum
from typing import Any, Final

import pytest
from tests.builds import attributes
from tests.engine.channels.stage import DIALECTS, Stage, answer

from amqp_sansio.dialects import AMQP_0_9_1, ChannelDialect
from amqp_sansio.engine.channel_client import ChannelClientConnection
from amqp_sansio.engine.channel_server import ChannelServerConnection
from amqp_sansio.engine.channels.client import Channel
from amqp_sansio.engine.channels.saying import CLIENT_SAYS, SERVER_SAYS
from amqp_sansio.engine.channels.server import ServedChannel
from amqp_sansio.errors import AmqpError
from amqp_sansio.events import ChannelRequested
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.kernel.machine import Machine
from amqp_sansio.kernel.serials import MutableRangeSet, RangeSet
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec import message
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import basic, queue

# Any: the point is to give what no annotation allows.
Anything = Any

pytestmark = pytest.mark.skipif(COMPILED, reason="compiled code refuses a wrong type at the call, by a TypeError")

ODD: Final[tuple[Anything, ...]] = (
    None, True, 0, 7, -1, 1.5, float("nan"), Decimal("NaN"), 1j, 2**16, 2**64, 2**2000, "d", "",
    "queue.9", "queue.70000", "\udcff",
    "x" * 256, "x" * 5000, b"d", b"\0\0", bytearray(b"d"), memoryview(b"abcd")[::2], [1, 1], [-1], ["a"], {}, {1: 2},
    {"a": {"b": object()}}, object(), RangeSet.of(5), RangeSet([(0, 2**31 - 2)]), basic.Properties(), queue.Declare("q"),
    queue.DeclareOk(), message.DeliveryProperties(),
)  # fmt: skip
NEEDED: Final[dict[str, Anything]] = {
    "code": 404, "consumer_tag": "t", "data": b"", "destination": "a", "exchange": "x", "exchange_name": "x", "host": "h",
    "id": 1, "name": "q", "now": 1.0, "number": 3, "numbers": (), "octets": b"", "queue_name": "q", "realm": "/data",
    "routing_key": "k", "secret": b"s", "source": "b", "tags": 1, "text": "", "verdict": None,
}  # fmt: skip
"""Something legal for each parameter without a default."""
PARTS: Final = {
    "client": ChannelClientConnection,
    "server": ChannelServerConnection,
    "channel": Channel,
    "served": ServedChannel,
}
READS: Final = ("capable",)
"""Asks whether a name is in a set, and raises as any set does."""
FROM_OUTSIDE: Final = ("receive_data", "tick")
"""What the other side says, and what time it is, may be anything."""


def talking(dialect: ChannelDialect) -> Stage:
    """A stage in the middle of everything: a consumer, deliveries, a call, a publish, and a channel that is asked for."""
    stage = Stage(dialect, attach="refuse")
    ask(stage)
    served = stage.server.accept(1)
    stage.run()
    client = stage.client.channels[0]
    client.consume("q", "t")
    stage.run()
    answer(served, basic.ConsumeOk("t"))
    for _ in range(9):
        served.deliver("t", b"m")
    client.declare_queue("q")
    if dialect.codec.extended:
        client.select_confirm()
        client.publish("x", "k", mandatory=True)
    stage.run()
    ask(stage, 3)
    return stage


def ask(stage: Stage, number: int | None = None) -> None:
    """The client asks for a channel, and the server has not answered."""
    stage.client.channel(number)
    octets = stage.client.data_to_send()
    stage._overhear("C", octets)
    stage.server.receive_data(octets)
    assert isinstance(stage.server.next_event(), ChannelRequested)


def inside(thing: object, seen: set[int]) -> object:
    """All that an object keeps, by value; what is remembered only to be quick is left out."""
    if thing is None or isinstance(thing, (str, bytes, int, float, Enum, type, ValueObject, RangeSet)):
        return thing
    if isinstance(thing, MutableRangeSet):
        return thing.freeze()
    if isinstance(thing, Machine):
        return thing.states
    if isinstance(thing, bytearray):
        return bytes(thing)
    if id(thing) in seen:
        return "above"
    seen.add(id(thing))
    if isinstance(thing, Mapping):
        return [(key, inside(value, seen)) for key, value in thing.items()]
    if isinstance(thing, (tuple, list, set, frozenset)) or type(thing).__name__ == "deque":
        return [inside(each, seen) for each in thing]  # type: ignore[attr-defined]
    module = type(thing).__module__
    if not module.startswith(("amqp_sansio.engine", "amqp_sansio.ledger")):
        return module
    return type(thing).__name__, [
        (name, inside(value, seen)) for name, value in sorted(kept(thing).items()) if name != "_writer"
    ]


def kept(thing: object) -> dict[str, object]:
    slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    found = attributes(thing) if hasattr(thing, "__dict__") or COMPILED else {}
    return found | {name: getattr(thing, name) for name in slots if hasattr(thing, name)}


class Trial:
    """Calls on one stage, until it has to be another one."""

    def __init__(self, dialect: ChannelDialect, part: str) -> None:
        self.dialect: Final = dialect
        self.part: Final = part
        self.renew()

    def renew(self) -> None:
        self.stage = talking(self.dialect)
        self.both = self.stage.client, self.stage.server
        self.ours = self.both[self.part in ("server", "served")]
        self.subject: Anything = self.ours if self.part in ("client", "server") else self.ours.channels[0]
        self.opened = self.ours.channels
        self.taken = ""
        self.before = inside(self.ours, set())

    def call(self, name: str, given: Mapping[str, Anything]) -> None:
        refused = self._attempt(name, given)
        if refused:
            assert inside(self.ours, set()) == self.before, f"{self.part}.{name}({given!r:.200}): {refused}"
            return
        self.taken += f"{name}({given!r:.200}) "
        if not self.ours.is_open or self.ours.channels != self.opened or any(each.body_left for each in self.opened):
            self.heard()
        else:
            self.before = inside(self.ours, set())

    def heard(self) -> None:
        """The other side hears what was said, and finds nothing wrong with it."""
        self.stage.run()
        assert self.stage.violations == [], self.taken
        assert not [side for side in self.both if "broke" in (side.closed_cause or "")], self.taken
        self.renew()

    def _attempt(self, name: str, given: Mapping[str, Anything]) -> Exception | None:
        """What was raised."""
        try:
            getattr(self.subject, name)(**given)
        except AmqpError as error:
            return error
        except Exception as error:
            if COMPILED and isinstance(error, TypeError):
                return error
            raise AssertionError(f"{self.part}.{name}({given!r:.200}): {type(error).__name__}: {error}") from error
        return None


def calls(part: str) -> Iterator[tuple[str, list[inspect.Parameter]]]:
    for name, function in inspect.getmembers(PARTS[part], callable):
        if not name.startswith("_") and name not in READS:
            parameters = list(inspect.signature(function).parameters.values())[1:]
            if parameters:
                yield name, parameters


def needed(part: str, name: str, parameters: list[inspect.Parameter]) -> dict[str, Anything]:
    """What is given for the parameters that need something."""
    methods = {
        "send": queue.Purge("q") if part == "channel" else basic.Return(312, "", "x", "k"),
        "reply": queue.DeclareOk("q"),
    }
    found = NEEDED | {"method": methods.get(name)}
    return {each.name: found[each.name] for each in parameters if each.default is inspect.Parameter.empty}


@pytest.mark.parametrize("part", PARTS)
def test_an_odd_argument_is_taken_or_refused(part: str) -> None:
    trial = Trial(AMQP_0_9_1, part)
    for name, parameters in calls(part):
        given = needed(part, name, parameters)
        for parameter in parameters:
            for odd in ODD:
                trial.call(name, given | {parameter.name: odd})
        if name in FROM_OUTSIDE:
            trial.renew()
        else:
            trial.heard()


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize(("part", "checked"), [("channel", CLIENT_SAYS), ("served", SERVER_SAYS)])
def test_an_odd_field_is_taken_or_refused(dialect: ChannelDialect, part: str, checked: Mapping[type[Method], object]) -> None:
    """Of every method that is looked at before it goes out: the others are octets and nothing else."""
    trial = Trial(dialect, part)
    for kind in checked:
        for field in kind.FIELDS:
            for odd in ODD:
                try:
                    method = kind(**{field: odd})
                except AmqpError:
                    continue
                trial.call("send", {"method": method})
        trial.heard()


def test_an_odd_property_is_taken_or_refused() -> None:
    trial = Trial(AMQP_0_9_1, "channel")
    for field in basic.Properties.FIELDS:
        for odd in ODD:
            try:
                properties = basic.Properties(**{field: odd})
            except AmqpError:
                continue
            trial.call("publish", {"properties": properties})
    trial.heard()
