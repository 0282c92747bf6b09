"""Every cell of the tables of sessions, branches and refusals (6.1, 6.3 and 7.2 of the model), said by clients in octets.

What a session may not say (6.1) is refused first; what is wrong with the branch (6.3) or the model (7.2) comes after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs
import pytest
from tests.broker.harness import Client, World, blurt, done, front
from tests.broker.test_conditions import ROWS
from tests.engine import test_demarcation as sessions
from tests.tables.branch_cells import EXPECTED, Expected

from amqp_sansio import ClientConfig, Session
from amqp_sansio.broker.conditions import CONDITIONS
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.fronts.sessions.error_column import COLUMNS
from amqp_sansio.broker.transactions import standing
from amqp_sansio.config import ErrorCodes
from amqp_sansio.engine.demarcation import demarcation_of
from amqp_sansio.events import CommandsCompleted, ExceptionReceived, ResultReceived
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS
from amqp_sansio.spec import dtx, exchange, message, queue
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import XaResult, Xid
from amqp_sansio.spec.message import DeliveryProperties, FragmentProperties, MessageProperties
from amqp_sansio.spec.values import Map
from amqp_sansio.spec.xids import key_of
from amqp_sansio.tables import branch as b
from amqp_sansio.tables import demarcation as d
from amqp_sansio.tables.branch import Phase, Relation
from amqp_sansio.wire.layouts.layout import encode_headers

CODES: Final[tuple[ErrorCodes, ...]] = ("qpid", "spec")


def code_of(client: Client, session: Session, command: Command, **content: Any) -> tuple[int | None, list[Any]]:
    """What a command is refused with, None when it is not, and its results."""
    client.events.clear()
    id = blurt(session, command, **content)
    client.world.run()
    refused = client.all(ExceptionReceived)
    if not refused:
        assert any(id in event.ids for event in client.all(CommandsCompleted)), command
        return None, [event.value for event in client.all(ResultReceived) if event.id == id]
    assert session.state == "ended"
    return refused[0].error_code, []


# --- 6.1 ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize(("state", "said", "cell"), sessions.CELLS)
def test_what_a_session_may_say(state: str, said: str, cell: sessions.Cell, codes: ErrorCodes) -> None:
    world = World(BrokerConfig(error_codes=codes))
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    for command in sessions.STATES[state]:
        done(client, session, command)
    other, yours = world.session(b"other")
    if said == "dtx.start join":  # there is something to join
        done(other, yours, dtx.Select())
        done(other, yours, dtx.Start(sessions.Z))
    code, _ = code_of(client, session, sessions.SAID[said])
    expected = cell.spec if codes == "spec" else cell.qpid
    if cell.handed_on:  # the branch is unknown, or suspended by nobody here: the coordinator's word
        expected = 503 if codes == "qpid" else 530
    assert code == expected


def test_every_cell_of_sessions_has_its_answer() -> None:
    """By its state and verb; what memory makes impossible apart."""
    reached: set[tuple[str, str]] = set()
    for state, said, _cell in [each.values for each in sessions.CELLS]:
        _carrier, session = sessions.server_in(str(state), sessions.QPID)
        command = sessions.SAID[str(said)]
        beside = str(state).endswith("accept-mode none")
        verb = d.SUBSCRIBE_NONE if said == "message.subscribe none" else demarcation_of(session).verb(command, beside)
        if verb is not None:
            reached.add((demarcation_of(session).state, verb))
    rows = {(row.state, row.verb) for row in d.DEMARCATION.rows}
    missing = (rows | set(d.FORBIDDEN)) - reached
    # "beside" a subscription with accept-mode none is another name of a select that is refused for another reason already.
    assert {cell for cell in missing if cell[1] != d.TX_SELECT_BESIDE} == set()


# --- 6.3 ------------------------------------------------------------------------------------------------------------------

XID: Final = Xid(1, b"g", b"b")
VERBS: Final[dict[str, Command]] = {
    b.START: dtx.Start(XID),
    b.START_JOIN: dtx.Start(XID, join=True),
    b.START_RESUME: dtx.Start(XID, resume=True),
    b.START_JOIN_RESUME: dtx.Start(XID, True, True),
    b.END: dtx.End(XID),
    b.END_SUSPEND: dtx.End(XID, suspend=True),
    b.END_FAIL: dtx.End(XID, fail=True),
    b.END_SUSPEND_FAIL: dtx.End(XID, True, True),
    b.PREPARE: dtx.Prepare(XID),
    b.PREPARE_NOTHING: dtx.Prepare(XID),
    b.COMMIT: dtx.Commit(XID),
    b.COMMIT_ONE_PHASE: dtx.Commit(XID, True),
    b.ROLLBACK: dtx.Rollback(XID),
    b.FORGET: dtx.Forget(XID),
    b.GET_TIMEOUT: dtx.GetTimeout(XID),
    b.SET_TIMEOUT: dtx.SetTimeout(XID, 3600),
    b.SET_TIMEOUT_TOO_LONG: dtx.SetTimeout(XID, 3601),
}
STATUS: Final = {
    "ok": XaStatus.XA_OK,
    "rb": XaStatus.XA_RBROLLBACK,
    "rbtime": XaStatus.XA_RBTIMEOUT,
    "rdonly": XaStatus.XA_RDONLY,
    "told": XaStatus.XA_HEURMIX,
}


def reach(world: World, state: b.Standing, nothing: bool) -> tuple[Client, Session]:
    """Brings the branch there; the session that has to do with it."""
    me, mine = world.session(b"me")
    done(me, mine, queue.Declare("q"))
    you, yours = world.session(b"you")
    third, theirs = world.session(b"third")
    for client, session in ((me, mine), (you, yours), (third, theirs)):
        done(client, session, dtx.Select())
    world.tick()
    if state.phase is Phase.UNKNOWN:
        return me, mine
    done(you, yours, dtx.Start(XID))
    if not nothing or state.phase in (Phase.PREPARED, Phase.HEURISTIC):
        yours.publish(routing_key="q", body=b"1")
        world.run()
    if state.relation in (Relation.HERE, Relation.SUSPENDED):
        done(me, mine, dtx.Start(XID, join=True))
        if state.relation is Relation.SUSPENDED:
            done(me, mine, dtx.End(XID, suspend=True))
    if state.relation is not Relation.ELSEWHERE:
        done(you, yours, dtx.End(XID))
    if state.phase is Phase.ROLLBACK_ONLY:
        done(third, theirs, dtx.Start(XID, join=True))
        done(third, theirs, dtx.End(XID, fail=True))
    elif state.phase is Phase.TIMED_OUT:
        world.tick()
        world.tick(60)
    elif state.phase in (Phase.PREPARED, Phase.HEURISTIC):
        done(you, yours, dtx.Prepare(XID))
        if state.phase is Phase.HEURISTIC:
            world.broker.coordinator().complete(XID, XaStatus.XA_HEURMIX)
    return me, mine


def first(expected: Expected) -> int | None:
    """What 6.1 says before the branch is looked at."""
    relation, verb = expected.state.relation, expected.verb
    if verb == b.END_SUSPEND_FAIL and relation not in (Relation.HERE, Relation.SUSPENDED):
        return 409  # the session has nothing to do with that branch
    if verb == b.END_SUSPEND and relation is Relation.SUSPENDED:
        return 409  # nor works on it
    return None


@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("expected", EXPECTED, ids=lambda cell: cell.id)
@pytest.mark.rule(
    "dtx.start.already-known", "dtx.start.xid.unknown-xid", "dtx.end.success", "dtx.end.fail.failure", "dtx.end.suspend.resume",
    "dtx.commit.one-phase.one-phase", "dtx.commit.one-phase.two-phase", "dtx.commit.xid.unknown-xid",
    "dtx.forget.xid.unknown-xid", "dtx.get-timeout.xid.unknown-xid", "dtx.prepare.xid.unknown-xid",
    "dtx.rollback.xid.unknown-xid", "dtx.set-timeout.xid.unknown-xid",
)  # fmt: skip
def test_what_a_branch_answers(expected: Expected, codes: ErrorCodes) -> None:
    world = World(BrokerConfig(error_codes=codes))
    client, session = reach(world, expected.state, expected.verb == b.PREPARE_NOTHING)
    branches = world.broker.coordinator().branches
    (holder,) = [each for key, each in front(world.broker).sessions.items() if key[2] == b"me"]
    assert standing(branches.get(key_of(XID)), holder.owner) == expected.state
    code, results = code_of(client, session, VERBS[expected.verb])
    assert code == (first(expected) or (expected.spec if codes == "spec" else expected.qpid))
    if code is None:
        if expected.status:
            assert results == [XaResult(STATUS[expected.status])]
        assert standing(branches.get(key_of(XID)), holder.owner) == expected.next_state
    committed = expected.verb in (b.COMMIT, b.COMMIT_ONE_PHASE) and expected.status == "ok"
    heuristic = expected.state.phase is Phase.HEURISTIC
    assert world.broker.host().queues["q"].messages == (1 if committed or heuristic else 0)


def test_every_cell_of_branches_has_its_answer() -> None:
    assert {(cell.state, cell.verb) for cell in EXPECTED} == set(b.CELLS)
    assert {cell.verb for cell in EXPECTED} == set(VERBS)


# --- 7.2 ------------------------------------------------------------------------------------------------------------------

# How each refusal comes about.  There are: queues shared (a message, bound to x with k, alternate dead), busy (subscribed), of
# another session mine; exchanges dead (the alternate of x and shared) and x; and our subscription d.
REFUSALS: Final[dict[str, Command | Callable[[Client, Session], tuple[int | None, list[Any]]]]] = {
    "any: limit reached": lambda c, s: [code_of(c, s, queue.Declare("n1")), code_of(c, s, queue.Declare("n2"))][1],
    "message.transfer: no such exchange": message.Transfer("nowhere", 1, 0),
    "message.transfer: user-id of somebody else": lambda c, s: code_of(
        c, s, message.Transfer("", 1, 0), header=encode_headers([MessageProperties(user_id=b"you")])
    ),
    "message.transfer: too large, or no room": lambda c, s: [
        code_of(c, s, message.Transfer("", 1, 0), header=encode_headers([DeliveryProperties(routing_key="shared")]))
        for _ in range(3)
    ][-1],
    "message.transfer: header cannot be read": lambda c, s: code_of(
        c, s, message.Transfer("", 1, 0), header=b"\0\0\0\x05\x04\x01\x00\x02\x50"
    ),
    "message.transfer: a fragment": lambda c, s: code_of(
        c, s, message.Transfer("", 1, 0), header=encode_headers([FragmentProperties(first=True)])
    ),
    "message.resume: no such destination": message.Resume("nowhere", "id"),
    "message.subscribe: no such queue": message.Subscribe("nowhere", "e"),
    "message.subscribe: empty name": message.Subscribe("", "e"),
    "message.subscribe: destination in use": message.Subscribe("shared", "d"),
    "message.subscribe: queue in use": message.Subscribe("busy", "e", exclusive=True),
    "message.subscribe: a selector that cannot be read": message.Subscribe(
        "q", "e", arguments=Map({"x-apache-selector": "a ="})
    ),
    "message.subscribe: unknown argument": message.Subscribe("q", "e", arguments=Map({"x-multiqueue": "q"})),
    "message.subscribe: value of an argument": message.Subscribe("q", "e", arguments=Map({"x-priority": "high"})),
    "message.subscribe: queue of another session": message.Subscribe("mine", "e"),
    "message.subscribe: queue deleted": lambda c, s: deleted_under(c, s),
    "message.cancel: no such destination": message.Cancel("nowhere"),
    "message.flow: no such destination": message.Flow("nowhere", 0, 1),
    "message.flush: no such destination": message.Flush("nowhere"),
    "message.stop: no such destination": message.Stop("nowhere"),
    "message.set-flow-mode: no such destination": message.SetFlowMode("nowhere", 0),
    "message.set-flow-mode: credit is left": lambda c, s: [
        code_of(c, s, each) for each in (message.Flow("d", 0, 1), message.SetFlowMode("d", 0))
    ][-1],
    "exchange.declare: reserved name": exchange.Declare("amq.mine", "direct"),
    'exchange.declare: name that begins with "qpid."': exchange.Declare("qpid.mine", "direct"),
    "exchange.declare: empty name": exchange.Declare("", "direct"),
    "exchange.declare: no such type": exchange.Declare("new", "round"),
    "exchange.declare: other type": exchange.Declare("x", "fanout"),
    "exchange.declare: no such alternate": exchange.Declare("new", "topic", "nowhere"),
    "exchange.declare: other alternate": exchange.Declare("x", "direct", "amq.topic"),
    "exchange.declare: no such exchange": exchange.Declare("nowhere", "direct", passive=True),
    "exchange.declare: unknown argument": exchange.Declare("new", "headers", arguments={"odd": "y"}),
    "exchange.declare: unknown argument of one that exists": exchange.Declare("x", "direct", arguments={"odd": "y"}),
    "exchange.delete: no such exchange": exchange.Delete("nowhere"),
    "exchange.delete: empty name": exchange.Delete(""),
    "exchange.delete: in use as alternate": exchange.Delete("dead"),
    "exchange.delete: has bindings": exchange.Delete("x", if_unused=True),
    "exchange.delete: predeclared exchange": exchange.Delete("amq.match"),
    "exchange.bind: no such queue": exchange.Bind("nowhere", "x", "k"),
    "exchange.bind: no such exchange": exchange.Bind("shared", "nowhere", "k"),
    "exchange.bind: empty queue name": exchange.Bind("", "x", "k"),
    "exchange.bind: empty exchange name": exchange.Bind("shared", "", "k"),
    "exchange.bind: queue of another session": exchange.Bind("mine", "x", "k"),
    "exchange.bind: a selector that cannot be read": exchange.Bind(
        "shared", "amq.topic", "k", {"x-filter-jms-selector": "a ="}
    ),
    "exchange.bind: headers without x-match": exchange.Bind("shared", "amq.match", "k", {"n": None}),
    "exchange.bind: value of an argument": exchange.Bind("shared", "amq.fanout", "k", {"x-qpid-no-local": 1}),
    "exchange.bind: unknown argument": exchange.Bind("shared", "amq.fanout", "k", {"odd": 1}),
    "exchange.unbind: no such queue": exchange.Unbind("nowhere", "x", "k"),
    "exchange.unbind: no such exchange": exchange.Unbind("shared", "nowhere", "k"),
    "exchange.unbind: no such binding": exchange.Unbind("shared", "x", "l"),
    "exchange.unbind: empty exchange name": exchange.Unbind("shared", "", "shared"),
    "exchange.unbind: queue of another session": exchange.Unbind("mine", "x", "k"),
    "queue.declare: reserved name": queue.Declare("amq.new"),
    "queue.declare: empty name": queue.Declare(""),
    "queue.declare: name that begins with another character": queue.Declare("-new"),
    "queue.declare: passive, queue of another session": queue.Declare("mine", passive=True),
    "queue.declare: unknown argument of one that exists": queue.Declare("shared", arguments={"odd": 1}),
    "queue.declare: no such alternate": queue.Declare("new", "nowhere"),
    "queue.declare: other alternate": queue.Declare("shared", "amq.topic"),
    "queue.declare: no such queue": queue.Declare("nowhere", passive=True),
    "queue.declare: queue in use": queue.Declare("mine"),
    "queue.declare: unknown argument": queue.Declare("new", arguments={"odd": 1}),
    "queue.declare: value of an argument": queue.Declare("new", arguments={"x-qpid-priorities": 0}),
    "queue.delete: empty name": queue.Delete(""),
    "queue.delete: no such queue": queue.Delete("nowhere"),
    "queue.delete: has consumers": queue.Delete("busy", if_unused=True),
    "queue.delete: has messages": queue.Delete("shared", if_empty=True),
    "queue.delete: queue of another session": queue.Delete("mine"),
    "queue.purge: empty name": queue.Purge(""),
    "queue.purge: no such queue": queue.Purge("nowhere"),
    "queue.purge: queue of another session": queue.Purge("mine"),
}
# Access is not this broker's business, it can join, and why a branch cannot be committed or rolled back always has a name of
# its own: nobody meets these.
NEVER: Final = {
    "any: access denied", "dtx.start: join not supported", "dtx.commit: wrong state", "dtx.rollback: wrong state",
}  # fmt: skip
OF_SESSIONS: Final = {
    "dtx.start: no dtx.select", "dtx.end: no dtx.select", "dtx.end: no branch", "dtx.end: another branch is active",
}  # fmt: skip
"""What the engine refuses before: the cells of 6.1."""


def deleted_under(client: Client, session: Session) -> tuple[int | None, list[Any]]:
    """Another session deletes the queue of our subscription."""
    other = client.world.connect()
    client.events.clear()
    done(other, other.session(b"deletes"), queue.Delete("busy"))
    (told,) = client.all(ExceptionReceived)
    assert told.id is None
    return told.error_code, []


@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("name", REFUSALS)
@pytest.mark.rule(
    "exchange.declare.exchange.reserved-names",
    "exchange.declare.exchange.exchange-name-required",
    "exchange.declare.type.typed",
    "exchange.declare.type.exchange-type-not-found",
    "exchange.declare.alternate-exchange.pre-existing-exchange",
    "exchange.declare.passive.not-found",
    "exchange.declare.arguments.unknown-argument",
    "exchange.delete.exchange.exists",
    "exchange.delete.exchange.exchange-name-required",
    "exchange.delete.exchange.used-as-alternate",
    "exchange.delete.if-unused.exchange-in-use",
    "exchange.bind.queue.empty-queue",
    "exchange.bind.queue.queue-existence",
    "exchange.bind.exchange.exchange-existence",
    "exchange.bind.exchange.exchange-name-required",
    "exchange.bind.arguments.unknown-argument",
    "exchange.unbind.queue.non-existent-queue",
    "exchange.unbind.exchange.non-existent-exchange",
    "exchange.unbind.exchange.exchange-name-required",
    "exchange.unbind.binding-key.non-existent-binding-key",
    "queue.declare.queue.reserved-prefix",
    "queue.declare.alternate-exchange.pre-existing-exchange",
    "queue.declare.alternate-exchange.unknown-exchange",
    "queue.declare.passive.passive",
    "queue.declare.exclusive.in-use",
    "queue.declare.arguments.unknown-argument",
    "queue.delete.queue.empty-name",
    "queue.delete.queue.queue-exists",
    "queue.delete.if-unused.if-unused-flag",
    "queue.delete.if-empty.not-empty",
    "queue.purge.queue.empty-name",
    "queue.purge.queue.queue-exists",
    "message.transfer.destination.nonexistent-exchange",
    "message.subscribe.queue-not-found",
)
def test_why_a_command_is_refused(name: str, codes: ErrorCodes) -> None:
    limits = attrs.evolve(DEFAULT_BROKER_LIMITS, queues=4, queue_messages=3)
    world = World(BrokerConfig(error_codes=codes, limits=limits))
    other, yours = world.session(b"other")
    client = world.connect(ClientConfig())
    session = client.session(b"s")
    done(other, yours, queue.Declare("mine", exclusive=True))
    done(client, session, exchange.Declare("dead", "fanout"))
    done(client, session, exchange.Declare("x", "direct", "dead"))
    done(client, session, queue.Declare("shared", "dead"))
    done(client, session, queue.Declare("busy"))
    done(client, session, exchange.Bind("shared", "x", "k"))
    done(client, session, message.Subscribe("busy", "d"))
    session.publish(routing_key="shared", body=b"1")
    world.run()
    how = REFUSALS[name]
    code, _ = how(client, session) if callable(how) else code_of(client, session, how)
    assert code == (ROWS[name].spec if codes == "spec" else ROWS[name].qpid)
    client.events.clear()
    done(client, client.session(b"again"), queue.Query("shared"))  # the connection lives


def test_a_rule_that_is_carried_is_that_of_a_row_which_is_caused() -> None:
    """One test carries many paths: each is the rule of a condition that is brought about."""
    carried = {path for mark in test_why_a_command_is_refused.pytestmark if mark.name == "rule" for path in mark.args}  # type: ignore[attr-defined]
    assert carried <= {COLUMNS[CONDITIONS[name]].rule for name in REFUSALS}


def test_every_refusal_is_met() -> None:
    """Those of branches by the cells above."""
    refused = [(cell.verb, cell.answer) for cell in b.CELLS.values() if isinstance(cell.answer, b.Fault)]
    faults = {f"dtx.{b.command(verb)}: {fault.name}" for verb, fault in refused}
    assert set(CONDITIONS) - set(REFUSALS) - faults - NEVER == OF_SESSIONS
