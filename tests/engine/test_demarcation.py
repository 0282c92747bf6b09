"""Who may say what about transactions on a session: every cell of the table, for each of the three who keep it.

A cell is named by its state and what is said in it.  Its expectations are written out here, apart from the rows: the code by
the letter, the code of deployed brokers (None: they let it pass), and the rule.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
from tests.carriers import BareCarrier, attached_session
from tests.conformance.rules.peers import Said, overheard

from amqp_sansio.config import Profile
from amqp_sansio.engine.demarcation import Demarcation, DemarcationWitness, demarcation_of
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.session import Session
from amqp_sansio.errors import EncodeError, LocalProtocolError
from amqp_sansio.events import CommandReceived, Origin, SessionDetached, Violation
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec import dtx, execution, message, tx
from amqp_sansio.spec import session as c
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import AcceptMode
from amqp_sansio.spec.execution import Result, Sync
from amqp_sansio.spec.xids import key_of
from amqp_sansio.tables import demarcation as rows

X, Y, Z = (dtx.Xid(0, name, b"") for name in (b"x", b"y", b"z"))
NO_ACCEPT = message.Subscribe("q", "n", 1, 0)

STATES: dict[str, tuple[Command, ...]] = {
    "none": (),
    "none beside accept-mode none": (NO_ACCEPT,),
    "tx": (tx.Select(),),
    "dtx idle": (dtx.Select(),),
    "dtx active": (dtx.Select(), dtx.Start(X)),
    "dtx idle, y suspended": (dtx.Select(), dtx.Start(Y), dtx.End(Y, suspend=True)),
    "dtx active, y suspended": (dtx.Select(), dtx.Start(Y), dtx.End(Y, suspend=True), dtx.Start(X)),
}
SAID: dict[str, Command] = {
    "tx.select": tx.Select(),
    "tx.commit": tx.Commit(),
    "tx.rollback": tx.Rollback(),
    "dtx.select": dtx.Select(),
    "dtx.start": dtx.Start(Z),
    "dtx.start join": dtx.Start(Z, join=True),
    "dtx.start resume z": dtx.Start(Z, resume=True),
    "dtx.start resume y": dtx.Start(Y, resume=True),
    "dtx.start join resume": dtx.Start(Z, join=True, resume=True),
    "dtx.end x": dtx.End(X),
    "dtx.end x fail": dtx.End(X, fail=True),
    "dtx.end x suspend": dtx.End(X, suspend=True),
    "dtx.end x suspend fail": dtx.End(X, suspend=True, fail=True),
    "dtx.end y": dtx.End(Y),
    "dtx.end y fail": dtx.End(Y, fail=True),
    "dtx.end y suspend": dtx.End(Y, suspend=True),
    "dtx.end y suspend fail": dtx.End(Y, suspend=True, fail=True),
    "dtx.end z": dtx.End(Z),
    "message.subscribe explicit": message.Subscribe("q", "e", 0, 0),
    "message.subscribe none": message.Subscribe("q", "m", 1, 0),
}


class Cell(NamedTuple):
    """What is forbidden there: error code by the letter, error code of deployed brokers, rule.  All None: it is legal.

    `handed_on`: the coordinator of a server answers it, who knows more of the branch than the session.
    """

    spec: int | None = None
    qpid: int | None = None
    rule: str = ""
    handed_on: bool = False


LEGAL = Cell()
ONCE = Cell(409, None, "tx.select.exactly-once")
NO_DTX = Cell(409, 409, "tx.select.no-dtx")
COMMIT_FIRST, ROLLBACK_FIRST = (Cell(409, 503, f"tx.{verb}.select-required") for verb in ("commit", "rollback"))
COMMIT_DTX, ROLLBACK_DTX = (Cell(409, 409, f"tx.{verb}.select-required") for verb in ("commit", "rollback"))
EXPLICIT = Cell(530, None, "tx.select.explicit-accepts")
NOT_SELECTED = Cell(409, 503, "dtx.start.illegal-state")
ACTIVE = Cell(409, 409, "dtx.start.illegal-state")
BOTH = Cell(530, 503, "dtx.start.join-and-resume")
NOT_ENDED = Cell(409, 503, "dtx.end.illegal-state")
NOT_IT = Cell(409, 409, "dtx.end.xid.not-associated")
ANOTHER = Cell(409, 503, "dtx.end.xid.not-associated")
FAILED = Cell(530, 503, "dtx.end.suspend-and-fail")

STARTS = ("dtx.start", "dtx.start join", "dtx.start resume z", "dtx.start resume y", "dtx.start join resume")
ENDS_X = ("dtx.end x", "dtx.end x fail", "dtx.end x suspend", "dtx.end x suspend fail")
ENDS_Y = ("dtx.end y", "dtx.end y fail", "dtx.end y suspend", "dtx.end y suspend fail")
SUBSCRIBES = {"message.subscribe explicit": LEGAL, "message.subscribe none": LEGAL}
NONE = {
    "tx.select": LEGAL, "tx.commit": COMMIT_FIRST, "tx.rollback": ROLLBACK_FIRST, "dtx.select": LEGAL,
    **dict.fromkeys(STARTS, NOT_SELECTED), **dict.fromkeys((*ENDS_X, *ENDS_Y, "dtx.end z"), NOT_ENDED), **SUBSCRIBES,
}  # fmt: skip
IDLE = {
    "tx.select": NO_DTX, "tx.commit": COMMIT_DTX, "tx.rollback": ROLLBACK_DTX, "dtx.select": LEGAL,
    "dtx.start": LEGAL, "dtx.start join": LEGAL, "dtx.start join resume": BOTH,
    **dict.fromkeys(("dtx.start resume z", "dtx.start resume y"), NOT_SELECTED._replace(handed_on=True)),
    **dict.fromkeys((*ENDS_X, *ENDS_Y, "dtx.end z"), NOT_IT), **SUBSCRIBES,
}  # fmt: skip
BUSY = {
    "tx.select": NO_DTX, "tx.commit": COMMIT_DTX, "tx.rollback": ROLLBACK_DTX, "dtx.select": LEGAL,
    **dict.fromkeys(STARTS, ACTIVE), "dtx.start join resume": NOT_SELECTED,
    **dict.fromkeys(ENDS_X, LEGAL), "dtx.end x suspend fail": FAILED,
    **dict.fromkeys((*ENDS_Y, "dtx.end z"), ANOTHER), **SUBSCRIBES,
}  # fmt: skip
EXPECTED: dict[str, dict[str, Cell]] = {
    "none": NONE,
    "none beside accept-mode none": NONE | {"tx.select": EXPLICIT},
    "tx": NONE | {
        "tx.select": ONCE, "tx.commit": LEGAL, "tx.rollback": LEGAL, "dtx.select": Cell(409, 409, "dtx.select"),
        "message.subscribe none": EXPLICIT,
    },
    "dtx idle": IDLE,
    "dtx active": BUSY,
    "dtx idle, y suspended": IDLE | {
        "dtx.start resume y": LEGAL, "dtx.end y": LEGAL, "dtx.end y fail": LEGAL, "dtx.end y suspend fail": FAILED,
    },
    "dtx active, y suspended": BUSY | {"dtx.end y": LEGAL, "dtx.end y fail": LEGAL, "dtx.end y suspend fail": FAILED},
}  # fmt: skip

CELLS = [
    pytest.param(state, said, cell, id=f"{state}/{said}")
    for state, expected in EXPECTED.items()
    for said, cell in expected.items()
]
ATTACHED: list[Said] = [("C", c.Attach(b"s")), ("S", c.Attached(b"s")), ("C", c.CommandPoint(0, 0))]
SPEC, QPID = Profile(error_codes="spec"), Profile(error_codes="qpid")


def test_every_state_says_everything() -> None:
    assert [state for state, expected in EXPECTED.items() if expected.keys() != SAID.keys()] == []
    assert EXPECTED.keys() == STATES.keys()


def observed(*said: Command, strict: bool) -> list[str]:
    """What an observer holds against who says these commands on a session of its own."""
    return overheard(*ATTACHED, *[("C", command) for command in said], strict=strict)


def server_in(state: str, profile: Profile) -> tuple[BareCarrier, Session]:
    carrier, session = attached_session("server", profile=profile)
    carrier.hear(*STATES[state])
    assert session.state == "attached"
    carrier.happened()
    carrier.said()
    return carrier, session


@pytest.mark.parametrize("profile", [SPEC, QPID], ids=["spec", "qpid"])
@pytest.mark.parametrize(("state", "said", "cell"), CELLS)
def test_a_server_lets_it_pass_or_answers_with_the_code(state: str, said: str, cell: Cell, profile: Profile) -> None:
    carrier, session = server_in(state, profile)
    carrier.hear(SAID[said])
    code = cell.spec if profile is SPEC else cell.qpid
    happened = carrier.happened()
    if code is None or cell.handed_on:
        assert [event.command for event in happened if isinstance(event, CommandReceived)] == [SAID[said]]
        assert session.state == "attached"
        return
    (gone,) = happened  # nothing of it reaches whoever embeds the server
    assert isinstance(gone, SessionDetached)
    assert gone.origin is Origin.VIOLATION
    assert gone.violation is not None
    assert (gone.violation.code, gone.violation.rule, gone.violation.speaker) == (code, cell.rule, "client")
    assert gone.violation.said
    answer = next(each for each in carrier.said() if isinstance(each, execution.Exception_))
    assert (answer.error_code, answer.command_id) == (code, len(STATES[state]))


@pytest.mark.parametrize("profile", [SPEC, QPID], ids=["spec", "qpid"])
@pytest.mark.parametrize(("state", "said", "cell"), CELLS)
def test_our_client_keeps_to_the_letter(state: str, said: str, cell: Cell, profile: Profile) -> None:
    carrier, session = attached_session("client", profile=profile)
    for command in STATES[state]:
        session.send(command)
    before = session.snapshot()
    carrier.said()
    if cell.spec is None:
        session.send(SAID[said])
        assert carrier.said()[-1] == SAID[said]
        return
    with pytest.raises(LocalProtocolError) as raised:
        session.send(SAID[said])
    assert raised.value.rule == cell.rule
    assert said not in raised.value.legal
    assert raised.value.legal
    assert session.snapshot() == before
    assert carrier.said() == []


@pytest.mark.parametrize("strict", [False, True], ids=["tolerant", "strict"])
@pytest.mark.parametrize(("state", "said", "cell"), CELLS)
def test_an_observer_blames_the_client(state: str, said: str, cell: Cell, strict: bool) -> None:
    found = observed(*STATES[state], SAID[said], strict=strict)
    if cell.spec is None:
        assert found == []
    elif cell.qpid is None and not strict:
        assert found == [f"(C {cell.rule})"]
    else:
        assert found == [f"C {cell.rule}"]


@pytest.mark.parametrize("command", [dtx.Prepare(Z), dtx.Commit(Z), dtx.Rollback(Z), dtx.Forget(Z), dtx.Recover(),
                                     dtx.GetTimeout(Z), dtx.SetTimeout(Z, 1)], ids=lambda command: command.VERB)  # fmt: skip
@pytest.mark.parametrize("state", STATES)
def test_what_coordinates_may_be_sent_in_every_state(state: str, command: Command) -> None:
    carrier, session = server_in(state, SPEC)
    carrier.hear(command)
    assert [type(event) for event in carrier.happened()] == [CommandReceived]
    carrier, session = attached_session("client")
    for each in (*STATES[state], command):
        session.send(each)
    assert observed(*STATES[state], command, strict=True) == []


# --- memory beside the rows -------------------------------------------------------------------------------------------------


def test_a_cancelled_subscription_does_not_hinder() -> None:
    carrier, session = server_in("none beside accept-mode none", SPEC)
    carrier.hear(message.Cancel("n"), tx.Select())
    assert demarcation_of(session).state == rows.TX
    _, session = attached_session("client")
    subscription = session.subscribe("q", "n", accept_mode=AcceptMode.NONE)
    with pytest.raises(LocalProtocolError, match="accept-mode none"):
        session.select_tx()
    subscription.cancel()
    session.select_tx()
    with pytest.raises(LocalProtocolError, match="accept-mode none"):
        session.subscribe("q", "m", accept_mode=AcceptMode.NONE)
    session.subscribe("q", "m")


def test_a_nameless_subscription_is_none_the_less_one() -> None:
    carrier, session = server_in("tx", SPEC)
    carrier.hear(message.Subscribe("q", "", 0, 0))
    assert session.cause == ""
    carrier.hear(message.Subscribe("q", "", 1, 0))
    assert session.state == "ended"


def test_a_start_that_fails_associates_nothing_and_the_words_after_it_were_legal() -> None:
    pipelined: list[tuple[Command, ...]] = [
        (dtx.End(X),), (dtx.End(X, suspend=True),), (dtx.Start(Y), dtx.End(Y)), (dtx.Select(), dtx.End(X, fail=True)),
    ]  # fmt: skip
    for behind in pipelined:
        carrier, session = server_in("dtx active", SPEC)
        session.result(1, dtx.XaResult(1))
        session.complete([0, 1])
        carrier.hear(*behind)
        assert session.cause == "", behind
        carrier.hear(dtx.Start(Z))
        assert demarcation_of(session).state == rows.DTX_ACTIVE
        carrier.hear(dtx.Start(Y))
        assert session.state == "ended"


@pytest.mark.parametrize("flags", [(False, False), (True, False), (False, True), (True, True)])
def test_a_branch_that_is_started_twice_is_for_the_coordinator_to_refuse(flags: tuple[bool, bool]) -> None:
    """It knows that the branch is known, or has timed out meanwhile; another branch is refused for the session's sake."""
    for other in (X, Z):
        carrier, session = server_in("dtx active", SPEC)
        carrier.hear(dtx.Start(other, *flags))
        assert (session.state == "ended") == (other is Z)
    carrier, session = server_in("dtx active", SPEC)
    carrier.hear(dtx.Start(X, join=True))
    session.result(2, dtx.XaResult(2))
    carrier.hear(dtx.Start(Z))
    assert demarcation_of(session).associated == (0, b"z", b"")


