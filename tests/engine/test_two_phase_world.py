"""Two-phase commit whatever happens: participants that vote as they like, answers that get lost, and kills at every step."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio.engine.two_phase import Action, Decide, Decision, TwoPhase, presumed_aborts
from amqp_sansio.events import TransactionOutcome
from amqp_sansio.spec import dtx
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.xids import key_of, xid

OK, RDONLY = XaStatus.XA_OK, XaStatus.XA_RDONLY
COMMITTED, ROLLED_BACK, UNKNOWN = TransactionOutcome


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


@settings(max_examples=settings().max_examples * 7)
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
