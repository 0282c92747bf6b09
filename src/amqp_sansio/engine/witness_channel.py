"""One channel as a third person hears it: its session, and the two streams of commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from amqp_sansio.engine.contents import CONTENT_VERBS
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.witness_content import ContentWitness
from amqp_sansio.engine.witness_credit import CreditWitness
from amqp_sansio.engine.witness_demarcation import DemarcationWitness
from amqp_sansio.engine.witness_stream import StreamWitness
from amqp_sansio.kernel.serials import EMPTY, TOP, RangeSet
from amqp_sansio.ledger.subscriptions import Subscriptions
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.spec.codes import DetachCode, ErrorCode
from amqp_sansio.spec.execution import Exception_, Result
from amqp_sansio.spec.message import Accept, Acquire, Reject, Release, Transfer
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
from amqp_sansio.tables.session import (
    ATTACH,
    CLIENT,
    COMMAND_SPEAKERS,
    FLUSH,
    FLUSH_EXPECTED,
    OTHER,
    RULE_NOT_ATTACHED,
    SERVER,
    AttachmentDialogue,
    attachment_verb,
)

_TRANSACTIONAL: Final = frozenset(
    ["message.subscribe", "message.cancel", *[verb for verb in COMMAND_SPEAKERS if verb.startswith(("tx.", "dtx."))]]
)


class ChannelWitness:
    """`late`: we missed the beginning of the conversation, and accuse nobody of what depends on it."""

    __slots__ = ("_asked", "_attachment", "_findings", "_late", "_streams", "_transactions", "_unheard",
                 "content", "credit", "name", "number")  # fmt: skip

    def __init__(self, findings: Findings, number: int, late: bool) -> None:
        self._findings: Final = findings
        self.number: Final = number
        self.name: bytes | None = None
        """The session that is, or was last, attached."""
        self._asked: bytes | None = None
        self._late = late
        self._attachment = AttachmentDialogue(late)
        # Made when first needed: most channels of a hostile conversation never are.
        self._streams: dict[str, StreamWitness] = {}
        self.credit: CreditWitness | None = None
        """The client's subscriptions: nobody else has any."""
        self.content = ContentWitness(findings, late)
        self._transactions: DemarcationWitness | None = None
        self._unheard = late
        """Whether we may have missed something that the client said about transactions."""

    def _stream(self, sender: str) -> StreamWitness:
        stream = self._streams.get(sender)
        if stream is None:
            stream = self._streams[sender] = StreamWitness(self._findings, sender, _other(sender), self._late)
        return stream

    @property
    def _credited(self) -> CreditWitness:
        credit = self.credit
        if credit is None:
            credit = self.credit = CreditWitness(self._findings, self._late)
        return credit

    def _transactions_of_client(self) -> DemarcationWitness:
        if self._transactions is None:
            self._transactions = DemarcationWitness(self._findings, self._unheard)
        return self._transactions

    def _goes_on(self, speaker: str) -> None:
        """The session began elsewhere, or `speaker` says something again: not all of its subscriptions are known."""
        self._credited.book.doubt = True
        if speaker == CLIENT:
            self._transactions_lost()

    def _transactions_lost(self) -> None:
        self._unheard = True
        if self._transactions is not None:
            self._transactions.lost()

    @property
    def subscriptions(self) -> Subscriptions:
        """The book of the client's subscriptions; empty as long as there were none."""
        return self._credited.book

    @property
    def attached(self) -> bool:
        """Whether both sides take it for attached (False while unknown)."""
        return self._attachment.state(CLIENT) == self._attachment.state(SERVER) == "attached"

    # Controls.

    def control(self, speaker: str, control: Control) -> None:
        """`speaker` ("client" or "server") says a control of class session."""
        if not self._may(speaker, control.VERB):
            self.refused(speaker, control)
            return
        other = _other(speaker)
        if isinstance(control, Completed):
            self.completes(speaker, control.commands)
        elif isinstance(control, CommandPoint):
            stream = self._stream(speaker)
            self.content.pointed(control, stream.next)
            if (control.command_id or 0) != (stream.next or 0):
                self._goes_on(speaker)
            stream.command_point(control)
        elif isinstance(control, KnownCompleted):
            self._stream(speaker).known_completed(control)
        elif isinstance(control, Confirmed):
            self._stream(other).confirmed(control)
        elif isinstance(control, Expected):
            self._stream(other).expected(control)
        elif isinstance(control, Flush):
            self.content.flushed(control)
            if control.expected and not any(each.next for each in self._streams.values()):
                self._goes_on(CLIENT)  # who asks that before anything was said has state of the session
            self._stream(speaker).flush(FLUSH_EXPECTED if control.expected else FLUSH)
        elif isinstance(control, Gap):
            self._stream(speaker).gap(control)
            self.content.forget()
            if speaker == CLIENT:
                self._transactions_lost()

    def _may(self, speaker: str, verb: str) -> bool:
        """Steps the attachment; reports, as a breach, a word without one."""
        word = attachment_verb(verb)
        if word == OTHER and self._attachment.state(speaker) == "requested":
            return True  # it arrives behind the attach: no sentence of the specification makes its speaker wait
        refusal = self._attachment.step(speaker, word)
        if refusal is None:
            return True
        text = f"{verb} while the channel is {self._attachment.state(speaker)}"
        self._findings.breach(RULE_NOT_ATTACHED, verb, text, refusal.legal_for(speaker))
        return False

    def attach(self, speaker: str, control: Attach, late: bool = False, known: bool = False) -> None:
        """`speaker` asks for a session.  `late`: we may miss the beginning of what the other side says in it.

        `known`: a session of that name was attached before, and this may be the same.
        """
        before = self._attachment.state(speaker)
        if not self._may(speaker, ATTACH):
            return
        self._asked = control.name
        if before in ("attached", "requested"):
            if control.name == self.name:
                text = "a session is attached that is attached already"
                self._findings.note("session.attach.idempotence", text)
            else:
                text = "another session is on this channel"
                rule = "session.attach.one-session-per-transport"
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
        """`speaker` attaches a session that was asked for.  Whether that was legal."""
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
        """`speaker` wants the session detached."""
        attached = self.attached
        if self._may(speaker, control.VERB) and attached and control.name != self.name:
            said = f"session.detach of {control.name!r}"
            text = "another session than the one that is attached"
            self._findings.divergence("session.detach.name", said, text, (f"session.detach of {self.name!r}",))

    def detached(self, speaker: str, control: Detached) -> None:
        """`speaker` says that the session is not, or no longer, attached."""
        if self._may(speaker, control.VERB) and control.code:
            self._findings.note("session.detached", f"session.detached with code {_named(DetachCode, control.code)}")

    # Commands.

    def command(self, speaker: str, verb: str, command: Command | None, octets: int, body: int | None = None) -> int | None:
        """`speaker` says a command with so many octets of header and body, and of body alone: its id, None while unknown."""
        if not self._may(speaker, verb):
            self.refused(speaker, command, octets)
            return None
        only = COMMAND_SPEAKERS.get(verb)
        if only is not None and only != speaker:
            self._findings.breach("implement", verb, f"only a {only} says this command", (), 540)
        id = self._stream(speaker).command(command, verb)
        if verb in CONTENT_VERBS:
            self.content.hear(speaker, id, command if only in (None, speaker) else None, octets, body)
        elif command is not None:
            self._carries(speaker, id, command, octets, octets if self._findings.strict or body is None else body)
        elif speaker == CLIENT:
            self._transactions_lost()
        return id

    def refused(self, speaker: str, word: Command | Control | None, octets: int = 0) -> None:
        """`speaker` says something illegal: a peer that acts on it knows it all the same."""
        if isinstance(word, Completed):
            self._moves(speaker, word.commands)
        elif isinstance(word, Transfer):
            if speaker == SERVER:
                self._credited.book.delivered(None, word.destination or "", octets, octets)
        elif isinstance(word, Accept | Reject | Release):
            self._stream(_other(speaker)).heard(word.VERB, word.transfers or EMPTY)
        elif isinstance(word, Command) and speaker == CLIENT:
            self._credited.hear(None, word, judged=False)

    def quiet(self, speaker: str) -> bool:
        """Whether nothing but its id and its credit changes by a transfer of `speaker`."""
        return self.attached and self._stream(speaker).quiet

    def transfer(self, speaker: str, transfer: Transfer, octets: int, charge: int) -> int | None:
        """A transfer of so many octets while it is `quiet`, charged with `charge` (see `CreditWitness`): its id."""
        id = self._streams[speaker].taken()
        self._sent(speaker, id, transfer, octets, charge)
        return id

    def transfers(self, speaker: str, transfer: Transfer, octets: Sequence[int], charges: Sequence[int]) -> int | None:
        """As many of them at once that are alike, if there is no finding about any: the first id.  None: one by one."""
        stream = self._streams[speaker]
        ids, destination = stream.ids, transfer.destination or ""
        if ids is None or ids.next_id + len(octets) > TOP:
            return None
        if speaker == SERVER and not self._credited.book.deliveries(ids.next_id, destination, octets, charges):
            return None
        first = ids.take_run(len(octets))
        stream.sent(first, transfer, len(octets))
        return first

    def _sent(self, speaker: str, id: int | None, transfer: Transfer, octets: int, charge: int) -> None:
        if speaker == SERVER:
            self._credited.delivered(id, transfer.destination or "", octets, charge)
        self._streams[speaker].sent(id, transfer)

    def accepts(self, speaker: str, ids: RangeSet) -> int | None:
        """`speaker` accepts transfers of the other side while it is `quiet`: the id of that command."""
        id = self._streams[speaker].taken()
        self._stream(_other(speaker)).settled(Accept.VERB, ids, True)
        return id

    def completes(self, speaker: str, ids: RangeSet | None) -> None:
        """`speaker`, who may, says that these commands of the other side are complete."""
        self._moves(speaker, ids)
        fresh = self._stream(_other(speaker)).completed(ids)
        if fresh:
            self.content.completed(speaker, fresh)

    def _moves(self, speaker: str, ids: RangeSet | None) -> None:
        """`speaker` says that these are complete: credit that they took back or used."""
        credit = self.credit
        if credit is None or not ids:
            return
        if speaker == CLIENT:
            credit.book.completed(ids)
        else:
            credit.book.carried_out(ids)

    def taken(self, speaker: str) -> int | None:
        """`speaker`'s next command was broken off: it takes its id, and nothing more."""
        self.content.forget()
        if speaker == CLIENT:
            self._transactions_lost()
        return self._stream(speaker).taken()

    def _carries(self, speaker: str, id: int | None, command: Command, octets: int, charge: int) -> None:
        other = _other(speaker)
        if isinstance(command, Transfer):
            self._sent(speaker, id, command, octets, charge)
        elif isinstance(command, Accept | Reject | Release | Acquire):
            final = isinstance(command, Accept | Reject)
            self._stream(other).settled(command.VERB, command.transfers, final, id)
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
                self._transactions_of_client().hear(id, command)

    # What was not heard.

    def unsettle(self) -> None:
        """The session may be attached or not, either side may have named its first command, and credit was granted or not."""
        self._late = True
        self._transactions_lost()
        self._attachment = AttachmentDialogue(True)
        for stream in self._streams.values():
            stream.unsettle()
        self.content.forget()
        self._credited.book.doubt = True

    def lost(self, speaker: str) -> None:
        """Some of `speaker`'s words were lost: what depends on them is unknown."""
        self.unsettle()
        self._credited.book.lose()
        self._asked = None
        if speaker == CLIENT:
            self.name = None
        self._stream(speaker).lost()
        self._stream(_other(speaker)).feedback_lost()


def _other(speaker: str) -> str:
    return SERVER if speaker == CLIENT else CLIENT


def _named(codes: type[DetachCode] | type[ErrorCode], code: int | None) -> str:
    if code is None:
        return "no code"
    try:
        return f"{int(code)} {codes(code).name.lower().replace('_', '-')}"
    except ValueError:
        return f"{code} unknown"
