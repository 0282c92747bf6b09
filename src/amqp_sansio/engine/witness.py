"""The witness of a session in 0-10: judges what both sides send in it, by attachment, ids, completion and credit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from amqp_sansio.engine.contents import CONTENT_VERBS, ContentWitness
from amqp_sansio.engine.demarcation import DemarcationWitness
from amqp_sansio.engine.findings import CREDIT_RULE, DESTINATION_RULE, UNITS, Findings
from amqp_sansio.kernel.machine import Machine, Refusal
from amqp_sansio.kernel.serials import (
    EMPTY,
    TOP,
    MutableRangeSet,
    RangeSet,
    serial_add,
    serial_diff,
    serial_le,
    serial_lt,
)
from amqp_sansio.ledger.credit import INFINITE, MESSAGE, OCTET, Subscriptions
from amqp_sansio.ledger.ids import Ids, Settling, bound
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.spec.codes import DetachCode, ErrorCode
from amqp_sansio.spec.execution import Exception_, Result
from amqp_sansio.spec.message import (
    Accept,
    Acquire,
    Acquired,
    Cancel,
    Flow,
    Reject,
    Release,
    SetFlowMode,
    Stop,
    Subscribe,
    Transfer,
)
from amqp_sansio.spec.message import Flush as FlushCredit
from amqp_sansio.spec.session import (
    Attach,
    Attached,
    CommandPoint,
    Completed,
    Confirmed,
    Detach,
    Detached,
    Expected,
    Flush,
    Gap,
    KnownCompleted,
)
from amqp_sansio.spec.tx import Rollback
from amqp_sansio.tables.connection import OTHER_SIDE
from amqp_sansio.tables.session import (
    ATTACH,
    CLIENT,
    COMMAND,
    COMMAND_POINT,
    COMMAND_SPEAKERS,
    COMPLETED,
    CONFIRMED,
    EXPECTED,
    FLUSH,
    FLUSH_EXPECTED,
    GAP,
    KNOWN_COMPLETED,
    OTHER,
    RULE_NOT_ATTACHED,
    RULE_UNPOINTED,
    SERVER,
    STREAM,
    AttachmentDialogue,
)
from amqp_sansio.tables.transfer import ACQUIRE, RECIPIENT

_TRANSACTIONAL: Final = frozenset(
    ["message.subscribe", "message.cancel", *[verb for verb in COMMAND_SPEAKERS if verb.startswith(("tx.", "dtx."))]]
)


class ChannelWitness:
    """The witness of one channel.

    `late`: we missed the beginning of the conversation, so nothing that depends on it is a violation.
    """

    __slots__ = ("_asked", "_attachment", "_findings", "_late", "_streams", "_transactions", "_unheard",
                 "content", "credit", "name", "number")  # fmt: skip

    def __init__(self, findings: Findings, number: int, late: bool) -> None:
        self._findings: Final = findings
        self.number: Final = number
        self.name: bytes | None = None
        """The session that is, or was last, attached."""
        self._asked: bytes | None = None
        """The name in the last session.attach; None while unknown."""
        self._late = late
        self._attachment = AttachmentDialogue(late)
        # Created on first use: a hostile conversation may never use most of its channels.
        self._streams: dict[str, StreamWitness] = {}
        self.credit: CreditWitness | None = None
        """The credit of the client's subscriptions; a server has none."""
        self.content = ContentWitness(findings, late)
        self._transactions: DemarcationWitness | None = None
        self._unheard = late
        """Whether we may have missed a command of the client about transactions."""

    def _stream(self, sender: str) -> StreamWitness:
        stream = self._streams.get(sender)
        if stream is None:
            stream = self._streams[sender] = StreamWitness(self._findings, sender, OTHER_SIDE[sender], self._late)
        return stream

    @property
    def _credited(self) -> CreditWitness:
        credit = self.credit
        if credit is None:
            credit = self.credit = CreditWitness(self._findings, self._late)
        return credit

    def _resumed(self, speaker: str) -> None:
        """Records that the session began elsewhere, or that `speaker` replays: we do not know all its subscriptions."""
        self._credited.book.doubt = True
        if speaker == CLIENT:
            self._transactions_lost()

    def _transactions_lost(self) -> None:
        self._unheard = True
        if self._transactions is not None:
            self._transactions.lost()

    @property
    def subscriptions(self) -> Subscriptions:
        """The ledger of the client's subscriptions."""
        return self._credited.book

    @property
    def attached(self) -> bool:
        """Whether both sides take the session as attached (False while unknown)."""
        machines = self._attachment.machines
        return machines[CLIENT].states == machines[SERVER].states == ("attached",)

    # --- controls -------------------------------------------------------------------------------------------------------------

    def control(self, speaker: str, control: Control) -> None:
        """Judges a control of class session from `speaker` ("client" or "server")."""
        if not self._may_use(speaker, control.VERB):
            self.refused(speaker, control)
            return
        hear = _CONTROLS.get(type(control))
        if hear is not None:
            hear(self, speaker, control)

    def _command_point(self, speaker: str, control: CommandPoint) -> None:
        stream = self._stream(speaker)
        moved = (control.command_id or 0) != (stream.next or 0)
        if moved or control.command_offset:
            self.content.forget()
        if moved:
            self._resumed(speaker)
        stream.command_point(control)

    def _flush(self, speaker: str, control: Flush) -> None:
        if control.expected:  # sides ask for expected commands when they resume a session
            self.content.forget()
            if not any(each.next for each in self._streams.values()):
                self._resumed(CLIENT)  # before any command, only a side that has state of the session asks for this
        self._stream(speaker).flush(FLUSH_EXPECTED if control.expected else FLUSH)

    def _gap(self, speaker: str, control: Gap) -> None:
        self._stream(speaker).gap(control)
        self.content.forget()
        if speaker == CLIENT:
            self._transactions_lost()

    def _may(self, speaker: str, verb: str) -> bool:
        """Steps both machines by a word about attachment; reports it, and returns False, when they refuse."""
        return self._accepts(speaker, verb, self._attachment.step(speaker, verb))

    def _may_use(self, speaker: str, verb: str) -> bool:
        """Steps the speaker's machine by any other word; reports it, and returns False, when the machine refuses."""
        machine = self._attachment.machines[speaker]
        if machine.states == ("requested",):
            return True  # the specification does not make a speaker wait for session.attached
        return self._accepts(speaker, verb, machine.step(speaker, OTHER))

    def _accepts(self, speaker: str, verb: str, refusal: Refusal | None) -> bool:
        if refusal is None:
            return True
        text = f"{verb} while the channel is {self._attachment.state(speaker)}"
        self._findings.breach(RULE_NOT_ATTACHED, verb, text, refusal.legal_for(speaker))
        return False

    def attach(self, speaker: str, control: Attach, late: bool = False, known: bool = False) -> None:
        """Judges session.attach.  `late`: we may have missed what the other side first sent in the session.

        `known`: a session of that name was attached before, and this may be the same one.
        """
        before = self._attachment.state(speaker)
        if not self._may(speaker, ATTACH):
            self.unsettle()  # the other side may attach the session all the same
            return
        self._asked = control.name
        if before in ("attached", "requested"):
            if control.name == self.name:
                self._findings.note("session.attach.idempotence", "a session is attached that is attached already")
            else:
                rule, text = "session.attach.one-session-per-transport", "another session is on this channel"
                self._findings.divergence(rule, ATTACH, text, ("session.detach",), 2)
            return
        self._findings.forget(self.number)
        self.name = control.name
        self._late = late
        self._streams.clear()
        self.credit = None
        self.content = ContentWitness(self._findings, late or known)
        self._transactions = None
        self._unheard = late

    def attach_answered(self, speaker: str, control: Attached) -> bool:
        """Judges session.attached; returns whether it was legal."""
        if not self._may(speaker, control.VERB):
            return False
        if self._asked is not None and control.name != self._asked:
            said = f"session.attached of {control.name!r}"
            text = "another session than the one that was asked for"
            self._findings.divergence("session.attached.name", said, text, (f"session.attached of {self._asked!r}",))
        if control.name is not None:
            self.name = control.name
        return True

    def detach(self, speaker: str, control: Detach) -> None:
        """Judges session.detach."""
        attached = self.attached
        if self._may(speaker, control.VERB) and attached and control.name != self.name:
            said = f"session.detach of {control.name!r}"
            text = "another session than the one that is attached"
            self._findings.divergence("session.detach.name", said, text, (f"session.detach of {self.name!r}",))

    def detached(self, speaker: str, control: Detached) -> None:
        """Judges session.detached."""
        if self._may(speaker, control.VERB) and control.code:
            self._findings.note("session.detached", f"session.detached with code {_named(DetachCode, control.code)}")

    # --- commands -------------------------------------------------------------------------------------------------------------

    def command(self, speaker: str, verb: str, command: Command | None, octets: int, body: int | None = None) -> int | None:
        """Judges a command; returns its id, None when unknown.

        `octets` counts header and body, `body` the body alone.
        """
        if not self._may_use(speaker, verb):
            self.refused(speaker, command, octets)
            return None
        only = COMMAND_SPEAKERS.get(verb)
        if only is not None and only != speaker:
            self._findings.breach("implement", verb, f"only a {only} says this command", (), 540)
        id = self._stream(speaker).command(command, verb)
        if verb in CONTENT_VERBS:
            self.content.hear(speaker, id, command if only in (None, speaker) else None, octets, body)
        elif command is not None:
            self._judge_effects(speaker, id, command, octets, octets if self._findings.strict or body is None else body)
        elif speaker == CLIENT:
            self._transactions_lost()
        return id

    def refused(self, speaker: str, word: Command | Control | None, octets: int = 0) -> None:
        """Records the effects of an illegal command or control, on which the other side may act all the same."""
        if isinstance(word, Completed):
            self._moves(speaker, word.commands)
        elif isinstance(word, Transfer):
            if speaker == SERVER:
                self.subscriptions.delivered(None, word.destination or "", octets, octets)
        elif isinstance(word, Accept | Reject | Release):
            self._stream(OTHER_SIDE[speaker]).heard(word.VERB, word.transfers or EMPTY)
        elif isinstance(word, Command) and speaker == CLIENT:
            self._credited.hear(None, word, judged=False)

    def quiet(self, speaker: str) -> bool:
        """Returns whether a transfer of `speaker` changes nothing but its id and its credit."""
        return self.attached and self._stream(speaker).quiet

    def transfer(self, speaker: str, transfer: Transfer, octets: int, charge: int) -> int | None:
        """Judges a transfer of `octets` octets while `quiet`, charged with `charge` (see `CreditWitness`); returns its id."""
        id = self._streams[speaker].taken()
        self._sent(speaker, id, transfer, octets, charge)
        return id

    def transfers(self, speaker: str, transfer: Transfer, octets: Sequence[int], charges: Sequence[int]) -> int | None:
        """Judges transfers with the same command together; returns the first id, or None to judge them one by one."""
        stream = self._streams[speaker]
        ids, destination = stream.ids, transfer.destination or ""
        if ids is None or ids.next_id + len(octets) > TOP:
            return None
        if speaker == SERVER and not self.subscriptions.deliveries(ids.next_id, destination, octets, charges):
            return None
        first = ids.take_run(len(octets))
        stream.sent(first, transfer, len(octets))
        return first

    def _sent(self, speaker: str, id: int | None, transfer: Transfer, octets: int, charge: int) -> None:
        if speaker == SERVER:
            self._credited.delivered(id, transfer.destination or "", octets, charge)
        self._streams[speaker].sent(id, transfer)

    def accepts(self, speaker: str, ids: RangeSet) -> int | None:
        """Records a message.accept of `speaker` while `quiet`; returns the id of that command."""
        id = self._streams[speaker].taken()
        self._stream(OTHER_SIDE[speaker]).settled(Accept.VERB, ids, True)
        return id

    def completes(self, speaker: str, ids: RangeSet | None) -> None:
        """Records a legal session.completed of `speaker`."""
        self._moves(speaker, ids)
        fresh = self._stream(OTHER_SIDE[speaker]).completed(ids)
        if fresh:
            self.content.completed(speaker, fresh)

    def _moves(self, speaker: str, ids: RangeSet | None) -> None:
        """Updates credit for commands that `speaker` reports as complete: transfers, and withdrawals of credit."""
        credit = self.credit
        if credit is None or not ids:
            return
        if speaker == CLIENT:
            credit.book.completed(ids)
        else:
            credit.book.carried_out(ids)

    def taken(self, speaker: str) -> int | None:
        """Records that `speaker` broke off its next command, which takes an id and has no other effect."""
        self.content.forget()
        if speaker == CLIENT:
            self._transactions_lost()
        return self._stream(speaker).taken()

    def _judge_effects(self, speaker: str, id: int | None, command: Command, octets: int, charge: int) -> None:
        """Judges a command by the books: transfers and settlements, results, credit and transactions."""
        other = OTHER_SIDE[speaker]
        if isinstance(command, Transfer):
            self._sent(speaker, id, command, octets, charge)
        elif isinstance(command, Accept | Reject | Release | Acquire):
            self._stream(other).settled(command.VERB, command.transfers, isinstance(command, Accept | Reject), id)
        elif isinstance(command, Result):
            self._stream(other).result(command.command_id, command.value)
            self._stream(speaker).acquired(command.command_id, command.value)
            if speaker == SERVER and self._transactions is not None:
                self._transactions.answered(command.command_id, command.value)
        elif isinstance(command, Exception_):
            reason = f": {command.description[:200]}" if command.description else ""
            code = _named(ErrorCode, command.error_code)
            self._findings.note("execution.exception", f"the {speaker} refuses with {code}{reason}")
        elif speaker == CLIENT:
            self._credited.hear(id, command)
            if isinstance(command, Rollback):
                self._stream(other).rolled_back()
            if command.VERB in _TRANSACTIONAL:
                if self._transactions is None:
                    self._transactions = DemarcationWitness(self._findings, self._unheard)
                self._transactions.hear(id, command)

    # --- gaps -----------------------------------------------------------------------------------------------------------------

    def unsettle(self) -> None:
        """Makes every state possible: attached or not, numbered or not, with or without credit."""
        self._late = True
        self._transactions_lost()
        self._attachment = AttachmentDialogue(True)
        for stream in self._streams.values():
            stream.unsettle()
        self.content.forget()
        self._credited.book.doubt = True

    def lost(self, speaker: str) -> None:
        """Records lost octets of `speaker`: what depends on them is unknown."""
        self.unsettle()
        self.subscriptions.lose()
        self._asked = None
        if speaker == CLIENT:
            self.name = None
        self._stream(speaker).lost()
        self._stream(OTHER_SIDE[speaker]).feedback_lost()