def test_a_start_that_fails_does_not_excuse_everything() -> None:
    for wrong in (dtx.End(Y), tx.Commit(), tx.Select()):
        carrier, session = server_in("dtx active", SPEC)
        session.result(1, dtx.XaResult(2))
        carrier.hear(wrong)
        assert session.state == "ended", wrong


def test_our_client_knows_that_its_start_has_failed() -> None:
    carrier, session = attached_session("client")
    handle = session.select_dtx()
    id = handle.start(X)
    carrier.hear(execution.Result(id, dtx.XaResult(1)))
    assert demarcation_of(session).state == rows.DTX_IDLE
    with pytest.raises(LocalProtocolError):
        handle.end(X)
    handle.start(Z)
    handle.end(Z, suspend=True)
    first = handle.start(X)
    handle.end(X, suspend=True)
    second = handle.start(Y)
    carrier.hear(execution.Result(first, dtx.XaResult(2)), execution.Result(second, dtx.XaResult(0)))
    assert list(demarcation_of(session).suspended) == [(0, b"z", b"")]
    assert demarcation_of(session).associated == (0, b"y", b"")
    with pytest.raises(LocalProtocolError):
        handle.end(X)


def test_the_answer_to_an_earlier_start_does_not_end_a_later_one() -> None:
    carrier, session = attached_session("client")
    handle = session.select_dtx()
    first = handle.start(X)
    handle.end(X)
    handle.start(X, join=True)
    carrier.hear(execution.Result(first, dtx.XaResult(1)))
    assert demarcation_of(session).state == rows.DTX_ACTIVE


