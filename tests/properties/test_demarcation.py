"""Transactions through delays, answers of all kinds, losses and resumptions."""

from __future__ import annotations

from collections import Counter
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.carriers import BareCarrier, Wire, attached_session
from tests.conformance.rules.peers import OPENING, octets

from amqp_sansio.config import Profile
from amqp_sansio.engine.demarcation import demarcation_of
from amqp_sansio.engine.observer import Observer
from amqp_sansio.engine.session import Session
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.events import (
    BranchAnswered,
    BranchesRecovered,
    BranchTimeout,
    CommandReceived,
    Event,
    Origin,
    SessionDetached,
    TransactionEnded,
    Violation,
)
from amqp_sansio.spec import dtx, message, tx
from amqp_sansio.spec.base import Command

XIDS: Final = [dtx.Xid(0, name, b"") for name in (b"x", b"y", b"z")]
SELECTS: Final[list[Command]] = [tx.Select(), dtx.Select(), dtx.Select(), dtx.Select()]
COMMANDS: Final[list[Command]] = [
    tx.Commit(), tx.Rollback(), message.Subscribe("q", "n", 1, 0), message.Cancel("n"), dtx.Recover(), dtx.Select(),
    *[dtx.Start(xid, join, resume) for xid in XIDS for join, resume in ((False, False), (True, False), (False, True))],
    *[dtx.End(xid, fail, suspend) for xid in XIDS for fail, suspend in ((False, False), (True, False), (False, True))],
    dtx.Prepare(XIDS[0]), dtx.Commit(XIDS[0]), dtx.Rollback(XIDS[1]), dtx.Forget(XIDS[0]), dtx.GetTimeout(XIDS[0]),
    dtx.SetTimeout(XIDS[0], 5),
]  # fmt: skip
ANY: Final[list[Command]] = [*COMMANDS, tx.Select(), dtx.Start(XIDS[0], True, True), dtx.End(XIDS[0], True, True), dtx.Start()]
OUTCOMES: Final = (TransactionEnded, BranchAnswered, BranchesRecovered, BranchTimeout)

BRANCH: Final[list[Command]] = [command for command in COMMANDS if isinstance(command, dtx.Start | dtx.End)]
SAY = st.tuples(st.just("say"), st.sampled_from(COMMANDS) | st.sampled_from(BRANCH))
SOME = st.none() | st.integers(0, 200)
MOVE = st.tuples(st.just("move"), st.tuples(SOME, SOME))
ANSWER = st.tuples(st.just("answer"), st.sampled_from([0, 1, 2]))
CUT = st.tuples(st.just("cut"), st.integers(0, 100))
SPEC, QPID = Profile(error_codes="spec"), Profile(error_codes="qpid")


class Application:
    """Who embeds the server: answers the commands that it was handed, oldest first."""

    def __init__(self, session: Session, carrier: BareCarrier) -> None:
        self.session = session
        self.carrier = carrier
        self.waiting: list[CommandReceived] = []

    def hear(self) -> None:
        self.waiting += [event for event in self.carrier.events if isinstance(event, CommandReceived)]
        self.carrier.events = [event for event in self.carrier.events if not isinstance(event, CommandReceived)]

    def answer(self, status: int) -> None:
        self.hear()
        if not self.waiting or self.session.state != "attached":
            return
        event = self.waiting.pop(0)
        if event.command.RESULT == "dtx.xa-result":
            self.session.result(event.id, dtx.XaResult(status))
        elif event.command.RESULT == "dtx.recover-result":
            self.session.result(event.id, dtx.RecoverResult(XIDS))
        elif event.command.RESULT:
            self.session.result(event.id, dtx.GetTimeoutResult(60))
        self.session.complete(event.id)


def violations(events: list[Event]) -> list[Violation | None]:
    return [event.violation for event in events if isinstance(event, SessionDetached) and event.origin is Origin.VIOLATION]


