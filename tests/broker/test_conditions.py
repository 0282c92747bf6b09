"""Every row of the table of refusals: what brings it about, its codes in both profiles, and that nothing has changed."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import attrs
import pytest
from tests.broker.model.things import Sink, bodies, publish, read, refusal

from amqp_sansio.broker.conditions import CONDITIONS, LIMIT, TRANSFER_NO_EXCHANGE, Refused
from amqp_sansio.broker.fronts.sessions.commands import exchange_result, queue_result
from amqp_sansio.broker.fronts.sessions.error_column import COLUMNS, code_of
from amqp_sansio.broker.model.arguments import read_subscription_arguments
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.subscribers import SESSION, Owner
from amqp_sansio.config import ErrorCodes
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS
from amqp_sansio.spec.codes import ErrorCode
from amqp_sansio.spec.message import FragmentProperties, MessageProperties, Transfer
from amqp_sansio.spec.values import Map
from amqp_sansio.wire.layouts.layout import encode_headers

ME, YOU = Owner(SESSION), Owner(SESSION)
LIMITS = attrs.evolve(DEFAULT_BROKER_LIMITS, queues=6, exchanges=7, queue_messages=3)


class Row(NamedTuple):
    """What the row's codes are, and what brings it about; None: the session or the coordinator does, and not the model."""

    spec: int | None
    qpid: int | None
    cause: Callable[[VirtualHost], object] | None = None


