"""The rules for files and streams in one session; client, server and observer run the same ones.

The rows are in `tables.content_classes` and `tables.content_classes`; `consumers` and `file` keep what the rows cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from amqp_sansio.engine.consumers import Consumers
from amqp_sansio.engine.file import Deliveries, Staging
from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.objection import Objection, refused
from amqp_sansio.errors import LimitError, LocalProtocolError
from amqp_sansio.kernel.machine import Machine
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.kernel.snapshots import typed
from amqp_sansio.limits import Limits
from amqp_sansio.spec import file, stream
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import ErrorCode
from amqp_sansio.tables.connection import CLIENT, OTHER_SIDE, SERVER
from amqp_sansio.tables.content_classes import CONSUMER, FILE, OPEN, OPEN_OK, PUBLISHING, QOS, STAGE, STREAM
from amqp_sansio.tables.session import COMMAND_SPEAKERS

if TYPE_CHECKING:
    from amqp_sansio.engine.session import Session

_CONSUMING: Final = (file.ConsumeOk, file.Cancel, stream.ConsumeOk, stream.Cancel, stream.Deliver)
_STAGING: Final = (file.Open, file.OpenOk, file.Stage)

CONTENT_VERBS: Final = frozenset(verb for verb in COMMAND_SPEAKERS if verb.startswith(("file.", "stream."))) | {
    OPEN,
    OPEN_OK,
    STAGE,
}
"""Every command of the two classes."""

_HEADED: Final = ("file.stage", "file.return", "stream.publish", "stream.return", "stream.deliver")
"""Commands whose content must have a header: file-properties or stream-properties, by their class."""

_RETURN_CODES: Final = (311, 312, 313)

Role: TypeAlias = str | None


class ContentClass:
    """What the classes file and stream have in common."""

    __slots__ = ("consumers", "publishing", "qos")

    def __init__(self, name: str, role: Role, late: bool) -> None:
        make = Machine.unknown if late else Machine
        self.qos: Final = make(QOS[name])
        self.publishing: Final = make(PUBLISHING[name])
        self.consumers: Final = Consumers(name, CONSUMER[name], role, late)

    def machine(self, command: Command) -> Machine:
        """Returns the machine for a command that concerns neither a tag nor a file."""
        return self.qos if isinstance(command, file.Qos | file.QosOk | stream.Qos | stream.QosOk) else self.publishing

    def forget(self) -> None:
        """Records a gap."""
        self.qos.forget()
        self.publishing.forget()
        self.consumers.forget()

    def snapshot(self) -> dict[str, object]:
        """Returns the state as a plain value."""
        return {"qos": self.qos.states, "publishing": self.publishing.states, "consumers": self.consumers.snapshot()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restores what `snapshot` returned.  Raises TypeError, ValueError or KeyError for anything else."""
        self.qos.restore(snapshot["qos"])
        self.publishing.restore(snapshot["publishing"])
        self.consumers.restore(snapshot["consumers"])