@settings(max_examples=settings().max_examples * 2)
@given(
    st.sampled_from([SPEC, QPID]),
    st.sampled_from(SELECTS),
    st.lists(SAY | SAY | MOVE | ANSWER | ANSWER, min_size=10, max_size=60),
)
def test_what_our_client_says_nobody_holds_against_it(
    profile: Profile, select: Command, steps: list[tuple[str, object]]
) -> None:
    """What our client lets its caller say is refused by no server and held against it by no observer, however late the
    answers come."""
    wire = Wire(profile=profile)
    watch = Observer(strict=True)
    for speaker, word in OPENING:
        watch.receive_data(speaker, octets(word))
    ours, theirs = attached(wire, watch)
    application = Application(theirs, wire.server)
    ours.send(select)
    for what, how in (*steps, ("move", (None, None))):
        if what == "say":
            assert isinstance(how, Command)
            try:
                ours.send(how)
            except LocalProtocolError:
                continue
        elif what == "answer":
            assert isinstance(how, int)
            application.answer(how)
        else:
            assert isinstance(how, tuple)
            overheard(wire, watch)
            wire.step(*how)
            application.hear()
    overheard(wire, watch)
    assert violations(wire.server.happened()) == []
    assert [each.event for each in watch.events() if isinstance(each.event, Violation)] == []


def attached(wire: Wire, watch: Observer) -> tuple[Session, Session]:
    ours = Session(b"s", "client", profile=wire.profile)
    wire.client.channel(0).bind(ours)
    ours.attach()
    while overheard(wire, watch):
        wire.step()
    return ours, wire.sessions[b"s"]


def overheard(wire: Wire, watch: Observer) -> bool:
    """The observer hears what is said as it leaves the speaker."""
    up, down = wire.client.take(), wire.server.take()
    watch.receive_data("C", up)
    watch.receive_data("S", down)
    wire.to_server += up
    wire.to_client += down
    return bool(up or down)


@settings(max_examples=settings().max_examples * 2)
@given(st.sampled_from(SELECTS), st.lists(SAY | SAY | MOVE | ANSWER | CUT, max_size=60), st.booleans())
def test_every_outcome_is_reported_once(select: Command, steps: list[tuple[str, object]], stored: bool) -> None:
    """Each commit, each rollback and each question about a branch has exactly one outcome by the time that the session is over,
    whatever was cut in between and wherever the session was stored."""
    wire = Wire(session_timeout=60)
    ours, theirs = wire.session(timeout=60)
    application = Application(theirs, wire.server)
    ours.send(select)
    asked: Counter[int] = Counter()
    told: Counter[int] = Counter()

    def listen() -> None:
        told.update([event.id for event in wire.client.happened() if isinstance(event, OUTCOMES) and event.id is not None])

    for what, how in steps:
        if what == "say":
            assert isinstance(how, Command)
            try:
                id = ours.send(how)
            except LocalProtocolError:
                continue
            if how.VERB.startswith(("tx.", "dtx.")) and not isinstance(how, tx.Select | dtx.Select):
                asked[id] += 1
        elif what == "answer":
            assert isinstance(how, int)
            application.answer(how)
        elif what == "move":
            assert isinstance(how, tuple)
            wire.step(*how)
        else:
            assert isinstance(how, int)
            wire.cut(how, how)
            application.carrier = wire.server
            if stored:
                ours = Session.restore(ours.snapshot())
                theirs = wire.sessions[b"s"] = Session.restore(theirs.snapshot())
                application.session = theirs
            wire.client.channel(0).bind(ours)
            ours.attach()
            wire.run()
            assert ours.state == theirs.state == "attached"
        application.hear()
        listen()
        assert demarcation_of(ours).state.split("|")[0] in ("none", "tx", "dtx idle", "dtx active")
        assert all(count == 1 for count in told.values())
    ours._timeout = 0  # nobody wants it any more
    wire.client.lost()
    listen()
    assert told == asked


@settings(max_examples=settings().max_examples * 3)
@given(st.sampled_from([SPEC, QPID]), st.lists(st.sampled_from(ANY) | st.integers(0, 7), max_size=30))
def test_a_server_survives_whatever_comes(profile: Profile, said: list[Command | int]) -> None:
    """Whatever a client says of transactions and whatever it is answered, our server goes on or ends that session; and an
    observer that comes late or early raises nothing."""
    carrier, session = attached_session("server", profile=profile)
    for each in said:
        if isinstance(each, Command):
            if session.state == "attached":
                carrier.hear(each)
        elif session.state == "attached":
            for id in [id for id, owed in session._inbound.owed.items() if owed.result == "dtx.xa-result"]:
                session.result(id, dtx.XaResult(each))
                break
    for late in (False, True):
        demarcation = demarcation_of(attached_session("client")[1])
        if late:
            demarcation.lost()
        for id, each in enumerate(said):
            if isinstance(each, int):
                demarcation.answered(id - 1, each, heard=False)
                continue
            verb = demarcation.verb(each)
            if verb is not None:
                cell = demarcation.refusal(verb)
                demarcation.said(verb, each, id, cell)
                assert demarcation.legal(verb)
