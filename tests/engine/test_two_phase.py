"""Two-phase commit over several brokers."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builds import wrong_type

from amqp_sansio.engine.two_phase import Action, Ask, Decide, Decision, TwoPhase, presumed_aborts
from amqp_sansio.engine.xid import key_of, xid
from amqp_sansio.errors import DecodeError, EncodeError, LocalProtocolError
from amqp_sansio.events import BranchAnswered, BranchesRecovered, TransactionOutcome
from amqp_sansio.spec import dtx
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import XaStatus

A, B, C = (xid(0, b"g", name) for name in (b"a", b"b", b"c"))
COMMITTED, ROLLED_BACK, UNKNOWN = TransactionOutcome
OK, RDONLY = XaStatus.XA_OK, XaStatus.XA_RDONLY


def two() -> TwoPhase:
    return TwoPhase({"a": A, "b": B})


def prepared() -> TwoPhase:
    """Both have voted ok, and the decision is durable."""
    machine = two()
    machine.take()
    machine.answered("a", OK)
    machine.answered("b", OK)
    machine.take()
    machine.durable()
    return machine


def both(one: Command, other: Command) -> tuple[Action, ...]:
    return Ask("a", one), Ask("b", other)


def test_commit() -> None:
    machine = two()
    assert machine.take() == both(dtx.Prepare(A), dtx.Prepare(B))
    assert machine.take() == ()
    assert machine.awaited == ("a", "b")
    machine.answered("a", OK)
    assert machine.take() == ()
    undecided = machine.outcome
    assert undecided is None
    machine.answered("b", OK)
    decision = Decision((("a", A), ("b", B)))
    assert machine.take() == (Decide(decision),)
    assert machine.take() == ()
    machine.durable()
    assert [machine.outcome, machine.finished] == [COMMITTED, False]
    assert machine.take() == both(dtx.Commit(A), dtx.Commit(B))
    machine.answered("b", OK)
    machine.answered("a", OK)
    assert machine.finished
    assert machine.take() == ()
    assert machine.heuristics == {}


def test_nothing_is_committed_before_the_decision_is_durable() -> None:
    machine = two()
    for step in ("to be prepared", "preparing", "prepared"):
        with pytest.raises(LocalProtocolError, match="handed out"):
            machine.durable()
        if step == "to be prepared":
            machine.take()
        else:
            machine.answered(machine.awaited[0], OK)
    with pytest.raises(LocalProtocolError, match="handed out"):
        machine.durable()
    machine.take()
    assert machine.take() == ()
    machine.durable()
    with pytest.raises(LocalProtocolError):
        machine.durable()


@pytest.mark.parametrize(
    ("status", "refused", "asked"),
    [
        (XaStatus.XA_RBROLLBACK, None, [dtx.Rollback(A), dtx.Rollback(B)]),
        (XaStatus.XA_RBTIMEOUT, None, [dtx.Rollback(B)]),  # the branch is forgotten with it
        (None, 404, [dtx.Rollback(B)]),
        (None, 409, [dtx.Rollback(A), dtx.Rollback(B)]),
        (None, None, [dtx.Rollback(A), dtx.Rollback(B)]),  # lost: it may be prepared
    ],
)
def test_one_vote_against_rolls_all_back(status: XaStatus | None, refused: int | None, asked: list[Command]) -> None:
    machine = two()
    machine.take()
    machine.answered("b", OK)
    machine.answered("a", status, refused)
    assert machine.outcome is ROLLED_BACK
    assert [action.command for action in machine.take() if isinstance(action, Ask)] == asked
    for name in machine.awaited:
        machine.answered(name, OK)
    assert machine.finished
    assert machine.heuristics == {}


def test_a_vote_that_comes_late_is_rolled_back_too() -> None:
    machine = two()
    machine.take()
    machine.answered("a", XaStatus.XA_RBTIMEOUT)
    assert machine.take() == ()
    machine.answered("b", OK)
    assert machine.take() == (Ask("b", dtx.Rollback(B)),)


def test_who_only_read_takes_no_part_in_the_second_phase() -> None:
    machine = two()
    machine.take()
    machine.answered("a", RDONLY)
    machine.answered("b", OK)
    assert machine.take() == (Decide(Decision((("b", B),))),)
    machine.durable()
    assert machine.take() == (Ask("b", dtx.Commit(B)),)


def test_where_all_only_read_nothing_is_decided() -> None:
    machine = two()
    machine.take()
    machine.answered("a", RDONLY)
    machine.answered("b", RDONLY)
    assert machine.take() == ()
    assert machine.finished
    assert machine.outcome is COMMITTED


@pytest.mark.parametrize(
    ("status", "refused", "outcome", "done"),
    [
        (OK, None, COMMITTED, True),
        (RDONLY, None, COMMITTED, True),
        (XaStatus.XA_RBROLLBACK, None, ROLLED_BACK, True),
        (XaStatus.XA_RBTIMEOUT, None, ROLLED_BACK, True),
        (None, 404, ROLLED_BACK, True),
        (None, 409, ROLLED_BACK, False),
        (None, None, None, False),
        (XaStatus.XA_HEURCOM, None, COMMITTED, False),
        (XaStatus.XA_HEURRB, None, ROLLED_BACK, False),
        (XaStatus.XA_HEURMIX, None, UNKNOWN, False),
    ],
)
def test_a_single_participant_is_committed_in_one_phase(
    status: XaStatus | None, refused: int | None, outcome: TransactionOutcome | None, done: bool
) -> None:
    machine = TwoPhase({"a": A})
    assert machine.take() == (Ask("a", dtx.Commit(A, True)),)
    assert machine.outcome is None
    machine.answered("a", status, refused)
    assert (machine.outcome, machine.finished) == (outcome, done)


def test_a_single_participant_whose_answer_was_lost_is_asked_again_and_may_not_know_any_more() -> None:
    for status, refused, outcome in ((OK, None, COMMITTED), (None, 404, UNKNOWN), (None, 503, None)):
        machine = TwoPhase({"a": A})
        machine.take()
        machine.lost("a")
        assert machine.take() == (Ask("a", dtx.Commit(A, True)),)
        machine.answered("a", status, refused)
        assert machine.outcome is outcome


@pytest.mark.parametrize("status", [XaStatus.XA_HEURCOM, XaStatus.XA_HEURRB, XaStatus.XA_HEURMIX, XaStatus.XA_HEURHAZ])
def test_a_heuristic_outcome_is_reported_and_forgotten(status: XaStatus) -> None:
    machine = prepared()
    machine.take()
    machine.answered("a", OK)
    machine.answered("b", status)
    assert machine.heuristics == {"b": status}
    assert machine.take() == (Ask("b", dtx.Forget(B)),)
    machine.lost("b")
    assert machine.take() == (Ask("b", dtx.Forget(B)),)
    machine.answered("b", None, 540)  # qpidd cannot: it was told
    assert machine.finished
    assert machine.outcome is COMMITTED


@pytest.mark.parametrize(
    ("status", "refused", "told"),
    [
        (XaStatus.XA_RBROLLBACK, None, XaStatus.XA_HEURRB),
        (XaStatus.XA_RBTIMEOUT, None, XaStatus.XA_HEURRB),
        (None, 404, XaStatus.XA_HEURHAZ),
    ],
)
def test_a_promise_that_was_not_kept_is_reported_as_a_heuristic(
    status: XaStatus | None, refused: int | None, told: XaStatus
) -> None:
    machine = prepared()
    machine.take()
    machine.answered("a", OK)
    machine.answered("b", status, refused)
    assert machine.heuristics == {"b": told}
    assert machine.finished


def test_a_commit_that_got_lost_is_said_again() -> None:
    machine = prepared()
    machine.take()
    for _ in range(3):
        machine.lost("a")
        assert machine.take() == (Ask("a", dtx.Commit(A)),)
    machine.answered("a", None, 404)  # it had been carried out
    machine.answered("b", None, 503)
    assert machine.take() == (Ask("b", dtx.Commit(B)),)
    machine.answered("b", OK)
    assert machine.finished
    assert machine.heuristics == {}


def test_abort() -> None:
    machine = two()
    machine.abort()
    assert machine.take() == both(dtx.Rollback(A), dtx.Rollback(B))
    machine = two()
    machine.take()
    machine.answered("a", OK)
    machine.abort()
    assert machine.take() == (Ask("a", dtx.Rollback(A)),)
    alone = TwoPhase({"a": A})
    alone.abort()
    assert alone.take() == (Ask("a", dtx.Rollback(A)),)


def test_it_is_too_late_to_abort() -> None:
    alone = TwoPhase({"a": A})
    alone.take()
    for machine in (prepared(), alone):
        with pytest.raises(LocalProtocolError):
            machine.abort()


def test_what_nobody_asked_for() -> None:
    machine = two()
    calls: list[Callable[[], None]] = [
        lambda: machine.answered("a", OK),
        lambda: machine.lost("a"),
        lambda: machine.recovered("a", ()),
        lambda: machine.answered("z", OK),
    ]
    for call in calls:
        before = machine.snapshot()
        with pytest.raises(LocalProtocolError):
            call()
        assert machine.snapshot() == before
    machine.take()
    with pytest.raises(LocalProtocolError):
        machine.recovered("a", ())


def test_what_are_no_branches() -> None:
    with pytest.raises(EncodeError):
        TwoPhase({})
    for branches in ({"a": None}, {1: A}):
        with wrong_type():
            TwoPhase(branches)  # type: ignore[arg-type]  # what a caller may do


def test_events_of_a_session_are_answers() -> None:
    machine = two()
    machine.take()
    ok = BranchAnswered(b"s", 1, "dtx.prepare", A, OK)
    assert not machine.hear("b", ok)  # another branch
    assert not machine.hear("z", ok)
    assert not machine.hear("a", BranchAnswered(b"s", 0, "dtx.end", A, OK))
    assert not machine.hear("a", BranchesRecovered(b"s", 1, (A,)))
    assert machine.hear("a", ok)
    assert not machine.hear("a", ok)
    assert machine.hear("b", BranchAnswered(b"s", 1, "dtx.prepare", B, None, 404))
    assert machine.outcome is ROLLED_BACK


# --- after a crash ------------------------------------------------------------------------------------------------------------


def test_a_stored_decision_is_carried_out() -> None:
    stored = Decision((("a", A), ("b", B))).plain
    machine = TwoPhase.recover(Decision.of(pickle.loads(pickle.dumps(stored))))
    assert machine.outcome is COMMITTED
    assert machine.take() == both(dtx.Recover(), dtx.Recover())
    assert not machine.hear("a", BranchAnswered(b"s", 1, "dtx.commit", A, OK))
    assert machine.hear("a", BranchesRecovered(b"s", 1, (C,)))  # committed before the crash
    assert machine.hear("b", BranchesRecovered(b"s", 1, None))
    assert machine.take() == (Ask("b", dtx.Recover()),)
    machine.recovered("b", (A, B))
    assert machine.take() == (Ask("b", dtx.Commit(B)),)
    machine.answered("b", OK)
    assert machine.finished


def test_a_server_that_cannot_list_is_told_to_commit() -> None:
    machine = TwoPhase.recover(Decision((("a", A),)))
    machine.take()
    machine.answered("a", None, 540)
    assert machine.take() == (Ask("a", dtx.Commit(A)),)
    machine.answered("a", None, 404)
    assert machine.finished
    assert machine.heuristics == {}


def test_without_a_decision_it_counts_as_rolled_back() -> None:
    other, foreign = xid(0, b"h", b"a"), xid(9, b"i", b"")
    lists = {"a": (A, other, foreign), "b": (B,)}
    rest = presumed_aborts(lists, [Decision((("a", other),))], lambda each: each.format_ == 0)
    (machine,) = rest
    assert machine.outcome is ROLLED_BACK
    assert machine.take() == both(dtx.Rollback(A), dtx.Rollback(B))
    machine.answered("a", OK)
    machine.answered("b", None, 404)
    assert machine.finished


def test_several_branches_of_one_transaction_at_one_participant() -> None:
    rest = presumed_aborts({"a": (A, B, C)}, (), lambda _: True)
    said = [action.command for machine in rest for action in machine.take() if isinstance(action, Ask)]
    assert said == [dtx.Rollback(A), dtx.Rollback(B), dtx.Rollback(C)]


def test_a_snapshot_is_plain() -> None:
    machine = two()
    machine.take()
    machine.answered("a", OK)
    again = TwoPhase.restore(pickle.loads(pickle.dumps(machine.snapshot())))
    assert again.snapshot() == machine.snapshot()
    assert repr(again) == repr(machine)
    again.answered("b", OK)
    (decide,) = again.take()
    assert isinstance(decide, Decide)
    again = TwoPhase.restore(again.snapshot())
    assert again.take() == (decide,)  # it is not known whether it was stored


@pytest.mark.parametrize(
    "snapshot",
    [
        (),
        (0, "voting", ()),
        (1, "elsewhere", ()),
        (1, "voting", ()),
        (1, "voting", [("a", (0, b"g", b""), "ended", None)]),
        (1, "voting", (("a", (0, b"g", b""), "nowhere", None),)),
        (1, "voting", (("a", (0, b"g"), "ended", None),)),
        (1, "voting", (("a", (0, "g", b""), "ended", None),)),
        (1, "voting", ((1, (0, b"g", b""), "ended", None),)),
        (1, "voting", (("a", (0, b"g", b""), "ended", 99),)),
    ],
)
def test_what_is_no_snapshot(snapshot: tuple[object, ...]) -> None:
    with pytest.raises(DecodeError):
        TwoPhase.restore(snapshot)


def test_what_is_no_decision() -> None:
    for plain in ((("a", 0, b"g"),), ((1, 0, b"g", b""),), (("a", 0, "g", b""),), (1,)):
        with pytest.raises(DecodeError):
            Decision.of(plain)  # type: ignore[arg-type]  # what may be stored


# --- whatever happens -------------------------------------------------------------------------------------------------------


class Participant:
    """A broker as far as one branch goes: what it answers, and what became of the branch in the end."""

    def __init__(self, branch: dtx.Xid, vote: XaStatus, whim: XaStatus | None) -> None:
        self.branch = branch
        self.vote = vote
        self.whim = whim
        self.state = "idle"
        self.end: str | None = None
        self.whimsical = False

    def decide_alone(self) -> None:
        """Idle branches run out of time, prepared ones may be decided by somebody else."""
        if self.state == "idle":
            self.state, self.end = "timed out", "rolled back"
        elif self.state == "prepared" and self.whim is not None:
            self.state, self.whimsical = "heuristic", True
            self.end = {XaStatus.XA_HEURCOM: "committed", XaStatus.XA_HEURRB: "rolled back"}.get(self.whim, "mixed")

    def gone(self, end: str) -> XaStatus:
        self.state, self.end = "unknown", end
        return OK

    def execute(self, command: Command) -> XaStatus | int | tuple[dtx.Xid, ...]:
        """A status, the code of a refusal (as a plain int), or what is in doubt."""
        if isinstance(command, dtx.Recover):
            return (self.branch,) if self.state in ("prepared", "heuristic") else ()
        if self.state == "unknown":
            return 404
        if self.state == "timed out":
            self.state = "unknown"
            return XaStatus.XA_RBTIMEOUT
        if isinstance(command, dtx.Forget):
            if self.state != "heuristic":
                return 409
            self.state = "unknown"
            return OK
        if self.state == "heuristic":
            assert self.whim is not None
            return self.whim if not isinstance(command, dtx.Prepare) else 409
        if isinstance(command, dtx.Prepare):
            return self._prepare()
        if isinstance(command, dtx.Rollback):
            return self.gone("rolled back")
        assert isinstance(command, dtx.Commit)
        if (self.state == "prepared") == command.one_phase:
            return 409
        if command.one_phase and self.vote == XaStatus.XA_RBROLLBACK:
            self.gone("rolled back")
            return self.vote
        return self.gone("committed")

    def _prepare(self) -> XaStatus | int:
        if self.state == "prepared":
            return 409
        if self.vote == OK:
            self.state = "prepared"
        elif self.vote == RDONLY:
            self.gone("read-only")
        elif self.vote == XaStatus.XA_RBTIMEOUT:
            self.gone("rolled back")
        return self.vote


def settle(machine: TwoPhase, name: str, answer: XaStatus | int | tuple[dtx.Xid, ...] | None) -> None:
    if isinstance(answer, tuple):
        machine.recovered(name, answer)
    elif isinstance(answer, XaStatus) or answer is None:
        machine.answered(name, answer)
    else:
        machine.answered(name, None, answer)


VOTES = [OK, OK, OK, RDONLY, XaStatus.XA_RBROLLBACK, XaStatus.XA_RBTIMEOUT]
WHIMS = [None, None, None, XaStatus.XA_HEURCOM, XaStatus.XA_HEURRB, XaStatus.XA_HEURMIX]


class World:
    """Participants, a store that survives, and a manager that does not."""

    def __init__(self, participants: dict[str, Participant]) -> None:
        self.participants = participants
        self.branches = {name: each.branch for name, each in participants.items()}
        self.machines = [TwoPhase(self.branches)]
        self.stored: Decision | None = None
        self.due: list[tuple[TwoPhase, Action]] = []
        self.reported = False
        self.promised: set[TransactionOutcome] = set()

    def collect(self) -> None:
        for machine in self.machines:
            self.due += [(machine, action) for action in machine.take()]
            self.reported = self.reported or bool(machine.heuristics)
            if machine.outcome is not None:
                self.promised.add(machine.outcome)

    def crash(self) -> None:
        self.due = []
        if self.stored is not None:
            self.machines = [TwoPhase.recover(self.stored)]
            return
        lists: dict[str, tuple[dtx.Xid, ...]] = {}
        for name, each in self.participants.items():
            answer = each.execute(dtx.Recover())
            assert isinstance(answer, tuple)
            lists[name] = answer
        self.machines = presumed_aborts(lists, (), lambda branch: key_of(branch)[1] == b"g")

    def carry_out(self, at: int, fate: str) -> None:
        machine, action = self.due.pop(at)
        if isinstance(action, Decide):
            if fate == "lost before":
                self.crash()  # it was not stored
                return
            self.stored = action.decision
            if fate == "lost behind":
                self.crash()
                return
            machine.durable()
            return
        participant = self.participants[action.participant]
        answer = None if fate == "lost before" else participant.execute(action.command)
        settle(machine, action.participant, None if fate == "lost behind" else answer)


STEPS = st.lists(
    st.tuples(st.integers(0, 7), st.sampled_from(["done"] * 9 + ["lost before", "lost behind", "crash", "alone", "stored"])),
    max_size=40,
)


def finish(world: World) -> None:
    """Carries out what is left, without anything going wrong, and checks that all ended alike."""
    for _ in range(50):
        world.collect()
        if not world.due:
            break
        world.carry_out(0, "done")
    world.collect()
    assert all(machine.finished for machine in world.machines)
    for each in world.participants.values():
        if each.state == "idle":
            each.decide_alone()  # nobody will ever ask for it again
    ends = {each.end for each in world.participants.values()} - {"read-only"}
    assert None not in ends
    assert world.reported == any(each.whimsical for each in world.participants.values())
    assert len(world.promised) <= 1
    if not world.reported:
        assert len(ends) <= 1
        for outcome in world.promised - {UNKNOWN}:
            assert ends <= {outcome.value}


def world_of(*brokers: tuple[XaStatus, XaStatus | None]) -> World:
    return World({f"p{n}": Participant(xid(0, b"g", bytes([n])), *broker) for n, broker in enumerate(brokers)})


@pytest.mark.parametrize("fate", ["crash", "lost before", "lost behind"])
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("votes", [(OK, OK), (OK, OK, OK), (OK, RDONLY, OK), (OK, XaStatus.XA_RBROLLBACK, OK), (OK,)])
def test_killed_at_every_step_in_turn(votes: tuple[XaStatus, ...], fate: str, again: bool) -> None:
    """Whichever step of the usual way is lost or the last before a crash: all participants end alike.  `again`: the step
    after it as well, and then everything crashes."""
    for step in range(2 * len(votes) + 2):
        world = world_of(*[(vote, None) for vote in votes])
        for at in range(step + 1 + again):
            world.collect()
            if at < step and world.due:
                world.carry_out(0, "done")
            elif fate == "crash":
                world.crash()
            elif world.due:
                world.carry_out(0, fate)
        if again:
            world.collect()
            world.crash()
        finish(world)


@settings(max_examples=400)
@given(st.lists(st.tuples(st.sampled_from(VOTES), st.sampled_from(WHIMS)), min_size=1, max_size=4), STEPS)
def test_all_participants_end_alike(brokers: list[tuple[XaStatus, XaStatus | None]], steps: list[tuple[int, str]]) -> None:
    """Whatever the order of answers, losses and crashes: all participants end alike, and as the manager said, unless one of
    them reported a heuristic."""
    world = world_of(*brokers)
    for number, what in steps:
        world.collect()
        if what == "crash":
            world.crash()
        elif what == "alone":
            list(world.participants.values())[number % len(brokers)].decide_alone()
        elif what == "stored":
            world.machines = [TwoPhase.restore(pickle.loads(pickle.dumps(machine.snapshot()))) for machine in world.machines]
            for machine in world.machines:
                for name in machine.awaited:
                    machine.lost(name)
            world.due = []
        elif world.due:
            world.carry_out(number % len(world.due), what)
    finish(world)