class Contents:
    """The files and streams of one session.

    `role` is the side that runs it, None for an observer.  `late`: we missed the beginning.  At a client every command it reads
    is received, at a server executed; to an observer it may still be in flight.
    """

    __slots__ = ("_asked", "_deliveries", "_file", "_limits", "_role", "_staging", "_stream")

    def __init__(self, limits: Limits, role: Role = None, late: bool = False) -> None:
        self._limits: Final = limits
        self._role: Final = role
        self._file: Final = ContentClass(FILE, role, late)
        self._stream: Final = ContentClass(STREAM, role, late)
        self._staging: Final = {who: Staging(who, limits.staged_files, late) for who in (CLIENT, SERVER)}
        self._deliveries: Final = Deliveries(role == CLIENT, late)
        self._asked: tuple[int, int] = (0, 0)

    def check(self, speaker: str, command: Command, header: bool | None, octets: int | None) -> Objection | None:
        """Checks a command of `speaker` without changing anything.

        `header`: whether it has one; `octets`: the size of its body; None when unknown.
        """
        verb = command.VERB
        if header is False and verb in _HEADED:
            name = verb.partition(".")[0]
            legal = (f"{verb} with {name}.{name}-properties",)
            return Objection(f"{verb}.header", f"{verb} without header", legal, ErrorCode.COMMAND_INVALID, "it has a header")
        code = command.reply_code if isinstance(command, file.Return | stream.Return) else None
        if code is not None and code not in _RETURN_CODES:
            said, known = f"{verb} with {code}", tuple([str(each) for each in _RETURN_CODES])
            return Objection(f"{verb}.reply-code", said, known, ErrorCode.ILLEGAL_ARGUMENT, "no such return code")
        if isinstance(command, file.Consume | stream.Consume):
            return self._of(command).consumers.check_consume(command, self._limits.subscriptions)
        if isinstance(command, file.Deliver):
            consumers, tag = self._file.consumers, command.consumer_tag or ""
            staged, name = self._staging[SERVER], command.identifier or ""
            return (
                consumers.check(speaker, verb, tag)
                or self._deliveries.check_deliver(
                    command, consumers.acknowledged(tag), staged.size(name) or 0, self._limits.incomplete_commands
                )
                or staged.check_use(verb, name)
            )
        if isinstance(command, _CONSUMING):
            return self._of(command).consumers.check(speaker, verb, command.consumer_tag or "")
        if isinstance(command, _STAGING):
            return self._staging[_stager(speaker, command)].check(speaker, command, octets)
        if isinstance(command, file.Ack | file.Reject):
            return self._deliveries.check_ack(command)
        refusal = refused(self._of(command).machine(command), speaker, verb)
        if refusal is not None:
            text = "nothing was published" if verb.endswith("return") else "one question at a time, and one answer to each"
            return Objection(verb, verb, refusal.legal_for(speaker), ErrorCode.ILLEGAL_STATE, text)
        if isinstance(command, file.Publish):
            return self._staging[CLIENT].check_use(verb, command.identifier or "")
        return None

    def step(self, speaker: str, command: Command, id: int | None) -> None:
        """Records a command without a (sure) objection, sent as command `id` (None: unknown)."""
        verb = command.VERB
        if isinstance(command, file.Consume | stream.Consume):
            self._of(command).consumers.consume(command)
        elif isinstance(command, file.Deliver):
            consumers, tag = self._file.consumers, command.consumer_tag or ""
            size = self._staging[SERVER].size(command.identifier or "") or 0
            self._deliveries.deliver(command.delivery_tag or 0, consumers.acknowledged(tag), id, size)
            consumers.step(speaker, verb, tag, id)
        elif isinstance(command, _CONSUMING):
            self._of(command).consumers.step(speaker, verb, command.consumer_tag or "", id)
        elif isinstance(command, _STAGING):
            self._staging[_stager(speaker, command)].step(speaker, command)
        elif isinstance(command, file.Ack | file.Reject):
            self._deliveries.settle(command, id, self._role == SERVER)
        else:
            self._of(command).machine(command).step(speaker, verb)
            if isinstance(command, file.Qos):
                self._asked = command.prefetch_size or 0, command.prefetch_count or 0
            elif isinstance(command, file.QosOk):
                self._deliveries.open_window(*self._asked)

    def completed(self, speaker: str, ids: RangeSet) -> None:
        """Records that `speaker` has completed these commands of the other side."""
        if speaker == SERVER:
            self._file.consumers.completed(ids)
            self._stream.consumers.completed(ids)
            self._deliveries.carried_out(ids)
        else:
            self._deliveries.completed(ids)

    def close_window(self) -> None:
        """Forgets the prefetch window: another session changed it for the whole connection."""
        self._deliveries.close_window()

    def forget(self) -> None:
        """Records a gap: every state is possible from here on."""
        self._file.forget()
        self._stream.forget()
        self._deliveries.forget()
        for staging in self._staging.values():
            staging.forget()

    def snapshot(self) -> dict[str, object]:
        """Returns the state as a plain value."""
        return {
            "file": self._file.snapshot(),
            "stream": self._stream.snapshot(),
            "staging": {who: staging.snapshot() for who, staging in self._staging.items()},
            "deliveries": self._deliveries.snapshot(),
            "asked": self._asked,
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restores what `snapshot` returned.  Raises TypeError, ValueError or KeyError for anything else."""
        self._file.restore(snapshot["file"])
        self._stream.restore(snapshot["stream"])
        for who, staging in self._staging.items():
            staging.restore(snapshot["staging"][who])
        self._deliveries.restore(snapshot["deliveries"])
        octets, messages = snapshot["asked"]
        self._asked = typed(octets, int), typed(messages, int)

    def _of(self, command: Command) -> ContentClass:
        return self._file if command.VERB.startswith("file.") else self._stream


def _stager(speaker: str, command: Command) -> str:
    """Returns the side that stages the file: open-ok comes from the receiver."""
    return OTHER_SIDE[speaker] if isinstance(command, file.OpenOk) else speaker


def is_global(command: Command) -> bool:
    """Returns whether a command changes the prefetch window of the connection's other sessions."""
    return isinstance(command, file.Qos) and command.global_


# --- a session's own commands and its peer's --------------------------------------------------------------------------------


def say_content(session: Session, command: Command, header: bool, octets: int) -> Callable[[int], None]:
    """Checks one of our commands and returns its effect; changes nothing.

    Raises LocalProtocolError or LimitError.
    """
    contents = _contents(session)
    wrong = contents.check(session.role, command, header, octets)
    if wrong is not None:
        name = wrong.rule.removeprefix("limits.")
        if name != wrong.rule:
            raise LimitError(name, getattr(session.limits, name))
        raise LocalProtocolError(wrong.said, wrong.text, wrong.legal, wrong.rule)

    def effect(id: int) -> None:
        session._said_content(contents, session.role, command, id)

    return effect


def hear_content(session: Session, id: int, command: Command, header: bytes, body: bytes) -> Objection | None:
    """Returns what is wrong with a command of the peer; records it when nothing is."""
    contents = _contents(session)
    wrong = contents.check(session.peer, command, bool(header), len(body))
    if wrong is not None and (wrong.sure or session.profile.strict):
        return wrong
    session._said_content(contents, session.peer, command, id)
    return None


def _contents(session: Session) -> Contents:
    return session._contents or Contents(session.limits, session.role)


_ANSWERS: Final = {"qos": "qos-ok", "consume": "consume-ok", "open": "open-ok", "open-ok": "stage"}
"""The answers that are legal even to a request at the wrong time: the answering side is not at fault."""


# --- an observer ------------------------------------------------------------------------------------------------------------


class ContentWitness:
    """Judges what both sides of one attachment send about files and streams.

    `late`: we missed its beginning, or it continues an earlier attachment.
    """

    __slots__ = ("_contents", "_excused", "_findings", "_late")

    def __init__(self, findings: Findings, late: bool) -> None:
        self._findings: Final = findings
        self._late = late
        # Created on first use: most sessions carry neither files nor streams.
        self._contents: Contents | None = None
        self._excused: set[str] = set()

    def hear(self, speaker: str, id: int | None, command: Command | None, octets: int, body: int | None) -> None:
        """Judges a command of these classes; None when it cannot be read or is not for `speaker` to send.

        `octets` counts header and body, `body` the body alone (None: unknown).
        """
        contents = self._contents
        if contents is None:
            contents = self._contents = Contents(self._findings.limits, None, self._late)
        if command is None:
            contents.forget()
            return
        wrong = contents.check(speaker, command, None if body is None else octets > body, body)
        if wrong is None:
            contents.step(speaker, command, id)
        elif wrong.rule.startswith("limits."):
            self._findings.note(wrong.rule, f"{wrong.text}: we no longer track them")
            contents.forget()
        elif wrong.sure:
            if command.VERB in self._excused:
                self._excused.discard(command.VERB)
            else:
                self._findings.breach(wrong.rule, wrong.said, wrong.text, wrong.legal, wrong.code)
            name, _, verb = command.VERB.partition(".")
            if verb in _ANSWERS:
                self._excused.add(f"{name}.{_ANSWERS[verb]}")
            contents.forget()
        else:
            self._findings.divergence(wrong.rule, wrong.said, wrong.text, wrong.legal, wrong.code, about=wrong.said)
            contents.step(speaker, command, id)

    def completed(self, speaker: str, ids: RangeSet) -> None:
        """Records that `speaker` has completed these commands of the other side."""
        if self._contents is not None:
            self._contents.completed(speaker, ids)

    def close_window(self) -> None:
        """Forgets the prefetch window: another session changed it for the whole connection."""
        if self._contents is not None:
            self._contents.close_window()

    def forget(self) -> None:
        """Records a gap: every state is possible."""
        self._late = True
        if self._contents is not None:
            self._contents.forget()