PROFILES: Final[tuple[ErrorCodes, ...]] = ("spec", "qpid")
FACTS: Final[dict[str, object]] = dict.fromkeys(
    (
        "argument", "branch", "count", "destination", "exchange", "fault", "given", "has", "identity", "key", "known", "legal",
        "bindings", "limit", "messages", "name", "prefix", "queue", "subscribers", "type", "user", "value", "verb", "where",
        "why",
    ),
    "text",
)  # fmt: skip
"""Every fact that a template names."""
ROWS: Final[dict[str, Row]] = {
    "any: access denied": Row(403, 403),
    "any: limit reached": Row(506, 506, lambda host: [host.declare_queue(f"q{n}") for n in range(9)]),
    # message
    "message.transfer: no such exchange": Row(404, 404, lambda host: host.destination("nowhere")),
    "message.transfer: user-id of somebody else": Row(
        403,
        403,
        lambda host: read(
            host.intake, Transfer("", 0, 0), encode_headers([MessageProperties(user_id=b"you")]), b"", identity="me"
        ),
    ),
    "message.transfer: too large, or no room": Row(506, 506, lambda host: [publish(host, "", "shared") for _ in range(4)]),
    "message.transfer: header cannot be read": Row(
        503, 503, lambda host: read(host.intake, Transfer("", 0, 0), b"\0\0\0\x05\x04\x01\x00\x02\x50", b"")
    ),
    "message.transfer: a fragment": Row(
        540, 540, lambda host: read(host.intake, Transfer("", 0, 0), encode_headers([FragmentProperties(first=True)]), b"")
    ),
    "message.resume: no such destination": Row(404, 404),
    "message.subscribe: no such queue": Row(404, 404, lambda host: host.subscribe("nowhere", Sink())),
    "message.subscribe: empty name": Row(531, 531, lambda host: host.subscribe("", Sink())),
    "message.subscribe: destination in use": Row(530, 530),
    "message.subscribe: queue in use": Row(405, 405, lambda host: host.subscribe("busy", Sink(exclusive=True))),
    "message.subscribe: a selector that cannot be read": Row(531, 531, None),
    "message.subscribe: unknown argument": Row(
        540, 531, lambda host: read_subscription_arguments(Map({"x-multiqueue": "x"}), host.limits)
    ),
    "message.subscribe: value of an argument": Row(
        540, 542, lambda host: read_subscription_arguments(Map({"x-priority": "x"}), host.limits)
    ),
    "message.subscribe: queue of another session": Row(405, 405, lambda host: host.subscribe("mine", Sink(owner=YOU))),
    "message.subscribe: queue deleted": Row(408, 408),
    "message.cancel: no such destination": Row(404, 404),
    "message.flow: no such destination": Row(404, 404),
    "message.flush: no such destination": Row(404, 404),
    "message.stop: no such destination": Row(404, 404),
    "message.set-flow-mode: no such destination": Row(404, 404),
    "message.set-flow-mode: credit is left": Row(406, None),
    # exchange
    "exchange.declare: reserved name": Row(530, 530, lambda host: host.declare_exchange("amq.mine", "direct")),
    'exchange.declare: name that begins with "qpid."': Row(None, 530, lambda host: host.declare_exchange("qpid.x", "direct")),
    "exchange.declare: empty name": Row(542, 542, lambda host: host.declare_exchange("", "direct")),
    "exchange.declare: no such type": Row(404, 404, lambda host: host.declare_exchange("new", "round")),
    "exchange.declare: other type": Row(530, 530, lambda host: host.declare_exchange("x", "topic")),
    "exchange.declare: no such alternate": Row(404, 404, lambda host: host.declare_exchange("new", "direct", "nowhere")),
    "exchange.declare: other alternate": Row(530, 530, lambda host: host.declare_exchange("x", "direct", "amq.direct")),
    "exchange.declare: no such exchange": Row(404, 404, lambda host: host.declare_exchange("nowhere", passive=True)),
    "exchange.declare: unknown argument": Row(
        540, 531, lambda host: host.declare_exchange("new", "direct", arguments={"a": 1})
    ),
    "exchange.declare: unknown argument of one that exists": Row(
        540, None, lambda host: host.declare_exchange("x", "direct", arguments={"a": 1})
    ),
    "exchange.delete: no such exchange": Row(404, 404, lambda host: host.delete_exchange("nowhere")),
    "exchange.delete: empty name": Row(542, 542, lambda host: host.delete_exchange("")),
    "exchange.delete: in use as alternate": Row(530, 530, lambda host: host.delete_exchange("dead")),
    "exchange.delete: has bindings": Row(406, 406, lambda host: host.delete_exchange("x", if_unused=True)),
    "exchange.delete: predeclared exchange": Row(530, 530, lambda host: host.delete_exchange("amq.direct")),
    "exchange.bind: no such queue": Row(404, 404, lambda host: host.bind("nowhere", "x")),
    "exchange.bind: no such exchange": Row(404, 404, lambda host: host.bind("shared", "nowhere")),
    "exchange.bind: empty queue name": Row(542, 404, lambda host: host.bind("", "x")),
    "exchange.bind: empty exchange name": Row(542, 542, lambda host: host.bind("shared", "")),
    "exchange.bind: queue of another session": Row(405, 405, lambda host: host.bind("mine", "x", owner=YOU)),
    "exchange.bind: a selector that cannot be read": Row(
        531, 531, lambda host: host.bind("shared", "amq.topic", "k", {"x-filter-jms-selector": "a ="})
    ),
    "exchange.bind: headers without x-match": Row(541, 541, lambda host: host.bind("shared", "amq.match", "k", {"a": 1})),
    "exchange.bind: value of an argument": Row(
        540, 542, lambda host: host.bind("shared", "x", "new", {"x-qpid-no-local": "perhaps"})
    ),
    "exchange.bind: unknown argument": Row(540, 531, lambda host: host.bind("shared", "x", "new", {"a": 1})),
    "exchange.unbind: no such queue": Row(404, 404, lambda host: host.unbind("nowhere", "x", "k")),
    "exchange.unbind: no such exchange": Row(404, 404, lambda host: host.unbind("shared", "nowhere", "k")),
    "exchange.unbind: no such binding": Row(404, 404, lambda host: host.unbind("shared", "x", "other")),
    "exchange.unbind: empty exchange name": Row(542, 542, lambda host: host.unbind("shared", "", "shared")),
    "exchange.unbind: queue of another session": Row(405, 405, lambda host: host.unbind("mine", "x", "k", owner=YOU)),
    # queue
    "queue.declare: reserved name": Row(530, None, lambda host: host.declare_queue("amq.mine")),
    "queue.declare: empty name": Row(531, 531, lambda host: host.declare_queue("")),
    "queue.declare: name that begins with another character": Row(531, None, lambda host: host.declare_queue("-new")),
    "queue.declare: no such alternate": Row(404, 404, lambda host: host.declare_queue("new", "nowhere")),
    "queue.declare: other alternate": Row(530, None, lambda host: host.declare_queue("shared", "amq.direct")),
    "queue.declare: no such queue": Row(404, 404, lambda host: host.declare_queue("nowhere", passive=True)),
    "queue.declare: queue in use": Row(405, 405, lambda host: host.declare_queue("mine", exclusive=True, owner=YOU)),
    "queue.declare: unknown argument": Row(540, 531, lambda host: host.declare_queue("new", arguments={"a": 1})),
    "queue.declare: value of an argument": Row(
        540, 542, lambda host: host.declare_queue("new", arguments={"qpid.priorities": 11})
    ),
    "queue.declare: passive, queue of another session": Row(
        405, None, lambda host: host.declare_queue("mine", passive=True, owner=YOU)
    ),
    "queue.declare: unknown argument of one that exists": Row(
        540, None, lambda host: host.declare_queue("shared", arguments={"a": 1})
    ),
    "queue.delete: empty name": Row(542, 542, lambda host: host.delete_queue("")),
    "queue.delete: no such queue": Row(404, 404, lambda host: host.delete_queue("nowhere")),
    "queue.delete: has consumers": Row(406, 406, lambda host: host.delete_queue("busy", if_unused=True)),
    "queue.delete: has messages": Row(406, 406, lambda host: host.delete_queue("shared", if_empty=True)),
    "queue.delete: queue of another session": Row(405, 405, lambda host: host.delete_queue("mine", owner=YOU)),
    "queue.purge: empty name": Row(542, 531, lambda host: host.purge("")),
    "queue.purge: no such queue": Row(404, 404, lambda host: host.purge("nowhere")),
    "queue.purge: queue of another session": Row(405, 405, lambda host: host.purge("mine", owner=YOU)),
    # dtx: the coordinator's
    "dtx.start: no dtx.select": Row(409, 503),
    "dtx.start: session has a branch": Row(409, 409),
    "dtx.start: branch is known": Row(530, 530),
    "dtx.start: join and resume": Row(530, 503),
    "dtx.start: join of an unknown branch": Row(530, 404),
    "dtx.start: resume of an unknown branch": Row(530, 503),
    "dtx.start: not suspended here": Row(409, 503),
    "dtx.start: join of a prepared branch": Row(409, 503),
    "dtx.start: join of a decided branch": Row(530, 530),
    "dtx.start: join not supported": Row(540, 540),
    "dtx.end: no dtx.select": Row(409, 503),
    "dtx.end: no branch": Row(409, 409),
    "dtx.end: not associated": Row(409, 409),
    "dtx.end: another branch is active": Row(409, 503),
    "dtx.end: suspended already": Row(409, 409),
    "dtx.end: suspend and fail": Row(530, 503),
    "dtx.prepare: wrong state": Row(409, 409),
    "dtx.prepare: unknown branch": Row(404, 404),
    "dtx.prepare: still associated": Row(409, 409),
    "dtx.commit: wrong state": Row(409, 409),
    "dtx.commit: unknown branch": Row(404, 404),
    "dtx.commit: still associated": Row(409, 409),
    "dtx.commit: prepared, one phase": Row(409, 409),
    "dtx.commit: not prepared, two phases": Row(409, 409),
    "dtx.rollback: wrong state": Row(409, 409),
    "dtx.rollback: unknown branch": Row(404, 404),
    "dtx.rollback: still associated": Row(409, 409),
    "dtx.forget: wrong state": Row(409, 409),
    "dtx.forget: unknown branch": Row(404, 404),
    "dtx.forget: still associated": Row(409, 409),
    "dtx.get-timeout: unknown branch": Row(404, 404),
    "dtx.set-timeout: unknown branch": Row(404, 404),
    "dtx.set-timeout: too long": Row(542, 542),
}