@pytest.mark.parametrize("state", ["none", "tx"])
@pytest.mark.parametrize(
    ("command", "profile", "code"),
    [(dtx.Start(), QPID, 503), (dtx.Start(), SPEC, 409), (dtx.End(), QPID, 503), (dtx.End(), SPEC, 409)],
)
def test_a_start_or_an_end_without_select_and_without_a_name(state: str, command: Command, profile: Profile, code: int) -> None:
    """That nothing was selected comes before what is missing."""
    carrier, _ = server_in(state, profile)
    carrier.hear(command)
    gone = carrier.happened()[-1]
    assert isinstance(gone, SessionDetached)
    assert gone.violation is not None
    assert (gone.violation.rule, gone.violation.code) == (f"{command.VERB}.illegal-state", code)


def test_a_branch_without_a_name() -> None:
    for command in (dtx.Start(), dtx.End(), dtx.Prepare(), dtx.Commit(), dtx.Rollback(), dtx.Forget(), dtx.GetTimeout(),
                    dtx.SetTimeout()):  # fmt: skip
        carrier, _ = server_in("dtx idle", QPID)
        carrier.hear(command)
        (gone,) = carrier.happened()
        assert isinstance(gone, SessionDetached)
        assert gone.violation is not None
        assert (gone.violation.rule, gone.violation.code) == (f"{command.VERB}.xid", 531)
        _, ours = attached_session("client")
        ours.select_dtx()
        with pytest.raises(EncodeError, match="names the branch"):
            ours.send(command)


