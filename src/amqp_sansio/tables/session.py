"""The states of an attachment and of a stream of commands, in the third person.

Attach and detach are full duplex, because what was in flight when the other side sent its word is legal.  So there is one
machine per direction; both take every word, but a machine judges only the words of its own speaker: the other's are legal in
all its states.  `AttachmentDialogue` asks the right one.  Names of sessions, sets of ids and credit are computed outside the
rows: words about a session other than the attached one (attach and detach of it, and their answers) never reach the machines.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.kernel.machine import Machine, Refusal, Row, Table
from amqp_sansio.tables.connection import OTHER_SIDE

CLIENT: Final = "client"
SERVER: Final = "server"

ATTACH: Final = "session.attach"
ATTACHED: Final = "session.attached"
DETACH: Final = "session.detach"
DETACHED: Final = "session.detached"
OTHER: Final = "other"
"""Any other control of class session, and any command."""

ATTACHMENT_VERBS: Final = (ATTACH, ATTACHED, DETACH, DETACHED, OTHER)

RULE_NOT_ATTACHED: Final = "session.attachment"


def _attachment(own: str, other: str) -> Table:
    """Returns what `own` may send on one channel.

    * detached: no session.  requested: own asked for one.  invited: the other asked for one.
    * attached: both may send.
    * detaching: own sent detach and must be silent until detached comes.
    * leaving: the other sent detach; what own sends until its detached was in flight, or is its answer.
    * cut: the other sent detached; what own still sends was in flight, until own asks for a session again.
    """
    own_moves = {
        "detached": {ATTACH: "requested", DETACH: "detached", DETACHED: "detached"},
        "requested": {ATTACH: "requested", DETACH: "detaching", DETACHED: "requested"},
        "invited": {ATTACHED: "attached", DETACHED: "detached", ATTACH: "requested", DETACH: "invited"},
        "attached": {ATTACH: "attached", ATTACHED: "attached", DETACH: "detaching", DETACHED: "detached", OTHER: "attached"},
        "detaching": {DETACHED: "detaching"},
        "leaving": {ATTACH: "leaving", ATTACHED: "leaving", DETACH: "detaching", DETACHED: "detached", OTHER: "leaving"},
        "cut": {ATTACH: "requested", ATTACHED: "cut", DETACH: "cut", DETACHED: "cut", OTHER: "cut"},
    }
    other_moves = {
        "detached": {ATTACH: "invited"},
        "requested": {ATTACHED: "attached", DETACHED: "detached"},
        "invited": {},
        "attached": {DETACH: "leaving", DETACHED: "cut"},
        "detaching": {DETACHED: "detached"},
        "leaving": {},
        "cut": {ATTACH: "invited"},
    }
    rows = [
        Row(state, own, verb, next_state)
        for state, moves in own_moves.items()
        for verb, next_state in moves.items()
    ]  # fmt: skip
    rows += [
        Row(state, other, verb, moves.get(verb, state))
        for state, moves in other_moves.items()
        for verb in ATTACHMENT_VERBS
    ]  # fmt: skip
    return Table(f"attachment, words of the {own}", "detached", rows, final=["detached", "cut"])


ATTACHMENT: Final[dict[str, Table]] = {CLIENT: _attachment(CLIENT, SERVER), SERVER: _attachment(SERVER, CLIENT)}
"""By speaker: what it may send on one channel."""


def attachment_verb(verb: str) -> str:
    """Returns the word of the attachment tables for any verb of the session class or of a command."""
    return verb if verb in (ATTACH, ATTACHED, DETACH, DETACHED) else OTHER


class AttachmentDialogue:
    """Both machines of one channel: takes every word, and judges it by its speaker's machine."""

    __slots__ = ("machines",)

    def __init__(self, late: bool = False) -> None:
        make = Machine.unknown if late else Machine
        self.machines: Final = {speaker: make(table) for speaker, table in ATTACHMENT.items()}

    def step(self, speaker: str, verb: str) -> Refusal | None:
        """Takes the word `verb` of `speaker` (see `attachment_verb`); a refused word moves neither machine."""
        refusal = self.machines[speaker].step(speaker, verb)
        if refusal is None:
            self.machines[OTHER_SIDE[speaker]].step(speaker, verb)
        return refusal

    def can(self, speaker: str, verb: str) -> bool:
        """Whether `speaker` may send `verb` now."""
        return self.machines[speaker].can(speaker, verb)

    @property
    def pristine(self) -> bool:
        """Whether both directions are in their initial state."""
        return all(machine.states == (machine.table.initial,) for machine in self.machines.values())

    def state(self, speaker: str) -> str:
        """Returns the state of `speaker`'s direction."""
        return self.machines[speaker].state


# --- the stream of commands of one sender, and the feedback of their receiver -------------------------------------------

COMMAND_POINT: Final = "session.command-point"
COMMAND: Final = "command"
"""The first or any other frame of a command."""
FLUSH_EXPECTED: Final = "session.flush expected"
"""A flush that asks for the expected set."""
FLUSH: Final = "session.flush"
"""A flush that does not."""
GAP: Final = "session.gap"
KNOWN_COMPLETED: Final = "session.known-completed"
EXPECTED: Final = "session.expected"
CONFIRMED: Final = "session.confirmed"
COMPLETED: Final = "session.completed"

