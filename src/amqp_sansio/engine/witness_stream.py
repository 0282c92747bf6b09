"""One sender's commands in one session, and what the receiver says about them: ids, completion, results."""

from __future__ import annotations

from typing import Final

from amqp_sansio.engine.findings import Findings
from amqp_sansio.kernel.machine import Machine, Refusal
from amqp_sansio.kernel.serials import (
    EMPTY,
    TOP,
    MutableRangeSet,
    RangeSet,
    between,
    serial_add,
    serial_diff,
    serial_le,
    serial_lt,
)
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.session import CommandPoint, Confirmed, Expected, Gap, KnownCompleted
from amqp_sansio.tables.session import (
    COMMAND,
    COMMAND_POINT,
    COMPLETED,
    CONFIRMED,
    EXPECTED,
    GAP,
    KNOWN_COMPLETED,
    RULE_UNPOINTED,
    STREAM,
)


class StreamWitness:
    """`late`: the stream was not heard from its beginning, so ids are unknown until a command-point is heard."""

    __slots__ = (
        "_findings", "_floor", "_known", "_late", "_machine", "_receiver", "_reported", "_results", "_sender", "_settled",
        "next",
    )  # fmt: skip

    def __init__(self, findings: Findings, sender: str, receiver: str, late: bool) -> None:
        self._findings: Final = findings
        self._sender: Final = sender
        self._receiver: Final = receiver
        self._late = late
        self._machine = Machine.unknown(STREAM[sender]) if late else Machine(STREAM[sender])
        self.next: int | None = None
        """The id of the next command; None while unknown."""
        self._floor = 0
        """The first id heard: what is said about those before it cannot be judged."""
        self._reported: MutableRangeSet | None = None if late else MutableRangeSet()
        self._known: MutableRangeSet | None = None if late else MutableRangeSet()
        self._settled: MutableRangeSet | None = MutableRangeSet() if findings.strict and not late else None
        self._results: dict[int, str] = {}  # the type of each that is awaited

    # The sender's words.

    def command(self, command: Command | None, verb: str) -> int | None:
        """The sender says a command: its id, None while unknown."""
        refusal = self._machine.step(self._sender, COMMAND)
        if refusal is not None:
            text = "a command before the first command-point of this attachment"
            legal = (COMMAND_POINT,)
            self._findings.breach(RULE_UNPOINTED, verb, text, legal, 409)
            return None
        id = self.taken()
        if id is not None and command is not None and command.RESULT:
            if len(self._results) >= self._findings.limits.replay_commands:
                self._results.clear()
                self._floor = id
            self._results[id] = command.RESULT
        return id

    @property
    def quiet(self) -> bool:
        """Whether a command without result changes nothing but the next id."""
        return self.next is not None and self._machine.stays(self._sender, COMMAND)

    def taken(self) -> int | None:
        """The next id is given away."""
        id = self.next
        if id is not None:
            self.next = id + 1 & TOP
        return id

    def command_point(self, control: CommandPoint) -> None:
        """The sender says which id comes next."""
        self._machine.step(self._sender, COMMAND_POINT)
        id = control.command_id or 0
        if control.command_offset:
            text = f"the stream goes on in the middle of command {id}, at octet {control.command_offset}"
            self._findings.note("session.command-point.nonzero-offset", text)
        if self.next is None:
            self._floor = id
        elif id != self.next:
            way = "forward" if serial_lt(self.next, id) else "back"
            text = f"the stream jumps {way} from command {self.next} to {id}"
            self._findings.note("session.command-point", text)
            if serial_lt(id, self._floor):
                self._floor = id
            self._results.clear()
        self.next = serial_add(id, 1) if control.command_offset else id  # its rest takes no other id

    def gap(self, control: Gap) -> None:
        """The sender will never send these ids."""
        self._machine.step(self._sender, GAP)
        ids = control.commands
        if ids:
            self._findings.note("session.gap", f"the commands {_show(ids)} will never come")
            last = ids.last
            if self.next is not None and serial_le(self.next, last):
                self.next = serial_add(last, 1)

    def known_completed(self, control: KnownCompleted) -> None:
        """The sender has heard that these are complete."""
        self._machine.step(self._sender, KNOWN_COMPLETED)
        ids = control.commands
        if not ids or self._known is None or self._reported is None:
            return
        if self._beyond(ids, "session.known-completed", 0):
            return
        unheard = self._reported.missing(self._judged(ids))
        if unheard:
            rule = "session.known-completed.commands.known-completed-implies-known-confirmed"
            text = f"the commands {_show(unheard)} were never reported as complete"
            self._findings.divergence(rule, "session.known-completed", text)
        self._known = self._grown(self._known, ids)

    # The receiver's words.

    def completed(self, ids: RangeSet | None) -> RangeSet:
        """These are complete: those of them that were not reported before."""
        self._machine.step(self._receiver, COMPLETED)
        if not ids:
            return EMPTY
        if self._next_in_line(ids):
            return ids
        if self._beyond(ids, "session.completed", 0):
            return EMPTY
        if self._known is not None and self._findings.strict:
            again = ids - self._known.missing(ids)
            if again:
                rule = "session.completed.commands.exclude-known-complete"
                text = f"the commands {_show(again)} were known to be complete"
                self._findings.letter(rule, "session.completed", text)
        fresh = self._judged(ids)
        if self._reported is not None:
            fresh = self._reported.missing(fresh)
            self._reported = self._grown(self._reported, ids)
        return fresh

    def _next_in_line(self, ids: RangeSet) -> bool:
        """Nearly always: one range right behind those that were reported before.  Then these are reported now."""
        reported, following = self._reported, self.next
        if reported is None or following is None or self._findings.strict:
            return False
        return reported.follow(ids, self._floor, following)

    def confirmed(self, control: Confirmed) -> None:
        """The receiver will complete these for certain."""
        self._machine.step(self._receiver, CONFIRMED)
        ids = control.commands
        if not ids:
            return
        if self.next is not None and ids.last == self.next:  # qpidd's set ends one behind the last
            text = f"command {self.next} has not been sent yet"
            self._findings.letter("session.confirmed.commands", "session.confirmed", text)
        else:
            self._beyond(ids, "session.confirmed", 1)

    def expected(self, control: Expected) -> None:
        """The receiver says what it lacks after an attach."""
        refusal = self._machine.step(self._receiver, EXPECTED)
        if refusal is not None:
            text = "nobody asked with session.flush for the expected commands"
            self._findings.divergence("session.expected", "session.expected", text, refusal.legal_for(self._receiver))
        if control.commands:
            self._beyond(control.commands, "session.expected", 1)

    def result(self, id: int | None, value: Struct | None) -> None:
        """The receiver answers a command with execution.result."""
        said = f"execution.result of command {id}"
        if id is None:
            self._findings.letter("execution.result.command-id", "execution.result", "a result of no command", ("command-id",))
        elif (wanted := self._results.pop(id, None)) is not None:
            if value is not None and wanted != value.NAME:
                text, legal = f"the result is of type {value.NAME}", (f"execution.result {wanted} of command {id}",)
                self._findings.breach("execution.result.value", said, text, legal)
        elif self.next is None or self._late:
            return
        elif not serial_lt(id, self.next):
            text = f"command {id} has not been sent; the next one is {self.next}"
            self._findings.breach("execution.result.command-id", said, text, self._awaited())
        elif serial_le(self._floor, id):
            text = f"command {id} has no result, or has had it"
            self._findings.breach("execution.result", said, text, self._awaited())

    def settled(self, verb: str, ids: RangeSet | None, final: bool) -> None:
        """The receiver accepts, rejects, releases or acquires transfers of the sender; `final`: they are settled by it."""
        if not ids:
            return
        if self.next is not None and not serial_lt(ids.last, self.next):
            text = f"the transfers {_show(ids)} were not all sent; the next id is {self.next}"
            self._findings.divergence(f"{verb}.transfers", verb, text, about=str(ids.last))
        elif final and self._settled is not None:
            again = ids - self._settled.missing(ids)
            if again:
                rule, text = f"{verb}.acquisition", f"the transfers {_show(again)} were settled before"
                self._findings.letter(rule, verb, text, about=str(again.first))
            self._settled = self._grown(self._settled, ids)

    def rolled_back(self) -> None:
        """The receiver rolled back a local transaction: what it accepted in it is to be settled anew, and nobody kept which."""
        if self._settled is not None:
            self._settled = MutableRangeSet()

    def flush(self, word: str) -> Refusal | None:
        """The sender asks for sets."""
        return self._machine.step(self._sender, word)

    def unsettle(self) -> None:
        """What is heard next may come out of turn."""
        self._machine.forget()

    def lost(self) -> None:
        """Something was lost: ids are unknown until the next command-point."""
        self._late = True
        self._machine.forget()
        self.next = None
        self._reported = None
        self._known = None
        self._settled = None
        self._results.clear()

    def feedback_lost(self) -> None:
        """Something that the receiver said was lost: what it has reported and settled is unknown."""
        self._machine.forget()
        self._reported = None
        self._known = None
        self._settled = None

    def _awaited(self) -> tuple[str, ...]:
        return tuple([f"execution.result of command {id}" for id in list(self._results)[:10]])

    def _judged(self, ids: RangeSet) -> RangeSet:
        """Those of the ids that were sent within our hearing."""
        if self.next is None or self.next == self._floor:
            return EMPTY
        return between(ids, self._floor, serial_add(self.next, -1))

    def _beyond(self, ids: RangeSet, verb: str, allowed: int) -> bool:
        """Tells, as a breach, ids that have not been sent (`allowed`: so many behind the last may be named)."""
        if self.next is None or serial_diff(ids.last, self.next) < allowed:
            return False
        code = 542
        last = serial_add(self.next, -1)
        legal = (f"ids up to {last}",) if self.next != self._floor else ("no ids: no command was sent",)
        self._findings.breach(f"{verb}.commands", f"{verb} {_show(ids)}", "commands that have not been sent", legal, code)
        return True

    def _grown(self, known: MutableRangeSet, ids: RangeSet) -> MutableRangeSet | None:
        known.update(ids)
        if known.range_count <= self._findings.limits.ranges:
            return known
        self._findings.note("limits.ranges", "more ranges than we remember: what was completed is not followed any more")
        return None


def _show(ids: RangeSet) -> str:
    ranges = ids.ranges
    shown = ", ".join([str(low) if low == high else f"{low}-{high}" for low, high in ranges[:5]])
    return shown if len(ranges) <= 5 else f"{shown} and {len(ranges) - 5} more ranges"