def test_the_error_says_where_the_session_stands_and_what_would_be_legal() -> None:
    _, session = attached_session("client")
    session.select_dtx().start(X)
    with pytest.raises(LocalProtocolError) as raised:
        session.dtx.start(Y)
    assert raised.value.state == "dtx active with xid 0:78:"
    assert raised.value.legal == (rows.DTX_SELECT, rows.END, rows.SUSPEND, rows.SUBSCRIBE_NONE)


# --- as a plain value -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", STATES)
def test_a_snapshot_holds_all_of_it(state: str) -> None:
    for role in ("client", "server"):
        assert role in ("client", "server")
        carrier, session = attached_session("client" if role == "client" else "server", timeout=60, max_timeout=60)
        if role == "client":
            for command in STATES[state]:
                session.send(command)
        else:
            carrier.hear(*STATES[state])
        again = Session.restore(session.snapshot())
        assert demarcation_of(again).snapshot() == demarcation_of(session).snapshot()
        assert demarcation_of(again).legal() == demarcation_of(session).legal()


ATTACH: list[Said] = [("C", c.Attach(b"s")), ("S", c.Attached(b"s")), ("S", c.CommandPoint(0, 0))]


def from_point(point: int, *said: Command | c.CommandPoint | c.Gap) -> list[str]:
    return overheard(*ATTACH, ("C", c.CommandPoint(point, 0)), *[("C", each) for each in said], strict=True)