RULE_UNPOINTED: Final = "session.command-point.newly-attached-transports"


def _stream(sender: str, receiver: str) -> Table:
    """Returns one sender's commands on one attachment; "asked" is the state after a flush for the expected set.

    The number of answers to a number of flushes is counted elsewhere: "asked" stays.
    """
    rows: list[Row] = []
    for asked, pointed in ((False, False), (True, False), (False, True), (True, True)):
        state = _stream_state(asked, pointed)
        rows.append(Row(state, sender, COMMAND_POINT, _stream_state(asked, True)))
        if pointed:
            rows.append(Row(state, sender, COMMAND, state))
        rows.append(Row(state, sender, FLUSH_EXPECTED, _stream_state(True, pointed)))
        rows += [Row(state, sender, verb, state) for verb in (FLUSH, GAP, KNOWN_COMPLETED)]
        rows += [Row(state, receiver, verb, state) for verb in (COMPLETED, CONFIRMED)]
        if asked:
            rows.append(Row(state, receiver, EXPECTED, state))
    states = [_stream_state(asked, pointed) for asked in (False, True) for pointed in (False, True)]
    return Table(f"commands of the {sender}", "unpointed", rows, final=states)


def _stream_state(asked: bool, pointed: bool) -> str:
    return ("pointed" if pointed else "unpointed") + (" asked" if asked else "")


STREAM: Final[dict[str, Table]] = {CLIENT: _stream(CLIENT, SERVER), SERVER: _stream(SERVER, CLIENT)}
"""By the sender of the commands: a new machine for each attachment."""

# --- which side may send which command at all -----------------------------------------------------------------------------

_BY_CLIENT: Final = (
    "message.acquire message.subscribe message.cancel message.flush "
    "tx.select tx.commit tx.rollback "
    "dtx.select dtx.start dtx.end dtx.commit dtx.forget dtx.get-timeout dtx.prepare dtx.recover dtx.rollback dtx.set-timeout "
    "exchange.declare exchange.delete exchange.query exchange.bind exchange.unbind exchange.bound "
    "queue.declare queue.delete queue.purge queue.query "
    "file.qos file.consume file.cancel file.publish file.ack file.reject "
    "stream.qos stream.consume stream.cancel stream.publish"
)
_BY_SERVER: Final = (
    "file.qos-ok file.consume-ok file.return file.deliver stream.qos-ok stream.consume-ok stream.return stream.deliver"
)

COMMAND_SPEAKERS: Final[dict[str, str]] = {
    **dict.fromkeys(_BY_CLIENT.split(), CLIENT),
    **dict.fromkeys(_BY_SERVER.split(), SERVER),
}
"""Commands that only one side may send, and which side: the other has no handler for them.  All others are for both."""


TRANSPORT: Final = "transport"
"""The speaker of events that neither end sends: the attachment has ended, for any reason."""

ATTACHED_AGAIN: Final = "session.attached again"
"""The answer to an attach of a session that was attached before: the side that sends first asks what the other end expects."""
ANY_COMMAND: Final = "any command"
"""A command, or a control of class session other than attach, attached, detach and detached."""
EXCEPTION: Final = "execution.exception"
KEPT: Final = "kept"
"""The attachment is over; the session continues without one."""
OVER: Final = "over"
"""The attachment is over, or the time without one has expired; the session ends."""


def _endpoint(own: str, other: str) -> Table:
    """Returns the states of the session for the end `own`."""
    moves = {
        "detached": {
            (own, ATTACH): "attaching",
            (own, ATTACHED): "attached",
            (own, ATTACHED_AGAIN): "resuming",
            (TRANSPORT, OVER): "ended",
        },
        "attaching": {
            (own, DETACH): "detaching",
            (own, ATTACH): "attaching",
            (other, ATTACHED): "attached",
            (other, ATTACHED_AGAIN): "resuming",
        },
        "resuming": {
            (own, DETACH): "detaching",
            (other, ANY_COMMAND): "resuming",
            (other, EXPECTED): "attached",
            (other, EXCEPTION): "refused",
        },
        "attached": {
            (own, DETACH): "detaching",
            (own, ANY_COMMAND): "attached",
            (own, EXCEPTION): "detaching",
            (other, ANY_COMMAND): "attached",
            (other, EXCEPTION): "refused",
        },
        "refused": {(other, ANY_COMMAND): "refused"},
        "detaching": {},
    }
    rows = [
        Row(state, speaker, verb, next_state)
        for state, words in moves.items()
        for (speaker, verb), next_state in words.items()
    ]  # fmt: skip
    for state in moves:
        if state != "detached":
            rows += [Row(state, TRANSPORT, KEPT, "detached"), Row(state, TRANSPORT, OVER, "ended")]
    return Table(f"session at the {own}", "detached", rows, final=["detached", "ended"])


ENDPOINT: Final[dict[str, Table]] = {CLIENT: _endpoint(CLIENT, SERVER), SERVER: _endpoint(SERVER, CLIENT)}
"""The tables by end."""