_CONTROLS: Final[dict[type[Control], Callable[[ChannelWitness, str, Any], None]]] = {  # Any: each row takes its own control
    Completed: lambda witness, speaker, control: witness.completes(speaker, control.commands),
    CommandPoint: ChannelWitness._command_point,
    KnownCompleted: lambda witness, speaker, control: witness._stream(speaker).known_completed(control),
    Confirmed: lambda witness, speaker, control: witness._stream(OTHER_SIDE[speaker]).confirmed(control),
    Expected: lambda witness, speaker, control: witness._stream(OTHER_SIDE[speaker]).expected(control),
    Flush: ChannelWitness._flush,
    Gap: ChannelWitness._gap,
}


def _named(codes: type[DetachCode] | type[ErrorCode], code: int | None) -> str:
    if code is None:
        return "no code"
    try:
        return f"{int(code)} {codes(code).name.lower().replace('_', '-')}"
    except ValueError:
        return f"{code} unknown"


class CreditWitness:
    """Keeps the ledger of one side's subscriptions in a session, and reports violations of their credit.

    A delivery's `charge` is the octets of its body and, when strict, of its header, which Broker-J does not count.
    """

    __slots__ = ("_findings", "book")

    def __init__(self, findings: Findings, doubt: bool) -> None:
        self._findings: Final = findings
        self.book: Final = Subscriptions(findings.limits.subscriptions, findings.limits.replay_commands)
        self.book.doubt = doubt

    def hear(self, id: int | None, command: Command, judged: bool = True) -> None:
        """Records the subscriber's command `id` if it is about credit; not `judged`: we have reported it as illegal already."""
        if not isinstance(command, Cancel | Flow | FlushCredit | SetFlowMode | Stop | Subscribe):
            return
        destination = command.destination or ""
        book = self.book
        if isinstance(command, Subscribe):
            if not book.subscribe(destination) and judged and not book.doubt:
                # Deployed brokers refuse a second subscription to a destination; qpidd accepts it for the empty name.
                tell = self._findings.breach if destination else self._findings.letter
                tell(
                    "message.subscribe.destination.unique-subscriber-destination",
                    f"message.subscribe of destination {destination[:80]!r}",
                    "a subscription of this session has this destination",
                    ("another destination", f"message.cancel of destination {destination[:80]!r}"),
                    ErrorCode.NOT_ALLOWED,
                )
        elif isinstance(command, Flow):
            book.grant(destination, OCTET if command.unit else MESSAGE, INFINITE if command.value is None else command.value)
        elif isinstance(command, SetFlowMode):
            entry = book.entries.get(destination)
            judged = judged and entry is not None and not entry.doubt and not book.doubt
            if not book.set_mode(destination, command.flow_mode or 0) and judged:
                self._findings.letter(
                    "message.set-flow-mode.mode-switching",
                    f"message.set-flow-mode of destination {destination[:80]!r}",
                    "the mode changes only while there is no credit",
                    ("message.stop", "message.flush"),
                    about=destination[:80],
                )
        else:
            book.take_back(destination, id, isinstance(command, FlushCredit), isinstance(command, Cancel))

    def delivered(self, id: int | None, destination: str, octets: int, charge: int) -> None:
        """Judges a transfer with `octets` octets of header and body, charged with `charge`."""
        book = self.book
        entry = book.entries.get(destination)
        if entry is not None:
            unit = book.delivered(id, destination, octets, charge)
            if unit is not None and not entry.doubt and not book.doubt:
                entry.doubt = True
                left = entry.book.most_octets if unit == OCTET else entry.book.most_messages
                cost = charge if unit == OCTET else 1
                self._findings.divergence(
                    CREDIT_RULE,
                    f"message.transfer to destination {destination[:80]!r}",
                    f"a transfer of {cost} beyond the {UNITS[unit]} credit of its destination, of which {left or 0} was left",
                    (f"message.transfer of at most {left}",) if left else (),
                    about=destination[:80],
                )
        elif not book.doubt:
            self._findings.divergence(
                DESTINATION_RULE,
                f"message.transfer to destination {destination[:80]!r}",
                "a transfer to a destination that nobody subscribed with",
                tuple([repr(name[:80]) for name in list(book.entries)[:10]]),
                about=destination[:80],
            )