def hear(*said: Command, strict: bool = False, limits: Limits = DEFAULT_LIMITS) -> list[Violation]:
    findings = Findings(strict, limits)
    witness = DemarcationWitness(findings, False)
    for id, command in enumerate(said):
        witness.hear(id, command)
    return [each for each in findings.found if isinstance(each, Violation)]


def test_a_violation_names_the_sender_the_command_and_the_legal_ones() -> None:
    (found,) = hear(dtx.Select(), dtx.Start(X), dtx.End(Y))
    assert (found.speaker, found.rule, found.code) == ("C", "dtx.end.xid.not-associated", 503)
    assert found.said == "dtx.end of another xid"
    assert "dtx.end of the associated xid" in found.legal
    assert "dtx active with xid 0:78:" in found.text
    assert hear(dtx.Select(), dtx.Start(X), dtx.End(Y), strict=True)[0].code == 409


@pytest.mark.parametrize("before", [(), (tx.Select(),)])
@pytest.mark.parametrize("command", [dtx.Start(X), dtx.Start(), dtx.End(X), dtx.End()])
def test_what_needs_dtx_select_has_one_code_without_it(command: Command, before: tuple[Command, ...]) -> None:
    for strict, code in ((False, 503), (True, 409)):
        (found,) = hear(*before, command, strict=strict)
        assert (found.rule, found.code) == (f"{command.VERB}.illegal-state", code)


