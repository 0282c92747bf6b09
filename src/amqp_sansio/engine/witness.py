"""The witness of one connection and of its channels: steps the state machines, and reports violations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from amqp_sansio.engine.contents import CONTENT_VERBS, ContentWitness, is_global
from amqp_sansio.engine.demarcation import DemarcationWitness
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.witness_connection import WHO, ConnectionWitness
from amqp_sansio.engine.witness_handshake import HandshakeWitness
from amqp_sansio.engine.witness_stream import CreditWitness, StreamWitness
from amqp_sansio.errors.core import session_name
from amqp_sansio.kernel.machine import Refusal
from amqp_sansio.kernel.serials import EMPTY, TOP, RangeSet
from amqp_sansio.ledger.subscriptions import Subscriptions
from amqp_sansio.limits import Limits
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
from amqp_sansio.tables.connection import HANDSHAKE, OTHER_SIDE, SESSION, ConnectionDialogue
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

_FRAMING: Final = 501


class Witness(ConnectionWitness):
    """The `ConnectionWitness` of a conversation in sessions."""

    __slots__ = ("_channels", "_name_octets", "_sessions", "handshake")

    def __init__(self, strict: bool, limits: Limits) -> None:
        super().__init__(strict, limits, HANDSHAKE)
        self.handshake: Final = HandshakeWitness(self.findings)
        self._channels: dict[int, ChannelWitness] = {}
        self._sessions: dict[bytes, int] = {}
        self._name_octets = 0

    # --- controls -------------------------------------------------------------------------------------------------------------

    def connection_control(self, speaker: str, channel: int, control: Control) -> None:
        """Judges a control of class connection."""
        self.findings.channel = None
        if channel:
            text = "controls of the connection go on channel 0"
            self.findings.letter("connection.channel", f"{control.VERB} on channel {channel}", text, ("channel 0",))
        if self._legal(speaker, control.VERB, control.VERB):
            self.handshake.hear(control)

    def session_control(self, speaker: str, channel: int, control: Control) -> None:
        """Judges a control of class session."""
        word = WHO[speaker]
        self.findings.channel = channel
        legal = self._permits(speaker, channel, control.VERB)
        witness = self._channel(channel)
        if not legal:
            witness.refused(word, control)
            return
        if isinstance(control, Attach):
            self._name_octets += len(control.name or b"")
            if self._name_octets > self.findings.limits.buffered_octets:
                self._forget("limits.buffered_octets")
                witness = self._channel(channel)
            witness.attach(word, control, self.shaky, control.name in self._sessions)
        elif isinstance(control, Attached):
            if witness.attach_answered(word, control) and control.name is not None:
                self._one_transport(control.name, channel)
        elif isinstance(control, Detach):
            witness.detach(word, control)
        elif isinstance(control, Detached):
            witness.detached(word, control)
        else:
            witness.control(word, control)

    # --- commands -------------------------------------------------------------------------------------------------------------

    def command(
        self, speaker: str, channel: int, verb: str, command: Command | None, octets: int, body: int | None = None
    ) -> tuple[bytes | None, int | None]:
        """Judges a command; returns its session and its id, None where unknown.

        `octets` counts header and body, `body` the body alone (None: unknown).
        """
        self.findings.channel = channel
        legal = self._permits(speaker, channel, verb)
        witness = self._channel(channel)
        if not legal:
            witness.refused(WHO[speaker], command, octets)
            return None, None
        id = witness.command(WHO[speaker], verb, command, octets, body)
        if command is not None and verb in CONTENT_VERBS and is_global(command):
            for other in self._channels.values():
                if other is not witness:
                    other.content.close_window()
        return witness.name, id

    def settled(self, speaker: str, channel: int) -> ChannelWitness | None:
        """Returns the witness of a channel on which a transfer of `speaker` changes no state.

        Until a control other than those about completion comes, `ChannelWitness.transfer` may judge the next ones.
        """
        witness = self._channels.get(channel)
        if witness is None or self.shaky or channel >= self.handshake.channels or not witness.quiet(WHO[speaker]):
            return None
        return witness if self.dialogue.quiet(WHO[speaker], SESSION) else None

    def books(self, channel: int) -> ChannelWitness | None:
        """Returns the records of the session on a channel; None while the channel is unused."""
        return self._channels.get(channel)

    def broken_off(self, speaker: str, channel: int) -> tuple[bytes | None, int | None]:
        """Handles a command that never came whole: returns its session and its id.  Its content is not judged."""
        witness = self._channels.get(channel)
        return (None, None) if witness is None else (witness.name, witness.taken(WHO[speaker]))

    def lost(self, speaker: str) -> None:
        self._late = True
        self.unsettle()
        for witness in self._channels.values():
            witness.lost(WHO[speaker])

    def unsettle(self) -> None:
        """Makes every state possible: the next unit may come out of order."""
        self.dialogue = ConnectionDialogue.unknown()
        for witness in self._channels.values():
            witness.unsettle()

    def _may_end(self) -> bool:
        return self.dialogue.finished and self.dialogue.state != "closing"  # a close after a redirect is answered, too

    def _blame(self, who: str, word: str, verb: str, refusal: Refusal) -> None:
        state = self.dialogue.state
        rule, text = "connection.sequence", f"{verb} while the connection is {state}"
        legal = refusal.legal_for(who)
        if state in ("closing", "closed"):  # Python clients answer what crossed their close
            self.findings.divergence(rule, verb, text, legal, _FRAMING, about=verb)
        else:
            self.findings.breach(rule, verb, text, legal, _FRAMING)

    def _permits(self, speaker: str, channel: int, verb: str) -> bool:
        """Returns whether the state of the connection permits a verb of its sessions; if so, also judges the channel number.

        When N channels were negotiated they are 0 to N-1; a peer that counts from 1 to N is tolerated.
        """
        agreed, quiet = self.handshake.channels, self.dialogue.quiet(WHO[speaker], SESSION)  # for nearly all words
        legal = quiet or self._legal(speaker, SESSION, verb)
        if not legal or channel < agreed:
            return legal
        said = f"{verb} on channel {channel}"
        text = "a channel beyond what was agreed on"
        rule, numbers = "connection.tune-ok.channel-max.available-channels", (f"channels 0 to {agreed - 1}",)
        if channel == agreed:
            self.findings.letter(rule, said, text, numbers)
        elif channel not in self._channels and self._late:  # the other side may have used it first
            self.findings.note(rule, f"{said}: {text}")
        elif channel not in self._channels:
            self.findings.breach(rule, said, text, numbers, _FRAMING)
        return legal

    def _channel(self, number: int) -> ChannelWitness:
        witness = self._channels.get(number)
        if witness is None:
            if len(self._channels) >= self.findings.limits.channels:
                self._forget("limits.channels")
            witness = self._channels[number] = ChannelWitness(self.findings, number, self._late)
        return witness

    def _forget(self, limit: str) -> None:
        """Stops following the sessions so far: one of our limits is reached."""
        self.findings.note(limit, f"more than our limit {limit}: we no longer track the open sessions")
        self._channels.clear()
        self._sessions.clear()
        self._name_octets = 0
        self._late = True

    def _one_transport(self, name: bytes, channel: int) -> None:
        before = self._sessions.get(name)
        old = self._channels.get(before) if before is not None and before != channel else None
        if old is not None and old.attached and old.name == name:
            text = f"the session is still attached on channel {before}"
            rule, said = "session.attach.one-transport-per-session", f"session.attached of {session_name(name[:80])}"
            self.findings.divergence(rule, said, text, (f"session.detached on channel {before}",))
        self._sessions[name] = channel
        if len(self._sessions) > self.findings.limits.sessions:
            del self._sessions[next(iter(self._sessions))]


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

    def _goes_on(self, speaker: str) -> None:
        """Records that the session began elsewhere, or that `speaker` replays: its subscriptions are not all known."""
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
        """Whether both sides consider it attached (False while unknown)."""
        return self._attachment.state(CLIENT) == self._attachment.state(SERVER) == "attached"

    # --- controls -------------------------------------------------------------------------------------------------------------

    def control(self, speaker: str, control: Control) -> None:
        """Judges a control of class session from `speaker` ("client" or "server")."""
        if not self._may(speaker, control.VERB):
            self.refused(speaker, control)
            return
        other = OTHER_SIDE[speaker]
        if isinstance(control, Completed):
            self.completes(speaker, control.commands)
        elif isinstance(control, CommandPoint):
            stream = self._stream(speaker)
            moved = (control.command_id or 0) != (stream.next or 0)
            if moved or control.command_offset:
                self.content.forget()
            if moved:
                self._goes_on(speaker)
            stream.command_point(control)
        elif isinstance(control, KnownCompleted):
            self._stream(speaker).known_completed(control)
        elif isinstance(control, Confirmed):
            self._stream(other).confirmed(control)
        elif isinstance(control, Expected):
            self._stream(other).expected(control)
        elif isinstance(control, Flush):
            if control.expected:  # as a side asks to resume a session
                self.content.forget()
                if not any(each.next for each in self._streams.values()):
                    self._goes_on(CLIENT)  # a side that asks for this before any command has state of the session
            self._stream(speaker).flush(FLUSH_EXPECTED if control.expected else FLUSH)
        elif isinstance(control, Gap):
            self._stream(speaker).gap(control)
            self.content.forget()
            if speaker == CLIENT:
                self._transactions_lost()

    def _may(self, speaker: str, verb: str) -> bool:
        """Steps the attachment; reports a violation when it refuses."""
        word = attachment_verb(verb)
        if word == OTHER and self._attachment.state(speaker) == "requested":
            return True  # it comes after the attach, and nothing in the specification makes its speaker wait
        refusal = self._attachment.step(speaker, word)
        if refusal is None:
            return True
        text = f"{verb} while the channel is {self._attachment.state(speaker)}"
        self._findings.breach(RULE_NOT_ATTACHED, verb, text, refusal.legal_for(speaker))
        return False

    def attach(self, speaker: str, control: Attach, late: bool = False, known: bool = False) -> None:
        """Judges session.attach.  `late`: we may have missed the beginning of what the other side sends in it.

        `known`: a session of that name was attached before, and this may be the same one.
        """
        before = self._attachment.state(speaker)
        if not self._may(speaker, ATTACH):
            self.unsettle()  # the other side may attach it all the same
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
        """Records that `speaker`'s next command was broken off: it only takes its id."""
        self.content.forget()
        if speaker == CLIENT:
            self._transactions_lost()
        return self._stream(speaker).taken()

    def _carries(self, speaker: str, id: int | None, command: Command, octets: int, charge: int) -> None:
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


def _named(codes: type[DetachCode] | type[ErrorCode], code: int | None) -> str:
    if code is None:
        return "no code"
    try:
        return f"{int(code)} {codes(code).name.lower().replace('_', '-')}"
    except ValueError:
        return f"{code} unknown"
