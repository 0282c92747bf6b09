"""What each command of a session needs to be allowed to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.harness import Client, World, blurt, bodies, done, front
from tests.broker.people import SERVER, may, person, session

from amqp_sansio import ClientConfig, Session
from amqp_sansio.broker import Broker, BrokerConfig, Kind, Rule, Rules, Verb, decode_snapshot, encode_snapshot
from amqp_sansio.broker.access import LEGAL
from amqp_sansio.broker.fronts.sessions.commands import BRANCHES, COMMANDS, WANTS
from amqp_sansio.events import ConnectionClosed, ExceptionReceived, ResultReceived, TransferReceived
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import dtx, exchange, file, message, queue, stream, tx
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.wire.layouts.layout import encode_headers

Q, E, H, K = Kind.QUEUE, Kind.EXCHANGE, Kind.HOST, Kind.KEY
V = Verb
Grant: TypeAlias = tuple[Verb, Kind, str]
XID: Final = Xid(1, b"alice's", b"")


def publish(where: str, key: str) -> Callable[[Session], object]:
    return lambda session: session.publish(where, routing_key=key, body=b"from bob")


def say(command: Command) -> Callable[[Session], object]:
    header = encode_headers([stream.StreamProperties()]) if type(command) is stream.Publish else None
    return lambda session: blurt(session, command, header=header)


CASES: Final[dict[str, tuple[tuple[Grant, ...], Callable[[str, str], Callable[[Session], object]]]]] = {
    "create queue": (((V.CREATE, Q, "new"),), lambda q, e: say(queue.Declare("new"))),
    "create queue that is there": (((V.CREATE, Q, "q"),), lambda q, e: say(queue.Declare(q, durable=True))),
    "create queue with alternate": (
        ((V.CREATE, Q, "new"), (V.PUBLISH, E, "e")), lambda q, e: say(queue.Declare("new", alternate_exchange=e)),
    ),
    "create queue with alternate, by key": (
        ((V.CREATE, Q, "new"), (V.PUBLISH, K, "*")), lambda q, e: say(queue.Declare("new", alternate_exchange=e)),
    ),
    "query queue by declare": (((V.QUERY, Q, "q"),), lambda q, e: say(queue.Declare(q, passive=True))),
    "query queue": (((V.QUERY, Q, "q"),), lambda q, e: say(queue.Query(q))),
    "delete queue": (((V.DELETE, Q, "q"),), lambda q, e: say(queue.Delete(q))),
    "purge queue": (((V.PURGE, Q, "q"),), lambda q, e: say(queue.Purge(q))),
    "create exchange": (((V.CREATE, E, "new"),), lambda q, e: say(exchange.Declare("new", "fanout"))),
    "create exchange with alternate": (
        ((V.CREATE, E, "new"), (V.PUBLISH, E, "e")), lambda q, e: say(exchange.Declare("new", "fanout", e)),
    ),
    "query exchange by declare": (((V.QUERY, E, "e"),), lambda q, e: say(exchange.Declare(e, "direct", passive=True))),
    "query exchange": (((V.QUERY, E, "e"),), lambda q, e: say(exchange.Query(e))),
    "delete exchange": (((V.DELETE, E, "e"),), lambda q, e: say(exchange.Delete(e))),
    "bind": (((V.BIND, Q, "q"), (V.BIND, E, "e")), lambda q, e: say(exchange.Bind(q, e, "new"))),
    "bind by key": (((V.BIND, Q, "q"), (V.BIND, K, "new")), lambda q, e: say(exchange.Bind(q, e, "new"))),
    "unbind": (((V.UNBIND, Q, "q"), (V.UNBIND, E, "e")), lambda q, e: say(exchange.Unbind(q, e, "old"))),
    "unbind by key": (((V.UNBIND, Q, "q"), (V.UNBIND, K, "old")), lambda q, e: say(exchange.Unbind(q, e, "old"))),
    "bound": (((V.QUERY, E, "e"), (V.QUERY, Q, "q")), lambda q, e: say(exchange.Bound(e, q))),
    "publish to exchange": (((V.PUBLISH, E, "e"),), lambda q, e: publish(e, "old")),
    "publish by key": (((V.PUBLISH, K, "o*"),), lambda q, e: publish(e, "old")),
    "publish to queue": (((V.PUBLISH, Q, "q"),), lambda q, e: publish("", q)),
    "consume": (((V.CONSUME, Q, "q"),), lambda q, e: say(message.Subscribe(q, "d", 0, 0))),
    "browse": (((V.BROWSE, Q, "q"),), lambda q, e: say(message.Subscribe(q, "d", 0, 1))),
    "browse alone": (((V.CONSUME, Q, "q"),), lambda q, e: say(message.Subscribe(q, "d", 0, 1, exclusive=True))),
}  # fmt: skip
"""What must be allowed, and what is said then about a queue and an exchange."""
ELSEWHERE: Final[dict[str, tuple[Grant, Command]]] = {
    "file.consume": ((V.CONSUME, Q, "q"), file.Consume("q", "tag")),
    "file.publish": ((V.PUBLISH, E, "e"), file.Publish("e", "k")),
    "stream.consume": ((V.CONSUME, Q, "q"), stream.Consume("q", "tag")),
    "stream.publish": ((V.PUBLISH, Q, "q"), stream.Publish("", "q")),
}


def rules(grants: tuple[Grant, ...]) -> list[Rule]:
    return [Rule(allow=True, who="bob", verbs=[verb], kind=kind, pattern=pattern) for verb, kind, pattern in grants]


def stage(grants: tuple[Grant, ...], *, there: bool = True) -> tuple[World, Client, Session]:
    """Alice's queue with a message and a binding, her exchange; and Bob with his rights."""
    world = World()
    client, alice = session(world, "alice")
    if there:
        done(client, alice, exchange.Declare("e", "direct", durable=True))
        done(client, alice, queue.Declare("q", durable=True))
        done(client, alice, exchange.Bind("q", "e", "old"))
        alice.publish(routing_key="q", body=b"alice's")
        world.run()
    may(world, rules(grants))
    return (world, *session(world, "bob"))


