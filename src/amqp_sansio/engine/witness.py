"""The witness of one connection and of its channels: runs the machines with each word, and reports broken rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from amqp_sansio.engine.contents import CONTENT_VERBS, ContentWitness, is_global
from amqp_sansio.engine.demarcation import DemarcationWitness
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.witness_connection import WHO, ConnectionWitness
from amqp_sansio.engine.witness_credit import CreditWitness
from amqp_sansio.engine.witness_handshake import HandshakeWitness
from amqp_sansio.engine.witness_stream import StreamWitness
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
from amqp_sansio.tables.connection import HANDSHAKE, SESSION, ConnectionDialogue
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
    """See `ConnectionWitness`: that of a conversation in sessions."""

    __slots__ = ("_channels", "_name_octets", "_sessions", "handshake")

    def __init__(self, strict: bool, limits: Limits, late: bool = False) -> None:
        super().__init__(strict, limits, HANDSHAKE, late)
        self.handshake: Final = HandshakeWitness(self.findings)
        self._channels: dict[int, ChannelWitness] = {}
        self._sessions: dict[bytes, int] = {}
        self._name_octets = 0

    # Controls.

    def connection_control(self, speaker: str, channel: int, control: Control) -> None:
        """A control of class connection."""
        self.findings.channel = None
        if channel:
            text = "controls of the connection go on channel 0"
            self.findings.letter("connection.channel", f"{control.VERB} on channel {channel}", text, ("channel 0",))
        if self._legal(speaker, control.VERB, control.VERB):
            self.handshake.hear(control)

    def session_control(self, speaker: str, channel: int, control: Control) -> None:
        """A control of class session."""
        word = WHO[speaker]
        self.findings.channel = channel
        legal = self._legal(speaker, SESSION, control.VERB) and self._in_range(channel, control.VERB)
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

    # Commands.

    def command(
        self, speaker: str, channel: int, verb: str, command: Command | None, octets: int, body: int | None = None
    ) -> tuple[bytes | None, int | None]:
        """A command.  `octets` are those of header and body, `body` those of the body alone (None: unknown).

        The session and the id that it has, None where unknown.
        """
        self.findings.channel = channel
        legal = self._legal(speaker, SESSION, verb) and self._in_range(channel, verb)
        witness = self._channel(channel)
        if not legal:
            witness.refused(WHO[speaker], command, octets)
            return None, None
        id = witness.command(WHO[speaker], verb, command, octets, body)
        if command is not None and is_global(command):
            for other in self._channels.values():
                if other is not witness:
                    other.content.close_window()
        return witness.name, id

    def settled(self, speaker: str, channel: int) -> ChannelWitness | None:
        """The witness of a channel if no state changes by a transfer of `speaker`, as long as no control comes but those about
        completion: then `ChannelWitness.transfer` hears the next ones."""
        witness = self._channels.get(channel)
        quiet = witness is not None and channel < self.handshake.channels and witness.quiet(WHO[speaker])
        return witness if quiet and self.dialogue.quiet(WHO[speaker], SESSION) else None

    def books(self, channel: int) -> ChannelWitness | None:
        """The books of the session on a channel, for a second reader; None as long as the channel is unused."""
        return self._channels.get(channel)

    def follows(self, witness: ChannelWitness) -> bool:
        """Whether it is still the witness of its channel."""
        return self._channels.get(witness.number) is witness

    def broken_off(self, speaker: str, channel: int) -> tuple[bytes | None, int | None]:
        """A command that never came whole: the session and the id that it has.  Nobody is held to it."""
        witness = self._channels.get(channel)
        return (None, None) if witness is None else (witness.name, witness.taken(WHO[speaker]))

    def lost(self, speaker: str) -> None:
        self._late = True
        self.dialogue = ConnectionDialogue.unknown()
        for witness in self._channels.values():
            witness.lost(WHO[speaker])

    def unsettle(self) -> None:
        """The next word may be out of turn: the speakers' dialogues may stand anywhere."""
        self.dialogue = ConnectionDialogue.unknown()
        for witness in self._channels.values():
            witness.unsettle()

    def _may_end(self) -> bool:
        return self.dialogue.finished and self.dialogue.state != "closing"  # who closes behind a redirect is answered, too

    def _blame(self, who: str, word: str, verb: str, refusal: Refusal) -> None:
        state = self.dialogue.state
        rule, text = "connection.sequence", f"{verb} while the connection is {state}"
        legal = refusal.legal_for(who)
        if state in ("closing", "closed"):  # python clients answer what crossed their close
            self.findings.divergence(rule, verb, text, legal, _FRAMING, about=verb)
        else:
            self.findings.breach(rule, verb, text, legal, _FRAMING)

    def _in_range(self, channel: int, verb: str) -> bool:
        """Channels 0 to N-1 when N was agreed on; a peer that counts from 1 to N is tolerated."""
        agreed = self.handshake.channels
        if channel < agreed:
            return True
        said = f"{verb} on channel {channel}"
        text = "a channel beyond what was agreed on"
        rule, legal = "connection.tune-ok.channel-max.available-channels", (f"channels 0 to {agreed - 1}",)
        if channel == agreed:
            self.findings.letter(rule, said, text, legal)
        elif channel not in self._channels and self._late:  # the other side may have used it first
            self.findings.note(rule, f"{said}: {text}")
        elif channel not in self._channels:
            self.findings.breach(rule, said, text, legal, _FRAMING)
        return True

    def _channel(self, number: int) -> ChannelWitness:
        witness = self._channels.get(number)
        if witness is None:
            if len(self._channels) >= self.findings.limits.channels:
                self._forget("limits.channels")
            witness = self._channels[number] = ChannelWitness(self.findings, number, self._late)
        return witness

    def _forget(self, limit: str) -> None:
        """One of our limits is reached: the sessions heard so far are not followed any more."""
        self.findings.note(limit, f"more than our limit {limit}: the sessions under way are not followed any more")
        self._channels.clear()
        self._sessions.clear()
        self._name_octets = 0
        self._late = True

    def _one_transport(self, name: bytes, channel: int) -> None:
        before = self._sessions.get(name)
        old = self._channels.get(before) if before is not None and before != channel else None
        if old is not None and old.attached and old.name == name:
            text = f"the session is still attached on channel {before}"
            rule, said = "session.attach.one-transport-per-session", f"session.attached of {name[:80]!r}"
            self.findings.divergence(rule, said, text, (f"session.detached on channel {before}",))
        self._sessions[name] = channel
        if len(self._sessions) > self.findings.limits.sessions:
            del self._sessions[next(iter(self._sessions))]


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
        """`speaker` says a command: its id, None while unknown.

        `octets` are those of header and body, `body` those of the body alone.
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
        """A transfer of `octets` octets while it is `quiet`, charged with `charge` (see `CreditWitness`): its id."""
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