def stage(error_codes: ErrorCodes) -> VirtualHost:
    """Queues shared (with a message), mine (exclusive to ME), busy (with a subscriber); exchange x, with the alternate dead."""
    host = VirtualHost("h", limits=LIMITS, error_codes=error_codes)
    host.declare_exchange("dead", "fanout")
    host.declare_exchange("x", "direct", "dead")
    host.declare_queue("shared", "dead")
    host.declare_queue("mine", exclusive=True, owner=ME)
    host.declare_queue("busy")
    host.bind("shared", "x", "k")
    host.subscribe("busy", Sink())
    publish(host, "", "shared")
    return host


def seen(host: VirtualHost) -> list[Any]:
    """Everything about a host that a refused command could have changed."""
    return [
        [exchange_result(host, name) for name in ("dead", "x", "new")],
        sorted(host.exchanges),
        [(name, queue_result(host, name), bodies(queue)) for name, queue in host.queues.items()],
        [sorted(key for _, key in queue.bindings) for queue in host.queues.values()],
        (host.messages, host.octets, host.bindings, host.argument_octets),
        [exchange.alternates for exchange in host.exchanges.values()],
    ]


@pytest.mark.parametrize("error_codes", ["spec", "qpid"])
@pytest.mark.parametrize("name", ROWS)
def test_a_row(name: str, error_codes: ErrorCodes) -> None:
    row, condition = ROWS[name], CONDITIONS[name]
    expected = row.spec if error_codes == "spec" else row.qpid
    assert COLUMNS[condition].code(error_codes) == expected
    assert condition.counts(error_codes) == (expected is not None)
    if row.cause is None:
        assert expected is None or code_of(Refused(condition, **FACTS), error_codes) == expected
        return
    host = stage(error_codes)
    before = None if "limit" in name or "room" in name else seen(host)
    if expected is None:
        row.cause(host)
        return
    refused = refusal(row.cause, host)
    assert refused.condition is condition
    assert code_of(refused, error_codes) == expected
    assert refused.text
    assert before in (None, seen(host))