def state(world: World) -> dict[str, object]:
    host = world.broker.host()
    return {
        "queues": {
            name: (
                [entry.message.body for entry in each.all()],
                each.available,
                each.subscribers,
                sorted(each.bindings, key=str),
            )
            for name, each in host.queues.items()
        },
        "exchanges": sorted(host.exchanges),
        "branches": {key: branch.phase for key, branch in world.broker.coordinator().branches.items()},
    }


def answer(client: Client, session: Session, said: Callable[[Session], object]) -> ExceptionReceived | None:
    client.events.clear()
    said(session)
    client.world.run()
    exceptions = client.all(ExceptionReceived)
    return exceptions[0] if exceptions else None


@pytest.mark.parametrize("name", CASES)
def test_with_all_that_it_needs_a_command_is_done(name: str) -> None:
    grants, said = CASES[name]
    _, client, bob = stage(grants)
    assert answer(client, bob, said("q", "e")) is None


@pytest.mark.parametrize(("name", "lacking"), [(name, grant) for name, (grants, _) in CASES.items() for grant in grants])
def test_without_one_of_them_it_is_refused_and_nothing_changes(name: str, lacking: Grant) -> None:
    grants, said = CASES[name]
    world, client, bob = stage(tuple([each for each in grants if each != lacking]))
    before = state(world)
    refused = answer(client, bob, said("q", "e"))
    assert refused is not None
    assert refused.error_code == 403
    verb, kind, thing = lacking
    assert refused.description.startswith(f"'bob' may not {verb} ")
    if kind is not Kind.KEY:
        assert refused.description.startswith(f"'bob' may not {verb} {kind} {thing!r}")
    assert state(world) == before


@pytest.mark.parametrize("name", CASES)
def test_a_refusal_is_the_same_where_nothing_exists(name: str) -> None:
    _, said = CASES[name]
    there, nowhere = [
        answer(client, bob, said("q", "e")) for _, client, bob in (stage(()), stage((), there=False))
    ]  # fmt: skip
    assert there is not None
    assert nowhere is not None
    assert (there.error_code, there.description, there.field_index) == (
        nowhere.error_code,
        nowhere.description,
        nowhere.field_index,
    )


