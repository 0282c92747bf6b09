"""The half of a session that sends: our ids, the commands that await an answer, how a command is checked, written and kept, and
its replay on another connection.

A command is checked and encoded first, then written, and only then does the state change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from amqp_sansio.engine import demarcation
from amqp_sansio.engine.contents import CONTENT_VERBS, say_content
from amqp_sansio.engine.demarcation import COMMANDS, OnceWritten
from amqp_sansio.engine.subscription import Subscriber, Subscription
from amqp_sansio.errors import DecodeError, EncodeError, LimitError, LocalProtocolError, NoCredit
from amqp_sansio.events import (
    BranchAnswered,
    BranchesRecovered,
    BranchTimeout,
    Event,
    Origin,
    TransactionEnded,
    TransactionOutcome,
    Violation,
)
from amqp_sansio.kernel.machine import spoken_by
from amqp_sansio.kernel.serials import EMPTY, TOP, ById, MutableRangeSet, Range, RangeSet, serial_add, serial_le, serial_lt
from amqp_sansio.kernel.snapshots import typed
from amqp_sansio.kernel.value import octets_of
from amqp_sansio.ledger.credit import CREDIT_MODE, INFINITE, MESSAGE, OCTET, WINDOW_MODE, Credit, CreditBook
from amqp_sansio.ledger.ids import WIDEST, OwnIds, TransferBook, trim
from amqp_sansio.limits import Limits
from amqp_sansio.spec import dtx, execution, message, tx
from amqp_sansio.spec import session as controls
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.codes import DetachCode, ErrorCode, XaStatus
from amqp_sansio.tables import transfer as rows
from amqp_sansio.tables.connection import OTHER_SIDE
from amqp_sansio.tables.demarcation import COORDINATION, SUBSCRIBE_NONE, TX
from amqp_sansio.tables.session import CLIENT, COMMAND_POINT, COMMAND_SPEAKERS, EXPECTED, FLUSH_EXPECTED
from amqp_sansio.wire.encoding import UNWRITABLE
from amqp_sansio.wire.framing import BODY, HEADER
from amqp_sansio.wire.layouts.layout import HEADER_WRITERS
from amqp_sansio.wire.primitives import put_frame_begin
from amqp_sansio.wire.segments import FRAME_HEADER_SIZE, frame_command

if TYPE_CHECKING:
    from amqp_sansio.engine.connection import CommandId
    from amqp_sansio.engine.session import Session


_STATUSES: Final = {int(status): status for status in XaStatus}

Said = tuple[bytes, bytes | None, bytes | None]
"""The octets of a command: command, header and body segment.  Frames are cut anew on replay."""

_OUTBOUND_SETS: Final = {"outstanding": "outstanding", "confirmed": "confirmed", "known": "known"}
"""The sets of ids, by their names in a snapshot."""


class Outbound(OwnIds):
    """Our ids, the octets kept for replay, and the commands that await an answer.

    * `position`: the id that the peer will give to the next command on this attachment; None before any command-point on it.
    * `known_due`: the peer asked for a timely reply about what is `known`.
    * `expected_asked`: how many session.expected are still to come, one for each flush that asked for it.
    * `kept`: octets that may have to be replayed; empty unless `retain`.
    * `bare`: ids in doubt whose octets are not kept.  Those sent from `bare_from` on, while nothing was kept, are added on
      demand.
    * `asked`: commands in the order sent that await a result or, of class tx and dtx, their outcome.
    * `stray`: the number of results without a command that awaits one.
    * `boundary`: the id after our last tx.select, tx.commit or tx.rollback, where the open transaction begins.
    * `refused`: id and error code of the command at which the peer ended the session; later commands are undone.
    """

    __slots__ = (
        "_freed",
        "_session",
        "asked",
        "bare",
        "bare_from",
        "boundary",
        "expected_asked",
        "kept",
        "kept_octets",
        "known_due",
        "position",
        "producer",
        "refused",
        "retain",
        "stray",
    )

    def __init__(self, retain: bool, sender: str = CLIENT, session: bytes = b"") -> None:
        super().__init__(sender)
        self._session: Final = session
        self.position: int | None = None
        self.known_due = False
        self.expected_asked = 0
        self.retain = retain
        self.producer: Credit | None = None
        """The credit in messages that the peer grants to our publishing; None unless it ever throttled us."""
        self.kept: Final[ById[Said]] = ById()
        self.kept_octets = 0
        self._freed: Callable[[], object] | None = None
        self.bare: MutableRangeSet = MutableRangeSet()
        self.bare_from = 0
        self.asked: Final[ById[Command]] = ById()
        self.stray = 0
        self.boundary = 0
        self.refused: tuple[int, int] | None = None

    @property
    def throttled(self) -> bool:
        """Whether the peer has paused our publishing."""
        return self.producer is not None and not self.producer.available

    def check_room(self, octets: int, limits: Limits, commands: int = 1) -> None:
        """Raises LimitError when `commands` commands of `octets` octets in total cannot be kept for replay.

        Changes nothing.
        """
        if len(self.kept) + commands > limits.replay_commands:
            raise LimitError("replay_commands", limits.replay_commands, len(self.kept) + commands)
        if self.kept_octets + octets > limits.replay_octets:
            raise LimitError("replay_octets", limits.replay_octets, self.kept_octets + octets)

    def when_freed(self, then: Callable[[], object] | None) -> None:
        """Calls `then` each time when less is kept than before; None: nobody waits for that."""
        self._freed = then

    def say(self, payload: bytes, header: bytes | None, body: bytes | None) -> int:
        """Records a written command; returns its id."""
        id = self.next_id
        self.next_id = self.position = (id + 1) & 0xFFFFFFFF
        self.begun = True
        self.outstanding.add(id)
        if self.retain:
            self.kept[id] = (payload, header, body)
            self.kept_octets += len(payload) + len(header or b"") + len(body or b"")
        return id

    def stop_retaining(self) -> None:
        """Stops keeping commands for replay: no detached lifetime is wanted any more."""
        if self.retain:
            self.retain = False
            self.bare.update(self.kept.ids.freeze())
            self.bare_from = self.next_id
        self.kept.clear()
        self.kept_octets = 0
        if self._freed is not None:
            self._freed()

    def begin_retaining(self) -> None:
        """Keeps everything sent from here on."""
        if not self.retain:
            self._look_up_bare()
            self.retain = True

    def _look_up_bare(self) -> None:
        """Adds to `bare` what was sent while nothing was kept and is in doubt; costs as much as was sent since."""
        if self.bare_from != self.next_id:
            said = RangeSet([(self.bare_from, serial_add(self.next_id, -1))])
            self.bare.update(self.confirmed.missing(self.outstanding.common(said)))
            self.bare_from = self.next_id

    def begin_attachment(self) -> None:
        """Starts a new attachment, which needs a command-point again."""
        super().begin_attachment()
        self.position = None
        self.expected_asked = 0
        self.known_due = False

    def point(self, id: int) -> None:
        """Records a sent command-point: the next command has this id."""
        self.stream.step(self.sender, COMMAND_POINT)
        self.position = id

    def say_again(self, id: int) -> None:
        """Records a replayed command, which follows `position`."""
        self.position = serial_add(id, 1)

    def stop_producer(self) -> None:
        """Records that the peer stopped our publishing with message.stop."""
        self.producer = Credit()

    def ask_expected(self) -> None:
        """Records a sent flush that asks for the expected commands."""
        self.stream.step(self.sender, FLUSH_EXPECTED)
        self.expected_asked += 1

    def hear_expected(self) -> bool:
        """Records a session.expected; returns whether it answers one of our flushes."""
        if self.stream.step(OTHER_SIDE[self.sender], EXPECTED) is not None or not self.expected_asked:
            return False
        self.expected_asked -= 1
        return True

    def completed(self, ids: RangeSet, timely: bool, beyond: RangeSet | None = None) -> RangeSet:
        """Handles session.completed; returns the ids that were not complete before.

        Ignores ids that were never sent: `beyond`, where the caller knows them.
        """
        if beyond is None:
            beyond = self.beyond(ids)
        news = self.complete(ids)
        if news and (self.kept or self.bare.highs):
            self._drop(news)
        self.known.update(ids - beyond if beyond else ids)
        trim(self.known, self.next_id)
        if timely:
            self.known_due = True
        return news

    def completed_run(self, low: int, high: int, timely: bool = False) -> RangeSet | None:
        """Does the same as `completed` for one range of ids, where no set algebra is needed (nearly always).

        Returns None, and changes nothing, when `complete_run` does or what is known would no longer be a range.
        """
        known, tops = self.known.lows, self.known.highs
        if (tops and (len(tops) > 1 or not known[0] <= low <= tops[0] + 1)) or high - (known[0] if tops else low) >= WIDEST:
            return None
        news = self.complete_run(low, high)
        if news is None:
            return None
        if not tops:
            known.append(low)
            tops.append(high)
        elif tops[0] < high:
            tops[0] = high
        if timely:
            self.known_due = True
        if self.kept or self.bare.highs:
            self._drop(news)
        return news

    def confirm(self, ids: RangeSet) -> RangeSet:
        """Handles session.confirmed; returns the ids that were not confirmed before, whose octets are dropped."""
        news = super().confirm(ids)
        if news:
            self._drop(news)
        return news

    def take_known(self) -> RangeSet:
        """Returns what known-completed has to report now, and forgets it."""
        ids = self.known.freeze()
        self.known.clear()
        self.known_due = False
        return ids

    def wanted(self, expected: RangeSet) -> RangeSet:
        """Returns which of our ids the peer wants when it expects these, a non-empty set.

        A set cannot be open-ended: its greatest id stands for itself and everything after it.
        """
        last = expected.last
        wanted = expected - self.beyond(expected)
        if serial_lt(last, self.next_id):
            wanted |= RangeSet([(last, serial_add(self.next_id, -1))])
        return wanted

    def ever(self, ids: RangeSet) -> RangeSet:
        """Returns the ids that may belong to commands of this session; the others are too far back."""
        return ids & RangeSet([(serial_add(self.next_id, -WIDEST), serial_add(self.next_id, -1))])

    def missing(self, wanted: RangeSet) -> RangeSet:
        """Returns the ids that are in doubt and whose octets were not kept: the session cannot be resumed."""
        if not self.retain:
            self._look_up_bare()
        return self.bare.common(wanted)

    def _drop(self, ids: RangeSet) -> None:
        """Drops the octets of ids that are no longer in doubt."""
        if self.bare.highs:
            self.bare.discard(ids)
        for payload, header, body in self.kept.take(ids):
            self.kept_octets -= len(payload) + len(header or b"") + len(body or b"")
        if self._freed is not None:
            self._freed()

    # --- outcomes of commands with a result and of classes tx and dtx: one event each, once it is known or can never be ------

    def expect_answer(self, id: int, command: Command) -> None:
        """Records a command that has a result, or is of class tx or dtx."""
        if isinstance(command, tx.Select | tx.Commit | tx.Rollback):
            self.boundary = (id + 1) & 0xFFFFFFFF
        if not isinstance(command, tx.Select | dtx.Select):
            self.asked[id] = command

    def asked_for(self, id: int) -> Command | None:
        """Returns our command `id`, for which an execution.result came; None when it awaits no result."""
        command = self.asked.get(id)
        if command is None or not command.RESULT:
            self.stray += 1
            return None
        return command

    def refuse(self, id: int, error_code: int) -> None:
        """Records that the peer refused our command `id` and ends the session."""
        self.refused = id, error_code

    def answered(self, id: int, command: Command, value: Struct | None) -> Event | None:
        """Handles the result of our command `id`; returns the event if it concerns a branch, else None."""
        del self.asked[id]
        return self._answer(id, command, value, status_of(value))

    def executed(self, ids: RangeSet) -> list[Event]:
        """Handles the completion of commands; returns the events of those without a result."""
        done = [(id, self.asked.remove(id)) for id in self.asked.among(ids) if not self.asked[id].RESULT]
        return _present([self._end(id, command, TransactionOutcome.COMMITTED, XaStatus.XA_OK, None) for id, command in done])

    def ended(self) -> list[Event]:
        """Ends the session: returns an event for each command without an answer, in the order sent."""
        refused = self.refused
        commands = list(self.asked.items())
        self.asked.clear()
        events: list[Event | None] = []
        for id, command in commands:
            outcome = TransactionOutcome.ROLLED_BACK if _undone(refused, id) else TransactionOutcome.UNKNOWN
            code = refused[1] if refused is not None and refused[0] == id else None
            events.append(self._end(id, command, outcome, None, code))
        return _present(events)

    def _end(
        self, id: int, command: Command, commit: TransactionOutcome, status: XaStatus | None, refused: int | None
    ) -> Event | None:
        """Returns the event of an unanswered command: `commit` is a commit's outcome; a rollback counts as done."""
        if isinstance(command, tx.Commit | tx.Rollback):
            outcome = commit if isinstance(command, tx.Commit) else TransactionOutcome.ROLLED_BACK
            return TransactionEnded(self._session, id, outcome)
        return self._answer(id, command, None, status, refused)

    def _answer(
        self, id: int, command: Command, value: Struct | None, status: XaStatus | None, refused: int | None = None
    ) -> Event | None:
        """Returns the event of an answer; without `value` and `status`, that of a missing answer."""
        name = self._session
        if isinstance(command, dtx.Recover):
            if not isinstance(value, dtx.RecoverResult):
                return BranchesRecovered(name, id, None)
            return BranchesRecovered(name, id, tuple([each for each in value.in_doubt or () if isinstance(each, dtx.Xid)]))
        xid: object = getattr(command, "xid", None)
        if not isinstance(xid, dtx.Xid):
            return None
        if isinstance(command, dtx.GetTimeout):
            return BranchTimeout(name, id, xid, value.timeout if isinstance(value, dtx.GetTimeoutResult) else None)
        return BranchAnswered(name, id, command.VERB, xid, status, refused)

    # --- snapshots ------------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, object]:
        """Returns the state as plain values, without what belongs to one attachment."""
        begun = {"next_id": self.next_id, "sent": self.begun}
        asked = self.asked.items()
        return {
            "outbound": {**begun, **self._sets(_OUTBOUND_SETS), "retain": self.retain, "kept": tuple(self.kept.items())},
            "producer": self.producer and self.producer.snapshot(),
            "asked": tuple([each for each in asked if each[1].RESULT]),
            "stray": self.stray,
            "unanswered": {
                "commands": tuple([each for each in asked if isinstance(each[1], COMMANDS)]),
                "boundary": self.boundary,
                "refused": self.refused,
            },
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restores what `snapshot` returned.  Raises TypeError, ValueError or KeyError for anything else."""
        half, producer, unanswered = snapshot["outbound"], snapshot["producer"], snapshot["unanswered"]
        self._restore_sets(_OUTBOUND_SETS, half)
        self.next_id = self.bare_from = RangeSet.of(half["next_id"]).first
        self.begun, self.retain = typed(half["sent"], bool), typed(half["retain"], bool)
        self.kept.add_all(dict(half["kept"]))
        self.kept_octets = sum([len(segment or b"") for said in self.kept.values() for segment in said])
        self.bare.update(self.outstanding.freeze() - self.confirmed.freeze() - self.kept.ids.freeze())
        self.producer = None if producer is None else Credit(*producer)
        self.asked.add_all(dict(unanswered["commands"]) | dict(snapshot["asked"]))
        self.stray, self.boundary = typed(snapshot["stray"], int), typed(unanswered["boundary"], int)
        self.refused = typed(unanswered["refused"], tuple, type(None))


def status_of(value: Struct | None) -> XaStatus | None:
    """Returns the status of a branch in a result; None when it has none."""
    return _STATUSES.get(value.status) if isinstance(value, dtx.XaResult) and value.status is not None else None


def _present(events: list[Event | None]) -> list[Event]:
    return [event for event in events if event is not None]


def _undone(refused: tuple[int, int] | None, id: int) -> bool:
    """Returns whether a commit was certainly not executed: it was refused, or sent after a refused command.

    A commit that failed inside the server (internal-error) may have taken effect.
    """
    if refused is None:
        return False
    at, code = refused
    return serial_le(at, id) and (serial_lt(at, id) or code != ErrorCode.INTERNAL_ERROR)


# --- checks ---------------------------------------------------------------------------------------------------------------
# Each looks at one command, raises when it is illegal now, changes nothing, and returns the effect of writing it.


def check_command(session: Session, command: Command, header: bool = False, octets: int = 0) -> OnceWritten | None:
    """Checks `command` (not a transfer) with a header and `octets` octets of body; returns its effect."""
    verb = command.VERB
    speaker = COMMAND_SPEAKERS.get(verb)
    if speaker is not None and speaker != session.role:
        raise LocalProtocolError(verb, f"{session.role} role", (f"{speaker}:{verb}",), f"only the {speaker} sends it")
    if verb in CONTENT_VERBS:
        return say_content(session, command, header, octets)
    check = _CHECKS.get(type(command))
    effect = check(session, command) if check is not None else None
    if not command.RESULT and check is not demarcation.check:  # those of classes tx and dtx are recorded, too
        return effect

    def asked(id: int) -> None:
        session._outbound.expect_answer(id, command)
        if effect is not None:
            effect(id)

    return asked


def _subscribe(session: Session, command: message.Subscribe) -> OnceWritten | None:
    destination = command.destination or ""  # without a destination its name is the empty string
    held = session._subscriptions.current.get(destination)
    if held is not None and not held.cancelled:
        raise LocalProtocolError(
            f"message.subscribe {destination!r}",
            "subscribed",
            (f"message.cancel {destination!r}", "another destination"),
            "message.subscribe.destination.unique-subscriber-destination",
        )
    if held is None and len(session._subscriptions.current) >= session.limits.subscriptions:
        raise LimitError("subscriptions", session.limits.subscriptions)
    accept_mode, acquire_mode = command.accept_mode or 0, command.acquire_mode or 0
    check_modes(accept_mode, acquire_mode)
    if accept_mode:
        demarcation.check_verb(session, SUBSCRIBE_NONE)
    book = CreditBook() if held is None else CreditBook.behind(held._book)
    subscription = Subscription(session, command.queue or "", destination, accept_mode, acquire_mode, book)

    def effect(_: int) -> None:
        session._subscriptions.add(subscription)
        if session._channel is not None:
            session._channel.channels.unlearn()

    return effect


def check_modes(accept_mode: int, acquire_mode: int) -> None:
    """Raises EncodeError for an undefined accept-mode or acquire-mode."""
    if accept_mode not in (0, 1):
        raise EncodeError("message.accept-mode", f"0 explicit or 1 none, not {accept_mode}")
    if acquire_mode not in (0, 1):
        raise EncodeError("message.acquire-mode", f"0 pre-acquired or 1 not-acquired, not {acquire_mode}")


def _take_back(session: Session, command: message.Stop | message.Flush | message.Cancel) -> OnceWritten | None:
    subscription = session._subscriptions.named(command)
    return None if subscription is None else lambda id: session._subscriptions.take_back(subscription, id, command)


def _flow(session: Session, command: message.Flow) -> OnceWritten | None:
    unit = command.unit or 0
    value = INFINITE if command.value is None else command.value
    if unit not in (MESSAGE, OCTET):
        raise EncodeError("message.flow.unit", f"0 message or 1 byte, not {unit}")
    if not 0 <= value <= INFINITE:
        raise EncodeError("message.flow.value", f"0 to {INFINITE}, not {value}")
    subscription = session._subscriptions.named(command)
    return None if subscription is None else lambda _: subscription._book.grant(unit, value)


def _set_flow_mode(session: Session, command: message.SetFlowMode) -> OnceWritten | None:
    mode, subscription = command.flow_mode or 0, session._subscriptions.named(command)
    if subscription is None:
        return None
    if mode not in (CREDIT_MODE, WINDOW_MODE):
        raise EncodeError("message.set-flow-mode.flow-mode", f"0 credit or 1 window, not {mode}")
    if not subscription._book.empty:
        credit = f"credit of {subscription.message_credit} messages and {subscription.octet_credit} octets"
        said, rule = f"message.set-flow-mode {subscription.destination!r}", "message.set-flow-mode.mode-switching"
        raise LocalProtocolError(said, credit, ("message.stop", "message.flush"), rule)
    return lambda _: subscription._book.set_mode(mode)


def _settle(
    session: Session, command: message.Accept | message.Reject | message.Release | message.Acquire
) -> OnceWritten | None:
    ids: RangeSet = EMPTY if command.transfers is None else command.transfers
    planned, bad = session._transfers.plan(command.VERB, ids)
    if len(planned) != len(ids) or not ids:
        raise _unsettleable(session._transfers, command.VERB, ids, bad)
    completes = session.profile.completion != "manual"
    transactions = session._transactions
    provisional = transactions is not None and transactions.state == TX and isinstance(command, message.Accept)

    def effect(_: int) -> None:
        if provisional:
            session._transfers.accepted_provisionally(planned)
        done, given = session._transfers.apply(planned, ids, completes)
        session._subscriptions.give_back(given)
        if done:
            session._inbound.complete(done)
            session._touch()

    return effect


def _unsettleable(transfers: TransferBook[Subscription], verb: str, ids: RangeSet, bad: list[int]) -> LocalProtocolError:
    able: list[int] = []
    for id, delivery in transfers.deliveries.items():
        if (delivery.state, rows.RECIPIENT, verb) in rows.TRANSFER[delivery.accept_mode].moves:
            able.append(id)
    legal = [f"{verb} {RangeSet.of(*able)}"] if able else []
    if bad:
        delivery = transfers.deliveries[bad[0]]
        words = rows.TRANSFER[delivery.accept_mode].legal([delivery.state])
        legal += [f"{word} {bad[0]}" for word in spoken_by(rows.RECIPIENT, words)]
        state = f"{bad[0]} is {delivery.state}"
    else:
        state = "no such unsettled transfer" if ids else "no ids"
    rule = f"{verb}.acquisition" if verb in (rows.ACCEPT, rows.REJECT) else "message"
    return LocalProtocolError(f"{verb} {ids}", state, tuple(legal), rule)


def _result(session: Session, command: execution.Result) -> OnceWritten | None:
    id = command.command_id
    if id is None:
        raise EncodeError("execution.result.command-id", "names the command that it answers")
    session._inbound.check_result(id, command.value)

    def effect(_: int) -> None:
        session._inbound.given(id)
        if isinstance(command.value, dtx.XaResult) and command.value.status:  # anything but xa-ok
            demarcation.demarcation_of(session).answered(id, command.value.status, heard=False)
        if session.completes_on_hand_out:
            session._complete_now(RangeSet.of(id))

    return effect


def check_fragments(session: Session, said: str) -> None:
    """Raises LocalProtocolError unless the profile allows fragments and message.resume, at which qpidd drops the connection."""
    if not session.profile.fragments:
        raise LocalProtocolError(said, "profile without fragments", (f"{said} with Profile(fragments=True)",))


_CHECKS: Final[dict[type[Command], Callable[[Session, Any], OnceWritten | None]]] = {  # Any: each row takes its own command
    message.Subscribe: _subscribe,
    **dict.fromkeys((message.Cancel, message.Flush, message.Stop), _take_back),
    message.Flow: _flow,
    message.SetFlowMode: _set_flow_mode,
    **dict.fromkeys((message.Accept, message.Reject, message.Release, message.Acquire), _settle),
    message.Resume: lambda session, command: check_fragments(session, command.VERB),
    execution.Result: _result,
    **dict.fromkeys(demarcation.COMMANDS, demarcation.check),
}

_CARRYING: Final = CONTENT_VERBS | {"message.transfer", "execution.exception"}
ALONE: Final = frozenset([each.VERB for each in _CHECKS]) - {"message.flow", *COORDINATION} | _CARRYING
"""Commands that change what is legal next, or that carry content."""


# The first two octets (flags, segment type) of a header frame followed by a body, and of a single body frame.
_HEADER: Final = 0x03 << 8 | HEADER
_BODY: Final = 0x07 << 8 | BODY

Prepared: TypeAlias = tuple[bytes, bytes | None, bytes | None, list[bytes], OnceWritten | None]
"""A checked command: its segments, its frames, and its effect once it is written."""


def encode_headers(session: Session, headers: tuple[Struct | bytes, ...]) -> bytes | None:
    """Encodes the header segment; None without headers."""
    if not headers:
        return None
    layout = session._place.layout
    parts: list[bytes] = []
    for struct in headers:
        if isinstance(struct, bytes):
            try:
                layout.walk_headers(struct, 0, len(struct), session.limits)
            except DecodeError as error:
                if error.limit is None:  # limits apply to what peers send
                    raise EncodeError("header", f"takes octets of whole structs; {error}") from None
            parts.append(struct)
        elif not isinstance(struct, Struct):
            raise EncodeError("header", f"takes structs, or octets of encoded ones, not {type(struct).__name__}")
        else:
            if isinstance(struct, message.FragmentProperties):
                check_fragments(session, "message.fragment-properties")
            parts.append(layout.encode_struct32(struct))
    return parts[0] if len(parts) == 1 else b"".join(parts)


def prepare(session: Session, command: Command, headers: tuple[Struct | bytes, ...], body: bytes, sync: bool) -> Prepared:
    """Checks and encodes; changes nothing."""
    assert session._channel is not None
    carrier, layout = session._channel.carrier, session._channel.layout
    verb = command.VERB
    if (headers or body) and verb not in layout.segments:
        raise LocalProtocolError(f"{verb} with content", "a command without segments", (f"{verb} without content",))
    payload = layout.encode_command(command, sync)
    header = encode_headers(session, headers)
    content = octets_of(body) or None
    effect = check_command(session, command, bool(header), len(content or b""))
    frames = frame_command(session._channel.number, payload, header, content, carrier._max_frame_size)
    return payload, header, content, frames, effect


def say(session: Session, prepared: list[Prepared]) -> list[CommandId]:
    """Writes what was prepared.  Raises LimitError, and writes nothing, when it cannot all be kept for replay."""
    assert session._channel is not None
    outbound, carrier = session._outbound, session._channel.carrier
    if outbound.retain:
        octets = sum([len(payload) + len(header or b"") + len(body or b"") for payload, header, body, _, _ in prepared])
        outbound.check_room(octets, session.limits, len(prepared))
    ids: list[CommandId] = []
    for payload, header, body, frames, effect in prepared:
        write_point(session)
        carrier._write(b"".join(frames) if len(frames) > 1 else frames[0])
        id = outbound.say(payload, header, body)
        ids.append(id)
        if effect is not None:
            effect(id)
    return ids


def write_point(session: Session) -> None:
    """Sends a command-point when the peer would give the next command another id."""
    outbound = session._outbound
    if outbound.position != outbound.next_id:
        session._say(controls.CommandPoint(outbound.next_id, 0))
        outbound.point(outbound.next_id)


def transfer(
    session: Session,
    destination: str,
    accept_mode: int,
    acquire_mode: int,
    headers: tuple[Struct | bytes, ...],
    body: bytes,
    sync: bool,
    header: bytes = b"",
    split_header: bool = False,
    empty_body: bool = False,
) -> CommandId:
    """Sends a message; the only place that does.  Nothing changes before everything is checked and encoded.

    Takes either `headers`, or `header`, a valid header segment.  `split_header` splits one that does not fit into one frame.
    `empty_body` sends a body of 0 octets as a segment, which is otherwise left out.
    """
    channel = session._channel
    if not session._speaks or channel is None or channel.carrier._closed_cause is not None:
        session.check_speak("message.transfer")
        raise AssertionError(session.state)
    carrier = channel.carrier
    try:
        command = channel.commands.get((destination, accept_mode, acquire_mode, sync))
    except TypeError:  # an unhashable destination: the encoder reports it
        command = None
    if command is None:
        command = channel.encode_transfer(destination, accept_mode, acquire_mode, sync)
    payload, frame = command
    content = body if type(body) is bytes else octets_of(body)
    if headers:
        try:
            if len(headers) == 2:  # nearly always
                first, second = headers
                header = HEADER_WRITERS[type(first)](first) + HEADER_WRITERS[type(second)](second)
            else:
                header = b"".join([HEADER_WRITERS[type(struct)](struct) for struct in headers])
        except UNWRITABLE:  # other structs, octets, unwritable values: the slow path encodes them, or reports why it cannot
            header = encode_headers(session, headers) or b""
    header_octets = len(header)
    body_octets = len(content)
    largest = carrier._max_frame_size
    header_size = header_octets + FRAME_HEADER_SIZE
    body_size = body_octets + FRAME_HEADER_SIZE
    number = channel.number
    if header and content and header_size <= largest and body_size <= largest:  # `frame_command` for one frame each
        place = 1 << 16 | number
        octets = b"".join(
            (frame, put_frame_begin(_HEADER, header_size, place), header, put_frame_begin(_BODY, body_size, place), content)
        )
    else:
        segment = content if content or empty_body else None
        octets = b"".join(frame_command(number, payload, header or None, segment, largest, split_header))
    outbound = session._outbound
    producer = outbound.producer
    if producer is not None and not producer.allows(1):
        raise NoCredit("", "message", 1, 0)
    subscriber: Subscriber | None = None
    cost = 0
    if session.delivers:
        cost = header_octets + body_octets if session.counts_headers else body_octets
        subscriber = session._subscribers.current.get(destination)
        if subscriber is None or subscriber._book.lacks(cost) is not None:
            raise session._subscribers.unable(destination, cost)
    id = outbound.next_id
    if outbound.retain:
        outbound.check_room(len(payload) + header_octets + body_octets, session.limits)
        if outbound.position != id:
            write_point(session)
        carrier._write(octets)
        outbound.say(payload, header or None, content if content or empty_body else None)
    else:  # `Outbound.say`, `Carrier._write` and `MutableRangeSet.add` inlined: nothing is kept
        if outbound.position != id:
            write_point(session)
            outbound.begun = True
        if carrier._wake is not None and carrier._written == carrier._taken:
            carrier._wake()
        carrier._outbox.append(octets)
        carrier._written += len(octets)
        outbound.next_id = outbound.position = (id + 1) & 0xFFFFFFFF
        highs = outbound.outstanding.highs
        if highs and highs[-1] == id - 1:
            highs[-1] = id
        else:
            outbound.outstanding.add(id)
    if producer is not None:
        producer.spend(1)
    if subscriber is not None:
        book = subscriber._book
        book.transfer(cost)
        if book.mode:
            session._subscribers.windows[id] = subscriber, cost, book.switches
    return id


def say_exception(session: Session, exception: execution.Exception_) -> CommandId:
    """Sends an exception and then detach; for our side the session is over."""
    channel = session._place
    payload = channel.layout.encode_command(exception, False)
    frames = frame_command(channel.number, payload, None, None, channel.carrier._max_frame_size)
    session._flush_pending()
    write_point(session)
    channel.carrier._write(b"".join(frames))
    id = session._outbound.say(payload, None, None)
    session._outbound.outstanding.discard_id(id)  # it ends the session, so it will never be completed
    channel.say(controls.Detach(session.name))
    return id


def violate(
    session: Session,
    rule: str,
    said: str,
    legal: tuple[str, ...],
    code: int,
    text: str,
    id: int | None = None,
    codes: tuple[int | None, int | None] = (None, None),
) -> None:
    """Reports the rule that the peer broke, and ends the session.

    A detach code (0 to 4) goes out in session.detached; an error code goes out in execution.exception, followed by a detach.
    """
    channel = session._place
    code = int(code)
    violation = Violation(session.peer, rule, said, legal, code, channel.number, channel.channels.offset, text)
    detach_code = code if code <= DetachCode.UNKNOWN_IDS else None
    if detach_code is not None:
        channel.say(controls.Detached(session.name, code))
    else:
        say_exception(session, execution.Exception_(code, id, codes[0], codes[1], None, f"{rule}: {text}"[:1000]))
    session._leave(Origin.VIOLATION, detach_code, text, ended=True, violation=violation)


class Replaying:
    """Steps through the ids that the peer expects: first those that were not kept, then those of the commands to replay.

    Each step costs the same however much is kept, and skips what is no longer kept.
    """

    __slots__ = ("_gaps", "_ids")

    def __init__(self, kept: MutableRangeSet, wanted: RangeSet) -> None:
        spans: list[Range] = []
        for low, high in wanted.ranges:
            spans += [(low, high)] if low <= high else [(low, TOP), (0, high)]
        self._gaps: Final = _gaps(kept, spans)
        self._ids: Final = _ids(kept, spans)

    def gap(self, most: int) -> RangeSet:
        """Returns the next ids that are expected and not kept, in at most `most` ranges; none when all were returned."""
        return RangeSet(islice(self._gaps, most))

    def next(self) -> int | None:
        """Returns the next id to replay; None after the last one."""
        return next(self._ids, None)


def _gaps(kept: MutableRangeSet, spans: list[Range]) -> Iterator[Range]:
    """Yields the ranges of the spans that are not kept."""
    for start, stop in spans:
        while start <= stop:
            low, high = kept.first_within(start, stop) or (stop + 1, stop)
            if start < low:
                yield start, low - 1
            start = high + 1


def _ids(kept: MutableRangeSet, spans: list[Range]) -> Iterator[int]:
    """Yields the ids of the spans that are kept."""
    for start, stop in spans:
        while start <= stop and (first := kept.first_within(start, stop)) is not None:
            yield first[0]
            start = first[0] + 1


def resume(session: Session, ids: RangeSet) -> None:
    """Starts the replay of the commands that the peer has reported as missing."""
    outbound = session._outbound
    if not ids and not session.has_state:
        session._resumed(False)
        return
    if not ids:
        _give_up(session, Origin.PEER, f"the {session.peer} has no state of this session: it is lost")
        return
    if serial_lt(outbound.next_id, ids.last):
        violate(
            session,
            "session.expected.include-next-command",
            f"session.expected {ids}",
            (f"session.expected {RangeSet.of(outbound.next_id)}",),
            ErrorCode.INVALID_ARGUMENT,
            f"the next command was never sent: {outbound.next_id}",
        )
        return
    wanted = outbound.wanted(ids)
    missing = outbound.missing(wanted)
    if missing:
        _give_up(session, Origin.LOCAL, f"the {session.peer} expects commands {missing}, which the {session.role} did not keep")
        return
    session._replaying = Replaying(outbound.kept.ids, outbound.ever(wanted))
    go_on(session)


def go_on(session: Session) -> None:
    """Replays as much as the output has room for; after the last command the session is attached."""
    replaying, channel, outbound = session._replaying, session._place, session._outbound
    assert replaying is not None
    carrier = channel.carrier
    size = carrier._max_frame_size
    while carrier._has_room:
        gap = replaying.gap((size - 18) // 8)
        if gap:
            channel.say(controls.Gap(gap))
            continue
        id = replaying.next()
        if id is None:
            session._resumed()
            if session._inbound.resume():
                session._touch()
            return
        payload, header, body = outbound.kept[id]
        # Only deliveries may split their headers.
        if len(payload) > size - 12 or (len(header or b"") > size - 12 and not session.delivers):
            _give_up(session, Origin.LOCAL, f"command {id} does not fit into the frames of this connection")
            return
        if outbound.position != id:
            channel.say(controls.CommandPoint(id, 0))
            outbound.point(id)
        outbound.say_again(id)
        for frame in frame_command(channel.number, payload, header, body, size, session.delivers):
            carrier._write(frame)
    channel.channels.wait_for_room(session)


def _give_up(session: Session, origin: Origin, text: str) -> None:
    """Ends a session that cannot be resumed.

    Tells the client why in an exception: session.detach has neither code nor text.
    """
    if session.role == "server":
        why = f"session cannot be resumed: {text}"
        say_exception(session, execution.Exception_(ErrorCode.ILLEGAL_STATE, description=why))
    else:
        session._say(controls.Detach(session.name))
    session._leave(origin, None, text, ended=True)