def test_every_row_is_here() -> None:
    assert set(ROWS) == set(CONDITIONS)


def test_the_text_is_made_of_facts_by_the_template_and_another_family_may_have_its_own() -> None:
    refused = Refused(TRANSFER_NO_EXCHANGE, exchange="x {y}", legal="the others")
    assert refused.text == "there is no exchange 'x {y}'; legal: the others"
    assert str(refused) == f"message.transfer: no such exchange: {refused.text}"
    assert "NOT_FOUND - no exchange '{exchange}'".format_map(refused.facts) == "NOT_FOUND - no exchange 'x {y}'"


def test_a_refusal_is_a_value() -> None:
    refused = Refused(LIMIT, limit="queues", value=1, why="there would be 2")
    again = pickle.loads(pickle.dumps(refused))
    assert (again.condition, again.text, str(again)) == (LIMIT, "limit queues is 1; there would be 2", str(refused))
    assert again.facts == refused.facts
    assert (code_of(refused, "spec"), code_of(refused, "qpid")) == (ErrorCode.RESOURCE_LIMIT_EXCEEDED,) * 2


def test_a_refusal_that_the_profile_does_not_know_has_the_code_of_the_other() -> None:
    for name, row in ROWS.items():
        if None in (row.spec, row.qpid):
            refused = Refused(CONDITIONS[name], **FACTS)
            assert {code_of(refused, "spec"), code_of(refused, "qpid")} == {row.spec or row.qpid}