@pytest.mark.parametrize("name", ELSEWHERE)
def test_classes_that_the_broker_does_not_have_are_refused_alike(name: str) -> None:
    grant, command = ELSEWHERE[name]
    for grants, code in (((), 403), ((grant,), 540)):
        _, client, bob = stage(grants)
        refused = answer(client, bob, say(command))
        assert refused is not None
        assert refused.error_code == code


@pytest.mark.parametrize("name", CASES)
def test_without_rules_everybody_may_do_everything(name: str) -> None:
    world, client, bob = stage(())
    world.broker.set_access(None)
    assert answer(client, bob, CASES[name][1]("q", "e")) is None


def test_every_command_has_its_requests_or_touches_only_what_is_its_own() -> None:
    own = {
        message.Cancel, message.Flow, message.SetFlowMode, message.Flush, message.Stop, message.Accept, message.Reject,
        message.Release, message.Resume, tx.Select, tx.Commit, tx.Rollback, dtx.Select, dtx.Recover,
    }  # fmt: skip
    assert own | WANTS.keys() | BRANCHES == COMMANDS.keys() | {file.Consume, file.Publish, stream.Consume, stream.Publish}


def test_a_user_with_only_the_right_to_browse_acquires_nothing() -> None:
    for grants, refused in ((((V.BROWSE, Q, "q"),), True), (((V.BROWSE, Q, "q"), (V.CONSUME, Q, "q")), False)):
        world, client, bob = stage(grants)
        client.events.clear()
        for said in (message.Subscribe("q", "d", 0, 1), message.Flow("d", 0, 10), message.Flow("d", 1, 1000)):
            bob.send(said)
        world.run()
        (shown,) = client.all(TransferReceived)
        exception = answer(client, bob, say(message.Acquire(RangeSet.of(shown.id))))
        assert (exception is not None) is refused
        assert world.broker.host().queues["q"].available == (1 if refused else 0)


@pytest.mark.rule("connection.open.virtual-host.security")
def test_a_virtual_host_that_is_kept_from_somebody_is_as_one_that_does_not_exist() -> None:
    world = World()
    world.broker.set_access(Rules([Rule(allow=True, who="bob", verbs=[V.OPEN], kind=H, pattern="his")]))
    assert person(world, "bob", "his").connection.is_open
    (kept,) = person(world, "bob", "hers").all(ConnectionClosed)
    assert (kept.code, kept.text) == (402, "no such virtual host")
    assert not world.broker.peers or "hers" not in world.broker._hosts


def test_a_subscription_without_a_right_ends_with_the_reason_when_the_rules_change() -> None:
    world, client, bob = stage(((V.CONSUME, Q, "q"), (V.BROWSE, Q, "q")))
    done(client, bob, message.Subscribe("q", "d", 0, 0))
    other = person(world, "bob")
    browser = other.session(b"browsing")
    done(other, browser, message.Subscribe("q", "d", 0, 1))
    may(world, rules(((V.BROWSE, Q, "q"),)))
    world.run()
    (told,) = client.all(ExceptionReceived)
    assert (told.error_code, told.description) == (403, "'bob' may not consume queue 'q'")
    assert browser.state == "attached"
    assert world.broker.host().queues["q"].subscribers == 1
    world.broker.set_access(Rules())
    world.run()
    assert world.broker.host().queues["q"].subscribers == 0
    world.broker.set_access(None)
    assert answer(other, other.session(b"again"), say(queue.Purge("q"))) is None


# --- branches -------------------------------------------------------------------------------------------------------------


def prepared(world: World) -> None:
    """Alice has prepared a branch that publishes to her queue."""
    client, alice = session(world, "alice")
    do(client, alice, dtx.Select(), dtx.Start(XID))
    alice.publish(routing_key="q", body=b"in doubt")
    world.run()
    do(client, alice, dtx.End(XID), dtx.Prepare(XID))


def do(client: Client, session: Session, *commands: Command) -> None:
    for command in commands:
        done(client, session, command)


NAMING: Final = (
    dtx.Start(XID, join=True), dtx.Start(XID, resume=True), dtx.End(XID), dtx.Prepare(XID), dtx.Commit(XID), dtx.Rollback(XID),
    dtx.Forget(XID), dtx.GetTimeout(XID), dtx.SetTimeout(XID, 5),
)  # fmt: skip