_COMPLETED: Final = "ranges of completed commands"


class StreamWitness:
    """Judges one direction of a session.

    `late`: we missed the beginning of the stream, so ids are unknown until a command-point comes.
    """

    __slots__ = (
        "_doubt", "_findings", "_floor", "_known", "_late", "_machine", "_receiver", "_sender", "ids", "transfers",
    )  # fmt: skip

    def __init__(self, findings: Findings, sender: str, receiver: str, late: bool) -> None:
        self._findings: Final = findings
        self._sender: Final = sender
        self._receiver: Final = receiver
        self._late = late
        self._machine = Machine.unknown(STREAM[sender]) if late else Machine(STREAM[sender])
        self.ids: Ids | None = None
        """The ledger of its ids; None while they are unknown."""
        self._doubt = late
        """Whether we may have missed something that the receiver reported."""
        self._floor = 0
        """The first known id; feedback about earlier ones cannot be judged."""
        self._known: MutableRangeSet | None = MutableRangeSet() if findings.strict and not late else None
        """The ids of session.known-completed; None unless strict, or while they are unknown."""
        self.transfers: Settling | None = Settling() if findings.strict and not late else None
        """The settlement of its transfers; None unless strict, since a peer that breaks these rows breaks only the letter."""

    # --- the sender -----------------------------------------------------------------------------------------------------------

    def command(self, command: Command | None, verb: str) -> int | None:
        """Judges a command; returns its id, None while unknown."""
        if self._machine.step(self._sender, COMMAND) is not None:
            text = "a command before the first command-point of this attachment"
            self._findings.breach(RULE_UNPOINTED, verb, text, (COMMAND_POINT,), 409)
            return None
        id = self.taken()
        if self.ids is not None and id is not None and command is not None and command.RESULT:
            gone = self.ids.wait(id, command.RESULT, self._findings.limits.replay_commands)
            if gone is not None:
                self._floor = serial_add(gone, 1)
        return id

    def sent(self, id: int | None, transfer: Transfer, count: int = 1) -> None:
        """Records `count` identical transfers, the first of them with id `id`."""
        if self.transfers is not None and id is not None:
            # acquire-mode has a meaning only from a queue to its consumer: a published message always counts as acquired.
            acquired = self._sender == CLIENT or not transfer.acquire_mode
            self.transfers.sent(id, id + count - 1, int(bool(transfer.accept_mode)), acquired)
            self._bound_transfers(self.transfers)

    def acquired(self, id: int | None, value: Struct | None) -> None:
        """Records the sender's result for the receiver's command `id`, which may be an acquire of its transfers."""
        if self.transfers is not None and id is not None and isinstance(value, Acquired):
            self.transfers.acquired(id, value.transfers or EMPTY)

    @property
    def next(self) -> int | None:
        """The id of the next command; None while unknown."""
        return None if self.ids is None else self.ids.next_id

    @property
    def quiet(self) -> bool:
        """Whether a command without a result changes nothing but the ids."""
        return self.ids is not None and self._machine.stays(self._sender, COMMAND)

    def taken(self) -> int | None:
        """Assigns and returns the next id."""
        return None if self.ids is None else self.ids.take()

    def command_point(self, control: CommandPoint) -> None:
        """Judges session.command-point."""
        self._machine.step(self._sender, COMMAND_POINT)
        id = control.command_id or 0
        if control.command_offset:
            text = f"the stream goes on in the middle of command {id}, at octet {control.command_offset}"
            self._findings.note("session.command-point.nonzero-offset", text)
        book = self.ids
        if book is None:
            book = self.ids = Ids(id)
            self._floor = id
        elif id != book.next_id:
            way = "forward" if serial_lt(book.next_id, id) else "back"
            text = f"the stream jumps {way} from command {book.next_id} to {id}"
            self._findings.note("session.command-point", text)
            if serial_lt(id, self._floor):
                self._floor = id
            book.awaited.clear()
            if self.transfers is not None:
                self.transfers.lose()
        book.next_id = serial_add(id, 1) if control.command_offset else id  # the rest of a command takes no further id

    def gap(self, control: Gap) -> None:
        """Judges session.gap."""
        self._machine.step(self._sender, GAP)
        ids = control.commands
        if ids:
            self._findings.note("session.gap", f"the commands {_show(ids)} will never come")
            book = self.ids
            if book is not None:
                book.skip(ids)
                self._bound_ids(book)
                if serial_le(book.next_id, ids.last):
                    book.next_id = serial_add(ids.last, 1)

    def known_completed(self, control: KnownCompleted) -> None:
        """Judges session.known-completed."""
        self._machine.step(self._sender, KNOWN_COMPLETED)
        ids, book = control.commands, self.ids
        if not ids or book is None or self._doubt or self._beyond(ids, "session.known-completed", 0):
            return
        unheard = book.outstanding.common(ids)
        if unheard:
            rule = "session.known-completed.commands.known-completed-implies-known-confirmed"
            text = f"the commands {_show(unheard)} were never reported as complete"
            self._findings.divergence(rule, "session.known-completed", text)
        if self._known is not None:
            self._known.update(ids)
            ranges = self._findings.limits.ranges
            self._findings.bounded(bound(self._known, book.next_id, ranges), "ranges", _COMPLETED)

    # --- the receiver ---------------------------------------------------------------------------------------------------------

    def completed(self, ids: RangeSet | None) -> RangeSet:
        """Judges session.completed; returns the ids that were not complete before."""
        self._machine.step(self._receiver, COMPLETED)
        book = self.ids
        if not ids or book is None:
            return EMPTY
        ranges = ids.ranges
        if not self._findings.strict and len(ranges) == 1:
            news = book.complete_run(*ranges[0])
            if news is not None:
                return news
        news = book.complete(ids)
        self._bound_ids(book)
        if self._beyond(ids, "session.completed", 0):
            return EMPTY
        self.heard(COMPLETED, news)
        if self._known is not None:
            again = ids - self._known.missing(ids)
            if again:
                rule = "session.completed.commands.exclude-known-complete"
                self._findings.letter(rule, "session.completed", f"the commands {_show(again)} were known to be complete")
        return news

    def confirmed(self, control: Confirmed) -> None:
        """Judges session.confirmed."""
        self._machine.step(self._receiver, CONFIRMED)
        ids = control.commands
        if not ids:
            return
        if self.next is not None and ids.last == self.next:  # qpidd's set ends one id too late
            text = f"command {self.next} has not been sent yet"
            self._findings.letter("session.confirmed.commands", "session.confirmed", text)
        else:
            self._beyond(ids, "session.confirmed", 1)

    def expected(self, control: Expected) -> None:
        """Judges session.expected."""
        refusal = self._machine.step(self._receiver, EXPECTED)
        if refusal is not None:
            text = "nobody asked with session.flush for the expected commands"
            self._findings.divergence("session.expected", "session.expected", text, refusal.legal_for(self._receiver))
        if control.commands:
            self._beyond(control.commands, "session.expected", 1)

    def result(self, id: int | None, value: Struct | None) -> None:
        """Judges execution.result."""
        said = f"execution.result of command {id}"
        if id is None:
            self._findings.letter("execution.result.command-id", "execution.result", "a result of no command", ("command-id",))
            return
        book = self.ids
        wanted = None if book is None else book.awaited.pop(id, None)
        if wanted is not None:
            if value is not None and wanted != value.NAME:
                text, legal = f"the result is of type {value.NAME}", (f"execution.result {wanted} of command {id}",)
                self._findings.breach("execution.result.value", said, text, legal)
        elif book is None or self._late:
            return
        elif not serial_lt(id, book.next_id):
            text = f"command {id} has not been sent; the next one is {book.next_id}"
            self._findings.breach("execution.result.command-id", said, text, _awaited(book))
        elif serial_le(self._floor, id):
            text = f"command {id} has no result, or has had it"
            self._findings.breach("execution.result", said, text, _awaited(book))

    def settled(self, verb: str, ids: RangeSet | None, final: bool, id: int | None = None) -> None:
        """Judges accept, reject, release or acquire (command `id`) of transfers; `final`: it is accept or reject."""
        if not ids:
            return
        refused = self.heard(verb, ids, id)
        if self.next is not None and not serial_lt(ids.last, self.next):
            text = f"the transfers {_show(ids)} were not all sent; the next id is {self.next}"
            self._findings.divergence(f"{verb}.transfers", verb, text, about=str(ids.last))
        elif final and refused:
            rule, text = f"{verb}.acquisition", f"the transfers {_show(refused)} are settled already, or not acquired"
            self._findings.letter(rule, verb, text, about=str(refused.first))

    def heard(self, verb: str, ids: RangeSet, id: int | None = None) -> RangeSet:
        """Steps transfers by the rows of TRANSFER; returns those that the rows refuse.  `id`: the command id of an acquire."""
        book = self.transfers
        if book is None:
            return EMPTY
        refused = EMPTY
        if verb == ACQUIRE and id is not None:
            book.acquire(id, ids)
        else:
            refused = book.said(RECIPIENT, verb, ids)
        self._bound_transfers(book)
        return refused

    def _bound_ids(self, book: Ids) -> None:
        limited = self._findings.bounded(book.bound(self._findings.limits.ranges), "ranges", _COMPLETED)
        self._doubt = limited or self._doubt

    def _bound_transfers(self, book: Settling) -> None:
        self._findings.bounded(book.bound(self.next or 0, self._findings.limits.ranges), "ranges", "ranges of transfers")

    def rolled_back(self) -> None:
        """Records the rollback of a local transaction: the accepts in it are undone, and we do not know which they were."""
        if self.transfers is not None:
            self.transfers.lose()

    def flush(self, word: str) -> None:
        """Judges session.flush."""
        self._machine.step(self._sender, word)

    def unsettle(self) -> None:
        """Makes every state possible: the next unit may come out of order."""
        self._machine.forget()

    def lost(self) -> None:
        """Records a gap: ids are unknown until the next command-point."""
        self._late = True
        self.ids = None
        self.feedback_lost()

    def feedback_lost(self) -> None:
        """Records lost feedback: what the receiver has reported and settled is unknown."""
        self._machine.forget()
        self._doubt = True
        self._known = None
        self.transfers = None

    def _beyond(self, ids: RangeSet, verb: str, allowed: int) -> bool:
        """Reports ids that have not been sent as a violation; up to `allowed` ids after the last one are tolerated."""
        if self.next is None or serial_diff(ids.last, self.next) < allowed:
            return False
        legal = f"ids up to {serial_add(self.next, -1)}" if self.next != self._floor else "no ids: no command was sent"
        self._findings.breach(f"{verb}.commands", f"{verb} {_show(ids)}", "commands that have not been sent", (legal,), 542)
        return True


def _awaited(book: Ids) -> tuple[str, ...]:
    return tuple([f"execution.result of command {id}" for id in list(book.awaited)[:10]])


def _show(ids: RangeSet) -> str:
    ranges = ids.ranges
    shown = ", ".join([str(low) if low == high else f"{low}-{high}" for low, high in ranges[:5]])
    return shown if len(ranges) <= 5 else f"{shown} and {len(ranges) - 5} more ranges"