@pytest.mark.parametrize("xid", [None, X])
def test_without_dtx_select_or_an_xid_there_is_no_finding_about_an_xid(xid: dtx.Xid | None) -> None:
    """A sentence names no xid as another one where none was named, or where no branch can be associated."""
    (found,) = hear(dtx.Start(xid, resume=True))
    assert (found.said, found.text) == ("dtx.start", "dtx.start in state no transactions")
    (found,) = hear(dtx.End(xid))
    assert (found.said, found.text) == ("dtx.end", "dtx.end in state no transactions")
    (found,) = hear(dtx.Select(), dtx.Start(xid, resume=True))
    assert found.said == ("dtx.start" if xid is None else "dtx.start resume of another xid")


def test_the_books_go_on_after_a_violation() -> None:
    rules = [each.rule for each in hear(tx.Commit(), tx.Select(), tx.Commit(), dtx.Start(X), tx.Rollback())]
    assert rules == ["tx.commit.select-required", "dtx.start.illegal-state"]


def test_a_session_that_was_resumed_may_be_transactional() -> None:
    assert from_point(7, tx.Commit(), tx.Rollback()) == []
    assert from_point(7, dtx.End(X), dtx.Start(Y, resume=True)) == []


def test_repeated_words_are_not_held_against_anybody() -> None:
    assert "C tx.select.exactly-once" not in from_point(0, tx.Select(), tx.Commit(), c.CommandPoint(0, 0), tx.Select())


def test_a_gap_may_have_held_the_select() -> None:
    from amqp_sansio.kernel.serials import RangeSet

    assert from_point(0, Sync(), c.Gap(RangeSet.of(1)), tx.Commit()) == ["(C session.gap)"]


def test_a_start_that_failed() -> None:
    begun: list[Said] = [
        *ATTACH, ("C", c.CommandPoint(0, 0)), ("C", dtx.Select()), ("C", dtx.Start(X)), ("S", Result(1, dtx.XaResult(1))),
    ]  # fmt: skip
    for behind in ((dtx.End(X),), (dtx.Start(Y), dtx.End(Y)), (dtx.End(X, suspend=True), dtx.Start(Y))):
        assert overheard(*begun, *[("C", each) for each in behind], strict=True) == []
    assert overheard(*begun, ("C", dtx.End(Y)), strict=True) == ["C dtx.end.xid.not-associated"]


def test_a_session_of_the_same_name_begins_anew() -> None:
    detach: list[Said] = [("C", c.Detach(b"s")), ("S", c.Detached(b"s", 0))]
    once: list[Said] = [*ATTACH, ("C", c.CommandPoint(0, 0)), ("C", tx.Select()), ("C", tx.Commit())]
    assert overheard(*once, *detach, *once, strict=True) == []


def test_a_cancelled_subscription_does_not_count() -> None:
    none = message.Subscribe("q", "d", 1, 0)
    assert [each.rule for each in hear(none, tx.Select(), strict=True)] == ["tx.select.explicit-accepts"]
    assert hear(none, message.Cancel("d"), tx.Select(), strict=True) == []