@pytest.mark.parametrize("command", NAMING, ids=lambda each: each.VERB)
def test_a_branch_belongs_to_the_identity_that_began_it(command: Command) -> None:
    answers = []
    for there in (True, False):
        world, client, bob = stage(())
        if there:
            prepared(world)
        before = state(world)
        done(client, bob, dtx.Select())
        answers.append(answer(client, bob, say(command)))
        assert state(world) == before
    first, second = answers
    assert first is not None
    assert second is not None
    assert first.description == second.description, "whether there is such a branch is nobody else's business"
    if type(command) is dtx.End:  # the engine knows already that this session works on no branch
        assert first.error_code == 409
        return
    assert first.error_code == 403
    assert first.description.startswith("'bob' may not manage branch ")


def test_to_begin_a_branch_of_that_name_is_refused() -> None:
    world, client, bob = stage(())
    prepared(world)
    done(client, bob, dtx.Select())
    refused = answer(client, bob, say(dtx.Start(XID)))
    assert refused is not None
    assert refused.error_code == 403


def test_recover_names_ones_own_and_a_rule_says_otherwise() -> None:
    world, client, bob = stage(())
    prepared(world)
    done(client, bob, dtx.Select())
    assert done(client, bob, dtx.Recover()) == dtx.RecoverResult(())
    another, alice = session(world, "alice")
    done(another, alice, dtx.Select())
    assert done(another, alice, dtx.Recover()) == dtx.RecoverResult((XID,))
    may(world, rules(((V.MANAGE, H, "*"),)))
    assert done(client, bob, dtx.Recover()) == dtx.RecoverResult((XID,))
    done(client, bob, dtx.Commit(XID))
    assert [entry.message.body for entry in world.broker.host().queues["q"].all()] == [b"alice's", b"in doubt"]


def test_whose_a_branch_is_outlives_the_broker() -> None:
    world, _, _ = stage(())
    prepared(world)
    (kept,) = Broker.restore(decode_snapshot(encode_snapshot(world.broker.snapshot()))).coordinator().doubtful
    assert kept.identity == "alice"


def test_a_kept_session_has_no_subscription_that_rules_keep_from_it_behind_a_restart() -> None:
    world, _, _ = stage(((V.CONSUME, Q, "q"),))
    bob = ClientConfig(username="bob", password="x", insecure_plain=True)
    keeper = world.connect(bob, attrs.evolve(SERVER, session_timeout=60))
    done(keeper, keeper.session(b"kept", 60), message.Subscribe("q", "d", 0, 0))
    keeper.cut()
    restored = Broker.restore(world.broker.snapshot(), config=BrokerConfig(access=Rules()))
    (holder,) = [each for each in front(restored).sessions.values() if each.session.name == b"kept"]
    assert holder.failing is not None
    assert holder.failing[1:3] == (403, "'bob' may not consume queue 'q'")


# --- the property ---------------------------------------------------------------------------------------------------------

QUEUES: Final = st.sampled_from(["alice.q", "bob.q"])
EXCHANGES: Final = st.sampled_from(["alice.x", "alice.x", "bob.x", "amq.topic", ""])
KEYS: Final = st.sampled_from(["alice.q", "bob.q", "k"])
IDS: Final = st.sampled_from([RangeSet.of(0), RangeSet.of(0, 1, 2, 3)])
OF_BOB: Final[st.SearchStrategy[Command]] = st.one_of(
    st.builds(queue.Declare, QUEUES, st.sampled_from([None, "alice.x", "bob.x"])),
    st.builds(queue.Declare, QUEUES, passive=st.just(True)),
    st.builds(queue.Delete, QUEUES), st.builds(queue.Purge, QUEUES), st.builds(queue.Query, QUEUES),
    st.builds(exchange.Declare, st.sampled_from(["alice.x", "bob.x"]), st.just("fanout"), st.sampled_from([None, "alice.x"])),
    st.builds(exchange.Delete, EXCHANGES), st.builds(exchange.Query, EXCHANGES),
    st.builds(exchange.Bind, QUEUES, EXCHANGES, KEYS), st.builds(exchange.Unbind, QUEUES, EXCHANGES, KEYS),
    st.builds(exchange.Bound, EXCHANGES, QUEUES),
    st.builds(message.Subscribe, QUEUES, st.just("d"), st.sampled_from([0, 1]), st.sampled_from([0, 1])),
    st.builds(message.Flow, st.just("d"), st.sampled_from([0, 1]), st.just(1000)),
    st.builds(message.Acquire, IDS), st.builds(message.Reject, IDS), st.builds(message.Release, IDS),
    st.builds(message.Accept, IDS),
    st.sampled_from([tx.Select(), tx.Commit(), tx.Rollback(), dtx.Select(), dtx.Recover(), dtx.Start(XID), *NAMING]),
)  # fmt: skip


class Publish:
    """A publish of Bob's."""

    def __init__(self, where: str, key: str) -> None:
        self.where, self.key = where, key

    def __repr__(self) -> str:
        return f"Publish({self.where!r}, {self.key!r})"


@given(st.lists(OF_BOB | st.builds(Publish, EXCHANGES, KEYS), max_size=14))
def test_no_sequence_of_commands_by_bob_changes_or_reads_what_is_kept_for_alice(said: list[Any]) -> None:
    """The rules keep alice.*; Bob has bob.*, and may publish to, and bind to, the predeclared exchanges."""
    world = World()
    hers, alice = session(world, "alice")
    do(
        hers, alice, exchange.Declare("alice.x", "fanout"), queue.Declare("alice.q"),
        exchange.Bind("alice.q", "alice.x", "k"), dtx.Select(), dtx.Start(XID),
    )  # fmt: skip
    alice.publish(routing_key="alice.q", body=b"of alice, in doubt")
    world.run()
    do(hers, alice, dtx.End(XID), dtx.Prepare(XID))
    alice.publish("alice.x", routing_key="k", body=b"of alice")
    world.run()
    mine = [Rule(allow=True, who="bob", kind=kind, pattern="bob.*") for kind in (Q, E)]
    may(world, [*mine, Rule(allow=True, who="bob", verbs=[V.PUBLISH, V.BIND, V.QUERY], kind=E, pattern="amq.*")])
    before = kept(world)
    client = person(world, "bob")
    bob = ready(client, b"first")
    published = 1
    for number, each in enumerate(said):
        if bob.state != "attached":
            bob = ready(client, str(number).encode())
        try:
            if isinstance(each, Publish):
                bob.publish(each.where, routing_key=each.key, body=b"of bob")
            else:
                blurt(bob, each)
        except Exception:  # what the engine does not let him say
            continue
        alice.publish("alice.x", routing_key="k", body=b"of alice")
        published += 1
        world.run()
        assert world.broker.host().queues["alice.q"].available == published
        assert [entry.message.body for entry in world.broker.host().queues["alice.q"].all()] == [b"of alice"] * published
    assert {**kept(world), "available": 0} == {**before, "available": 0}
    assert not [body for body in bodies(client) if body != b"of bob"]
    assert not [event for event in client.all(ResultReceived) if "alice" in repr(event)]


def ready(client: Client, name: bytes) -> Session:
    """A session of Bob's with a queue to which he subscribes."""
    bob = client.session(name)
    for said in (
        queue.Declare("bob.q"), message.Subscribe("bob.q", "in", 1, 0), message.Flow("in", 0, 100), message.Flow("in", 1, 9999),
    ):  # fmt: skip
        bob.send(said)
    client.world.run()
    return bob


def kept(world: World) -> dict[str, Any]:
    host, hers = world.broker.host(), world.broker.host().queues["alice.q"]
    (branch,) = [each for key, each in world.broker.coordinator().branches.items() if key[1] == XID.global_id]
    return {
        "available": hers.available,
        "subscribers": hers.subscribers,
        "bindings": [(each.name, key) for each, key in hers.bindings],
        "exchange": [each.name for each in (host.exchanges["alice.x"],)],
        "bound": [name for name, each in host.queues.items() if any(of.name == "alice.x" for of, _ in each.bindings)],
        "branch": (branch.phase, len(branch.work.published), branch.timeout),
    }


def test_every_verb_is_tried_on_every_kind_to_which_it_can_be_done() -> None:
    tried = {(verb, kind) for grants, _ in CASES.values() for verb, kind, _ in grants}
    tried |= {(V.OPEN, H), (V.MANAGE, H)}  # in tests of their own
    assert tried == {(verb, kind) for kind, verbs in LEGAL.items() for verb in verbs}