@pytest.mark.parametrize(("suspended", "followed"), [(1, True), (2, True), (3, False)])
def test_limit_of_suspended_branches(suspended: int, followed: bool) -> None:
    said: list[Command] = [dtx.Select()]
    for number in range(suspended):
        branch = dtx.Xid(0, bytes([number]), b"")
        said += [dtx.Start(branch), dtx.End(branch, suspend=True)]
    findings = Findings(False, Limits(suspended_branches=2))
    witness = DemarcationWitness(findings, False)
    for id, command in enumerate([*said, dtx.End(Y)]):
        witness.hear(id, command)
    assert ([each.rule for each in findings.found] == ["dtx.end.xid.not-associated"]) == followed
    assert ([each.rule for each in findings.found] == ["limits.suspended_branches"]) != followed


G, H, F = (dtx.Xid(1, b"g", name) for name in (b"x", b"y", b"z"))


def words(demarcation: Demarcation, *said: Command) -> list[str]:
    """The rules that were broken."""
    broken = []
    for id, command in enumerate(said):
        verb = demarcation.verb(command)
        assert verb is not None
        cell = demarcation.refusal(verb)
        if cell is None:
            demarcation.said(verb, command, id)
        else:
            broken.append(cell.rule)
    return broken


def late() -> Demarcation:
    demarcation = Demarcation()
    demarcation.lost()
    return demarcation


@pytest.mark.parametrize(
    "said",
    [
        (tx.Commit(), tx.Rollback()),
        (tx.Select(), tx.Commit()),
        (dtx.End(G), dtx.End(H), dtx.End(F), dtx.Start(G)),
        (dtx.End(G, suspend=True), dtx.Start(H, resume=True), dtx.End(F), dtx.End(H), dtx.Start(G, resume=True)),
        (dtx.Start(G), dtx.End(H), dtx.End(G), dtx.End(F, fail=True)),
        (dtx.Select(), dtx.End(G)),
    ],
)
def test_a_late_observer_holds_nobody_to_what_it_missed(said: tuple[Command, ...]) -> None:
    assert words(late(), *said) == []


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ((tx.Commit(), tx.Select()), "tx.select.exactly-once"),
        ((tx.Commit(), dtx.End(G)), "dtx.end.illegal-state"),
        ((tx.Commit(), dtx.Start(G, resume=True)), "dtx.start.illegal-state"),
        ((tx.Commit(), dtx.End(G, suspend=True, fail=True)), "dtx.end.illegal-state"),
        ((dtx.Start(G), dtx.Start(H)), "dtx.start.illegal-state"),
        ((dtx.Start(G), dtx.End(H, suspend=True)), "dtx.end.xid.not-associated"),
        ((dtx.Start(G), tx.Commit()), "tx.commit.select-required"),
    ],
)
def test_a_late_observer_knows_what_came_since(said: tuple[Command, ...], rule: str) -> None:
    assert words(late(), *said) == [rule]


@pytest.mark.parametrize(
    "value",
    [
        (),
        (("none",), None, None, ()),
        (("elsewhere",), None, None, (), False),
        ((), None, None, (), False),
        (("none",), "x", None, (), False),
        (("none",), (0, "x", b""), None, (), False),
        (("none",), None, "1", (), False),
        (("none",), None, None, (("x", 1),), False),
        (("none",), None, None, (), 1),
    ],
)
def test_what_is_no_snapshot(value: tuple[object, ...]) -> None:
    with pytest.raises((TypeError, ValueError)):
        Demarcation.restore(value)


def test_a_branch_that_is_resumed_or_ended_is_suspended_no_more() -> None:
    demarcation = Demarcation()
    both = [dtx.Start(G), dtx.End(G, suspend=True), dtx.Start(H), dtx.End(H, suspend=True)]
    assert words(demarcation, dtx.Select(), *both) == []
    assert list(demarcation.suspended) == [key_of(G), key_of(H)]
    assert words(demarcation, dtx.Start(G, resume=True)) == []
    assert list(demarcation.suspended) == [key_of(H)]
    assert words(demarcation, dtx.End(G), dtx.End(H)) == []
    assert list(demarcation.suspended) == []
