"""The half of a session that receives: the ids of the peer's commands, what each of its commands and controls does, and the
feedback that it gets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from amqp_sansio.engine import demarcation
from amqp_sansio.engine.connection import legal_of, rule_of
from amqp_sansio.engine.contents import CONTENT_VERBS, hear_content
from amqp_sansio.engine.findings import CREDIT_RULE, DESTINATION_RULE, UNITS, Objection
from amqp_sansio.engine.outbound import resume, status_of, violate
from amqp_sansio.engine.subscription import Subscriber, Subscription
from amqp_sansio.errors import DecodeError, LocalProtocolError
from amqp_sansio.events import (
    CommandReceived,
    CommandsCompleted,
    CommandsConfirmed,
    CommandsSkipped,
    Event,
    ExceptionReceived,
    ProducerCreditChanged,
    ResultReceived,
    TimeoutGranted,
    TransferReceived,
)
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.kernel.serials import EMPTY, HALF, TOP, MutableRangeSet, RangeSet, pick, serial_add, serial_lt
from amqp_sansio.ledger.credit import CREDIT_MODE, INFINITE, MESSAGE, OCTET, WINDOW_MODE, least
from amqp_sansio.ledger.ids import EXPLICIT, NONE, Delivery, OwnIds, trim
from amqp_sansio.spec import dtx, execution, message
from amqp_sansio.spec import session as controls
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.spec.codes import DetachCode, ErrorCode
from amqp_sansio.spec.message import Accept
from amqp_sansio.tables.session import (
    COMMAND,
    COMMAND_POINT,
    COMMAND_SPEAKERS,
    EXPECTED,
    FLUSH_EXPECTED,
    RULE_UNPOINTED,
    SERVER,
)
from amqp_sansio.tables.transfer import ACQUIRED, NOT_ACQUIRED
from amqp_sansio.wire.framing import Assembly
from amqp_sansio.wire.layouts.layout import Layout
from amqp_sansio.wire.primitives import blank
from amqp_sansio.wire.segments import OneRange, codes_of

if TYPE_CHECKING:
    from amqp_sansio.engine.session import Session


TIMELY_IDS: Final = 256
"""We ask for a known-completed (timely-reply) when the set of completed commands that the sender does not know to be complete
has grown by this number of ids."""
TIMELY_RANGES: Final = 16
"""We also ask for it when that set has this many ranges.  With more of them, a report names only those that have changed."""
EXPECTED_RANGES: Final = 64
"""The largest number of holes named in session.expected; the last id named stands for all that follow."""

ASKED_EXPECTED: Final = 1
ASKED_CONFIRMED: Final = 2
ASKED_COMPLETED: Final = 4

DUPLICATE: Final = -1
"""Instead of an id: the command is a duplicate."""


class Owed(NamedTuple):
    """A command of the peer that is not complete: its codes, and the name of the result that it awaits ("" for none)."""

    class_code: int
    code: int
    result: str


_owed: Final = lru_cache(256)(Owed)  # one for each command: to make a named tuple takes longer than to find it
_INBOUND_SETS: Final = {
    "holes": "holes", "gapped": "gapped", "incomplete": "outstanding", "skipped": "skipped", "completed": "known",
    "confirmed": "confirmed",
}  # fmt: skip
"""The sets of ids, by their names in a snapshot."""


class Inbound(OwnIds):
    """The ids of the peer's commands, and what a receiver adds: holes, and the feedback that it owes.

    * `pointed`: a command may come on this attachment, according to `stream`.
    * `cursor`: the id of the next command in the stream; `next_id`: the one after the highest received.
    * `holes`: ids below `next_id` that were never received; `gapped`: ids ahead of the cursor that will never come.
    * `outstanding`: received and not complete, except execution.sync, which waits in `syncs` (`sync_count` of them).
    * `skipped`: ids that a gap has completed while the application still works on their commands.
    * `owed`: the incomplete commands other than transfers.
    """

    __slots__ = (
        "counting",
        "cursor",
        "answered",
        "asked",
        "due",
        "gapped",
        "holes",
        "owed",
        "pointed",
        "skipped",
        "sync_count",
        "syncs",
        "timely_at",
        "untold",
    )

    def __init__(self, sender: str = SERVER) -> None:
        super().__init__(sender)
        self.pointed = False
        self.cursor = 0
        self.holes: MutableRangeSet = MutableRangeSet()
        self.gapped: MutableRangeSet = MutableRangeSet()
        self.skipped: MutableRangeSet = MutableRangeSet()
        self.syncs: MutableRangeSet = MutableRangeSet()
        self.sync_count = 0
        self.due = False
        """Whether there are completions not sent yet on this attachment."""
        self.asked = 0
        """What a flush asked for and we have not sent yet: ASKED_EXPECTED | ASKED_CONFIRMED | ASKED_COMPLETED."""
        self.answered = 0
        """What we answered at once since octets were last taken."""
        self.timely_at = 0
        self.counting = False
        """Whether `untold` holds all completions since the last report: it does once they form many ranges."""
        self.untold: MutableRangeSet = MutableRangeSet()
        self.owed: dict[int, Owed] = {}

    def begin_attachment(self) -> None:
        """Starts a new attachment: no command may come before a command-point."""
        super().begin_attachment()
        self.pointed = self.stream.can(self.sender, COMMAND)
        self.timely_at = 0
        self.counting = False
        self.due = False
        self.asked = self.answered = 0

    def resume(self) -> bool:
        """Resumes the session on a new attachment; returns whether there are completions to report."""
        self.due = bool(self.known)
        return self.due

    def point(self, id: int) -> None:
        """Handles session.command-point with offset 0: the next command has this id.

        A lower id than the highest received: the commands up to there are duplicates.  A higher one: the ids in between become
        holes.
        """
        self.stream.step(self.sender, COMMAND_POINT)
        self.pointed = self.stream.can(self.sender, COMMAND)
        if not self.begun:
            self.begun, self.next_id = True, id
        elif serial_lt(self.next_id, id):
            self._open_hole(id)
        self.cursor = id
        if self.gapped:
            self.gapped.discard(RangeSet([(serial_add(id, 1 - HALF), serial_add(id, -1))]))

    def take(self) -> int:
        """Counts a complete command; returns its id, or DUPLICATE."""
        id = self.cursor
        if id == self.next_id:
            self.next_id = self.cursor = (id + 1) & 0xFFFFFFFF
            return id
        if self.gapped and id in self.gapped:
            id = self._behind_gap(id)
        self.cursor = next_id = (id + 1) & 0xFFFFFFFF
        if id == self.next_id:
            self.next_id = next_id
            return id
        if id in self.holes:
            self.holes.discard_id(id)
            return id
        if id in self.known:
            self._update_completed(RangeSet.of(id))  # the sender seems to have missed our report
            self.due = True
        return DUPLICATE

    def seen(self, id: int) -> bool:
        """Returns whether a command with this id was ever received."""
        return self.begun and serial_lt(id, self.next_id) and id not in self.holes

    def complete(self, ids: RangeSet) -> RangeSet:
        """Completes these commands, a subset of `outstanding` and `skipped`; returns those that were not complete before."""
        if self.skipped.highs:
            ids -= self.skipped.take(ids)
        self.outstanding.discard(ids)  # all are outstanding: `Ids.complete` would check that
        if self.confirmed.highs:
            self.confirmed.discard(ids)
        self._update_completed(ids)
        for id in pick(ids, self.owed) if self.owed else ():
            del self.owed[id]
        self.due = True
        self.settle_syncs()
        return ids

    def complete_one(self, id: int) -> None:
        """Completes one command, which no gap has skipped."""
        self.outstanding.discard_id(id)
        self.owed.pop(id, None)
        if self.confirmed.lows:
            self.confirmed.discard_id(id)
        self.known.add(id)
        if self.counting:
            self.untold.add(id)
        self.due = True
        if self.sync_count:
            self.settle_syncs()

    def owe(self, id: int, class_code: int, code: int, result: str) -> int:
        """Records an incomplete command; returns how many there are."""
        self.owed[id] = _owed(class_code, code, result)
        return len(self.owed)

    def check_result(self, id: int, value: Struct | None) -> None:
        """Raises LocalProtocolError unless the peer's command `id` awaits a result of this type."""
        owed = self.owed.get(id)
        if owed is None or not owed.result:
            waiting = tuple([f"execution.result for {id}: {o.result}" for id, o in self.owed.items() if o.result][:8])
            raise LocalProtocolError(f"execution.result for {id}", "no result is owed", waiting, "execution")
        if value is not None and owed.result != value.NAME:
            raise LocalProtocolError(
                f"execution.result {value.NAME} for {id}", "another result is owed", (f"execution.result {owed.result}",)
            )

    def given(self, id: int) -> None:
        """Records that the result of the peer's command `id` was sent."""
        self.owed[id] = self.owed[id]._replace(result="")

    def check_results_given(self, ids: RangeSet) -> None:
        """Raises LocalProtocolError when one of these commands still awaits its result, which must come first."""
        waiting = [id for id in pick(ids, self.owed) if self.owed[id].result]
        if waiting:
            legal = tuple([f"execution.result for {id}: {self.owed[id].result}" for id in waiting[:8]])
            raise LocalProtocolError(f"session.completed {RangeSet.of(*waiting)}", "a result is owed", legal)

    def add_sync(self, id: int) -> None:
        """Records an execution.sync."""
        self.syncs.add(id)
        self.sync_count += 1
        self.settle_syncs()

    def settle_syncs(self) -> None:
        """Completes each execution.sync before which all commands have arrived and are complete."""
        if not self.syncs:
            return
        oldest = serial_add(self.next_id, -HALF)
        first = self.syncs.next_from(oldest)
        stop = self.next_id
        for pending in (self.outstanding, self.holes):
            other = pending.next_from(oldest)
            if other is not None and serial_lt(other, stop):
                stop = other
        if first is None or not serial_lt(first, stop):
            return
        done = self.syncs.take(RangeSet.span(first, serial_add(stop, -1)))
        self.sync_count -= len(done)
        self._update_completed(done)
        self.due = True

    def gap(self, ids: RangeSet) -> RangeSet:
        """Handles session.gap: these ids will never come.  Returns those that were not received before.

        All of them now count as completed and confirmed, including received commands that are still incomplete.
        """
        if not ids:
            return EMPTY
        if not self.begun:
            self.begun, self.next_id, self.cursor = True, ids.first, ids.first
        ahead = self.beyond(ids)
        news = self.holes.common(ids) | ahead
        if ahead:
            self._open_hole(serial_add(ahead.last, 1))
        self.holes.discard(news)
        skipped = self.outstanding.take(ids)
        self.skipped.update(skipped)
        syncs = self.syncs.take(ids)
        self.sync_count -= len(syncs)
        done = news | skipped | syncs
        self._update_completed(done)
        self.due = self.due or bool(done)
        self.confirmed.discard(done)
        self.gapped.update(ids & RangeSet([(self.cursor, serial_add(self.cursor, HALF - 1))]) & news)
        if self.cursor in self.gapped:
            self.cursor = self._behind_gap(self.cursor)
        self.settle_syncs()
        trim(self.known, self.next_id)
        return news

    def _update_completed(self, ids: RangeSet) -> None:
        self.known.update(ids)
        if self.counting:
            self.untold.update(ids)

    def ask(self, asked: int) -> int:
        """Handles a flush; returns what to answer at once.

        If the peer repeats it before our octets are taken, we answer just once more, later: the answer may be 4000 times as
        long.
        """
        new = asked & ~self.answered
        self.asked |= asked & self.answered
        self.answered |= asked
        return new

    def take_asked(self) -> int:
        """Returns what is still to be answered."""
        asked, self.asked, self.answered = self.asked, 0, 0
        return asked

    def tell_confirmed(self) -> RangeSet:
        """Returns the confirmations to report: we confirm every command that is complete."""
        if self.known.range_count > TIMELY_RANGES:
            self.due = True  # Reported once in full; a repeated request does not get it all again.
        return self.confirmed.freeze() | self.untold_completed()

    def tell_completed(self) -> RangeSet:
        """Returns the completions to report: all unknown to the sender or, with many ranges, those that have changed.

        Reports a changed range whole: some clients only understand up to which id everything is complete.
        """
        # By the letter, completed informs "of all commands completed", except those that the sender is known to consider
        # complete.  What we leave out here was reported with timely-reply on this attachment, after which "the sender is no
        # longer free to delay the known-completed reply", and that reply would have removed it from the set.  A sender that
        # keeps this rule gets everything; one that does not would make us repeat the same thousands of ranges at each flush.
        told = self.untold_completed()
        self.due = False
        self.counting = self.known.range_count > TIMELY_RANGES
        self.untold.clear()
        return told

    def tell_one_range(self) -> tuple[int, int] | None:
        """Does what `tell_completed` does, if that is one range of less than half of all ids; otherwise returns None, and
        changes nothing."""
        lows, highs = self.known.lows, self.known.highs
        if len(lows) != 1 or self.counting or highs[0] - lows[0] >= HALF:
            return None
        self.due = False
        self.untold.clear()
        return lows[0], highs[0]

    def untold_completed(self) -> RangeSet:
        """What `tell_completed` would report."""
        return self.known.around(self.untold.freeze()) if self.counting else self.known.freeze()

    def known_completed(self, ids: RangeSet) -> None:
        """Handles session.known-completed: the sender knows of these, and we need not repeat them."""
        self.known.discard(ids)
        self.confirmed.discard(ids)
        self.timely_at = 0

    def expected(self, new: bool) -> RangeSet:
        """Returns what we expect: the holes and the id after the highest received; nothing for a `new` session."""
        if not self.begun:
            return EMPTY if new else RangeSet.of(0)
        holes = self.holes.first_ranges(serial_add(self.next_id, -HALF), EXPECTED_RANGES)
        return holes if self.holes.range_count > EXPECTED_RANGES else holes | RangeSet.of(self.next_id)

    def wants_timely(self) -> bool:
        """Returns whether to ask for known-completed now, because what the sender does not know has grown."""
        known = self.known
        many = len(known.lows) >= TIMELY_RANGES
        size = 0 if many else len(known)
        if many or size - self.timely_at >= TIMELY_IDS:
            self.timely_at = size
            trim(self.known, self.next_id)
            return True
        return False

    @property
    def ranges(self) -> int:
        """The largest number of ranges in any set that the peer can make grow."""
        return max(self.holes.range_count, self.known.range_count, self.gapped.range_count)

    def _open_hole(self, id: int) -> None:
        """Makes `id` the next expected one, and the ids before it holes."""
        self.holes.add_range(self.next_id, serial_add(id, -1))
        self.next_id = id
        trim(self.holes, id)

    def _behind_gap(self, id: int) -> int:
        """Returns the id after the gap that contains this one."""
        end = self.gapped.end_of(id)
        if end == TOP and 0 in self.gapped:
            end = self.gapped.end_of(0)
        self.gapped.discard(RangeSet([(serial_add(end, 1 - HALF), end)]))
        return serial_add(end, 1)

    def snapshot(self) -> dict[str, object]:
        """Returns the state as plain values, without what belongs to one attachment."""
        seen = {"cursor": self.cursor, "received": self.next_id if self.begun else None}
        syncs = [id for low, high in zip(self.syncs.lows, self.syncs.highs, strict=True) for id in range(low, high + 1)]
        half = {**seen, **self._sets(_INBOUND_SETS), "syncs": tuple(syncs)}
        owed = tuple([(id, tuple(each)) for id, each in self.owed.items()])
        return {"inbound": half, "owed": owed}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restores what `snapshot` returned.  Raises TypeError, ValueError or KeyError for anything else."""
        half = snapshot["inbound"]
        received, syncs = half["received"], half["syncs"]
        self._restore_sets(_INBOUND_SETS, half)
        self.begun = received is not None
        self.cursor, self.next_id = [RangeSet.of(id).first for id in (half["cursor"], 0 if received is None else received)]
        self.syncs, self.sync_count = MutableRangeSet(RangeSet.of(*syncs)), len(syncs)
        self.owed.update({id: Owed(*each) for id, each in snapshot["owed"]})


RESULT_RULE: Final = "execution.result.value"
"""A result must have the type that its command declares."""
_ERROR_CODES: Final = frozenset(ErrorCode)
_TRANSFER: Final = 4, 1
"""The codes of class message and of message.transfer."""
_new: Final = tuple.__new__  # what a NamedTuple does, at a third of the cost


def hear_assembly(session: Session, assembly: Assembly) -> None:
    """Handles an undecoded command."""
    channel = session._channel
    assert channel is not None
    carrier, layout = channel.carrier, channel.layout
    payload, header, body = assembly.payload, assembly.header, assembly.body
    if session._state == "resuming" and not _holds(session, assembly):
        return
    what = "command"
    try:
        command, sync = layout.decode_command(payload, 0, len(payload), carrier.reading)
        if header:
            what = "header"
            layout.walk_headers(header, 0, len(header), carrier.limits)
            if carrier.eager_headers and not isinstance(command, message.Transfer):
                layout.decode_headers(header, 0, len(header), carrier.reading)
    except DecodeError as error:
        codes = codes_of(payload)
        id = _take(session, layout.verb_of("command", *codes))
        if id >= 0:
            _undecodable(session, id, what, codes, error)
        return
    if isinstance(command, message.Transfer):
        subscription = session._subscriptions.current.get(command.destination or "")
        if header is not None and (subscription is not None or session.delivers):
            channel.channels.learn(channel.number, payload, command, sync, (session, subscription))
        event = hear_transfer(session, command, header or b"", body or b"", sync, subscription, body == b"")
        if event is not None:
            _emit(session, event)
        return
    id = _take(session, command.VERB)
    if id >= 0:
        _hear_command(session, id, command, header or b"", body or b"", sync, codes_of(payload))


def _emit(session: Session, event: Event) -> None:
    """Emits the event of a command; while the session is resuming, keeps it until SessionAttached, before which it cannot be
    answered."""
    if session._state == "resuming":
        session._held.append(event)
    else:
        assert session._channel is not None
        session._channel.carrier._emit(event)


def octets_in(assembly: Assembly) -> int:
    """Returns the octets of the segments of a command."""
    return len(assembly.payload) + len(assembly.header or b"") + len(assembly.body or b"")


def _holds(session: Session, assembly: Assembly) -> bool:
    """Returns whether a command that came before the session is attached can wait until then, by its octets."""
    octets, most = session._hold(octets_in(assembly)), session.limits.early_octets
    if octets <= most:
        return True
    said = session._place.layout.verb_of("command", *codes_of(assembly.payload))
    text = f"{octets} octets of commands came before all that was in doubt was sent again"
    legal = ("session.expected", f"at most {most} octets of commands before")
    violate(session, "limits.early_octets", said, legal, ErrorCode.RESOURCE_LIMIT_EXCEEDED, text)
    return False


def _take(session: Session, said: str) -> int:
    """Returns the id of a command that arrived; negative when it does not count and has been dealt with."""
    inbound = session._inbound
    if not inbound.pointed:
        code: int = DetachCode.UNKNOWN_IDS if session.profile.unpointed == "unknown-ids" else ErrorCode.ILLEGAL_STATE
        text = "command data before any command-point"
        violate(session, RULE_UNPOINTED, said, ("session.command-point",), code, text)
        return DUPLICATE
    id = inbound.take()
    if id < 0:
        if inbound.due:
            session._touch()
    elif session._state == "refused":
        inbound.outstanding.add(id)
        return DUPLICATE
    return id


def _undecodable(session: Session, id: int, what: str, codes: tuple[int, int], error: DecodeError) -> None:
    """Reports a command that cannot be decoded, or its header (`what`)."""
    session._inbound.outstanding.add(id)
    said = session._place.layout.verb_of("command", *codes)
    code = error.code if error.code in _ERROR_CODES else ErrorCode.COMMAND_INVALID
    violate(session, rule_of(what, error), said, legal_of(error), code, str(error), id, codes)


def hear_transfer(
    session: Session,
    transfer: message.Transfer,
    header: bytes,
    body: bytes,
    sync: bool,
    subscription: Subscription | None,
    empty_body: bool = False,
) -> TransferReceived | None:
    """Handles a message with a checked header; returns its event without queueing it.  `empty_body`: it has a body of 0 octets.

    `subscription` is our subscription at the transfer's destination.  Returns None when the message broke a rule, is a
    duplicate or no longer counts, and has been dealt with.
    """
    inbound = session._inbound
    id = inbound.cursor
    if id == inbound.next_id and inbound.pointed and session._speaks:  # nearly always: `_take` inlined
        inbound.cursor = inbound.next_id = (id + 1) & 0xFFFFFFFF
    elif (id := _take(session, transfer.VERB)) < 0:
        return None
    accept_mode = transfer.accept_mode
    if COMPILED:
        event = TransferReceived(session.name, id, transfer, header, body, sync, empty_body)
    else:
        made: Any = blank(TransferReceived)  # slot by slot: half the cost of its constructor
        made.session = session.name
        made.id = id
        made.transfer = transfer
        made.header = header
        made.body = body
        made.sync = sync
        made.empty_body = empty_body
        made._memo = None
        event = made
    if session._minds_headers and header:
        event.read_as(session._place.carrier.reading)
        try:
            if session._place.carrier.eager_headers:
                _ = event.headers
        except DecodeError as error:
            _undecodable(session, id, "header", _TRANSFER, error)
            return None
    if accept_mode == NONE and session.completes_on_hand_out:
        if subscription is None:
            if not session.delivers:
                _to_nobody(session, id, transfer)
                return None
        elif subscription._book.limited:
            octets = len(header) + len(body) if session.counts_headers else len(body)
            charge = octets if session.charges_headers else len(body)
            unit = subscription._book.spend(octets, charge)
            if unit is not None:
                inbound.outstanding.add(id)
                _beyond_credit(session, subscription, id, unit, charge)
                return None
            session._subscriptions.complete(subscription, 1, octets, charge)
        highs = inbound.known.highs
        if highs and highs[-1] == id - 1:  # `add` inlined
            highs[-1] = id
        else:
            inbound.known.add(id)
        if inbound.counting:
            inbound.untold.add(id)
        if inbound.sync_count:
            inbound.settle_syncs()
        if not inbound.due:
            inbound.due = True
            session._touch()
        return event
    acquire_mode = transfer.acquire_mode
    if (accept_mode and accept_mode != NONE) or (acquire_mode and acquire_mode != 1):
        inbound.outstanding.add(id)
        field = "message.accept-mode" if accept_mode and accept_mode != NONE else "message.acquire-mode"
        text = "no such mode"
        said = f"message.transfer({accept_mode}, {acquire_mode})"
        violate(session, field, said, ("0", "1"), ErrorCode.ILLEGAL_ARGUMENT, text, id, _TRANSFER)
        return None
    inbound.outstanding.add(id)
    octets = len(header) + len(body) if session.counts_headers else len(body)
    charge = octets if session.charges_headers else len(body)
    if subscription is None:
        if not session.delivers:
            _to_nobody(session, id, transfer)
            return None
    elif (lacking := subscription._book.spend(octets, charge)) is not None:
        _beyond_credit(session, subscription, id, lacking, charge)
        return None
    # `Profile.publish_is_explicit` inlined; a delivery without a mode is explicit
    explicit = accept_mode == EXPLICIT if accept_mode is not None else session.profile.strict or not session.delivers
    if explicit or subscription is not None:
        # A published message is not acquired by a reader: the mode only has a meaning from a queue to its reader.
        state = NOT_ACQUIRED if acquire_mode and not session.delivers else ACQUIRED
        deliveries = session._transfers.deliveries
        deliveries[id] = _new(Delivery, (state, accept_mode or EXPLICIT, subscription, octets, False, charge))
        if len(deliveries) > session.limits.incomplete_commands:
            _too_many(session, id, transfer.VERB, _TRANSFER)
            return None
    if session.profile.completion == "on_hand_out":
        session._complete_now(RangeSet.of(id))
    return event


def _beyond_credit(session: Session, subscription: Subscription, id: int, unit: int, charge: int) -> None:
    book = subscription._book
    left = (book.most_octets if unit == OCTET else book.most_messages) or 0
    text = f"beyond the credit of its destination in unit {UNITS[unit]}"
    said = f"message.transfer of {charge} octets to destination {subscription.destination[:80]!r}"
    legal = (f"message.transfer of at most {left} octets",) if unit == OCTET and left else ()
    violate(session, CREDIT_RULE, said, legal, ErrorCode.RESOURCE_LIMIT_EXCEEDED, text, id, _TRANSFER)


def _to_nobody(session: Session, id: int, transfer: message.Transfer) -> None:
    session._inbound.outstanding.add(id)
    said = f"message.transfer to destination {(transfer.destination or '')[:80]!r}"
    legal = tuple([f"message.transfer to destination {name[:80]!r}" for name in list(session._subscriptions.current)[:8]])
    text = "we have no subscription with that destination"
    violate(session, DESTINATION_RULE, said, legal, ErrorCode.NOT_FOUND, text, id, _TRANSFER)


def _hear_command(
    session: Session,
    id: int,
    command: Command,
    header: bytes,
    body: bytes,
    sync: bool,
    codes: tuple[int, int],
) -> None:
    inbound = session._inbound
    if isinstance(command, execution.Result):
        complete_one(session, id)
        _hear_result(session, command)
        return
    if isinstance(command, execution.Exception_):
        complete_one(session, id)
        _hear_exception(session, command)
        return
    if isinstance(command, execution.Sync):
        inbound.add_sync(id)
        if inbound.sync_count > session.limits.incomplete_commands:
            _too_many(session, id, command.VERB, codes)
            return
        session._touch()
        _emit(session, CommandReceived(session.name, id, command, sync))
        return
    inbound.outstanding.add(id)
    if COMMAND_SPEAKERS.get(command.VERB) == session.role:
        text = f"only the {session.role} says {command.VERB}"
        violate(session, command.VERB, command.VERB, (), ErrorCode.NOT_IMPLEMENTED, text, id, codes)
        return
    if inbound.owe(id, codes[0], codes[1], command.RESULT) > session.limits.incomplete_commands:
        _too_many(session, id, command.VERB, codes)
        return
    note = _NOTES.get(type(command))
    outbound = session._outbound
    throttled = None if outbound.producer is None else outbound.producer.available
    if note is not None or command.VERB in CONTENT_VERBS:
        wrong = note(session, id, command) if note is not None else hear_content(session, id, command, header, body)
        if wrong is not None:
            violate(session, wrong.rule, wrong.said, wrong.legal, wrong.code, wrong.text, id, codes)
            return
    event = CommandReceived(session.name, id, command, sync, header, body)
    if header and session._minds_headers:
        event.read_as(session._place.carrier.reading)
    _emit(session, event)
    available = None if outbound.producer is None else outbound.producer.available
    if available != throttled:
        session._emit(ProducerCreditChanged(session.name, None if available == INFINITE else available))
    if session.completes_on_hand_out and not command.RESULT:
        session._complete_now(RangeSet.of(id))


def complete_one(session: Session, id: int) -> None:
    """Completes one incomplete command of the peer, whose result, if any, was sent: `Session.complete` without its checks."""
    inbound = session._inbound
    if id in session._transfers.deliveries or id in session._subscribers.flushes or inbound.skipped:
        session._complete_now(RangeSet.of(id))
        return
    inbound.complete_one(id)
    if not session._touched and session._channel is not None:  # `Session._touch` inlined
        session._touched = True
        session._channel.channels.touch(session)


def _too_many(session: Session, id: int, said: str, codes: tuple[int, int]) -> None:
    most = session.limits.incomplete_commands
    legal = (f"at most {most} commands under way",)
    text = f"more than {most} commands are neither settled nor complete"
    violate(session, "limits.incomplete_commands", said, legal, ErrorCode.RESOURCE_LIMIT_EXCEEDED, text, id, codes)


def _hear_result(session: Session, command: execution.Result) -> None:
    id, outbound = command.command_id, session._outbound
    asked = None if id is None else outbound.asked_for(id)
    if id is None or asked is None:
        if session.profile.strict:
            text = "no command waits for this result"
            legal = tuple([f"execution.result for {waiting}" for waiting, each in outbound.asked.items() if each.RESULT][:8])
            violate(session, command.VERB, f"execution.result for {id}", legal, ErrorCode.INVALID_ARGUMENT, text)
        return
    value = command.value
    if value is not None and value.NAME != asked.RESULT:
        said, text = f"execution.result {value.NAME} for {id}", f"{asked.VERB} has another result"
        legal = (f"execution.result {asked.RESULT} for {id}",)
        violate(session, RESULT_RULE, said, legal, ErrorCode.INVALID_ARGUMENT, text)
        return
    if isinstance(asked, message.Acquire):
        acquired = value.transfers if isinstance(value, message.Acquired) else None
        session._transfers.acquired(asked.transfers or EMPTY, acquired or EMPTY)
    _emit(session, ResultReceived(session.name, id, value))
    status = status_of(value)
    if status:  # anything but xa-ok
        demarcation.demarcation_of(session).answered(id, status, heard=True)
    meant = outbound.answered(id, asked, value)
    if meant is not None:
        _emit(session, meant)


def _hear_exception(session: Session, command: execution.Exception_) -> None:
    about = exception_of(command)
    id = about[0]
    error_code = command.error_code or 0
    description = command.description or ""
    _emit(session, ExceptionReceived(session.name, error_code, *about, description, command.error_info))
    if id is not None:
        session._outbound.refuse(id, error_code)
    tell(session)
    session._refused(session.peer, f"the other side refused it with {error_code}: {description}")


def exception_of(received: execution.Exception_) -> tuple[int | None, int | None, int | None, int | None]:
    """Returns the command id, class code, command code and field index of a received exception.

    Deployed brokers set all of them to 0 when the exception concerns no command: then all are None.
    """
    if not received.class_code and not received.command_code and not received.command_id and received.class_code is not None:
        return None, None, None, None
    return received.command_id, received.class_code, received.command_code, received.field_index


# What a command of the peer changes in our books: subscriptions, their credit, settled messages.  Each function returns an
# objection when the command is invalid.


def _no_such(what: str, said: str, value: int) -> Objection:
    """Returns the objection to a number that the domain does not define."""
    return Objection(what, f"{said} with {value}", ("0", "1"), ErrorCode.ILLEGAL_ARGUMENT, f"no such {what.partition('.')[2]}")


def _note_subscribe(session: Session, id: int, command: message.Subscribe) -> Objection | None:
    subscribers = session._subscribers.current
    destination = command.destination or ""
    if command.accept_mode == NONE and (wrong := demarcation.hear_subscribe(session)) is not None:
        return wrong
    if destination in subscribers:
        rule, said = "message.subscribe.destination.unique-subscriber-destination", f"{command.VERB} {destination!r}"
        return Objection(rule, said, (f"message.cancel {destination!r}",), ErrorCode.NOT_ALLOWED, "subscribed already")
    if len(subscribers) >= session.limits.subscriptions:
        most = session.limits.subscriptions
        text = f"more than {most} subscriptions"
        legal = (f"at most {most} subscriptions",)
        return Objection("limits.subscriptions", command.VERB, legal, ErrorCode.RESOURCE_LIMIT_EXCEEDED, text)
    accept_mode, acquire_mode = command.accept_mode or 0, command.acquire_mode or 0
    if accept_mode > 1:
        return _no_such("message.accept-mode", command.VERB, accept_mode)
    if acquire_mode > 1:
        return _no_such("message.acquire-mode", command.VERB, acquire_mode)
    subscribers[destination] = Subscriber(command.queue or "", destination, accept_mode, acquire_mode)
    return None


def _note_cancel(session: Session, id: int, command: message.Cancel) -> Objection | None:
    destination = command.destination or ""
    if session._subscribers.current.pop(destination, None) is None:
        legal = tuple([f"{command.VERB} {name!r}" for name in list(session._subscribers.current)[:8]])
        rule, said = "message.cancel.destination.subscription-not-found", f"{command.VERB} {destination!r}"
        return Objection(rule, said, legal, ErrorCode.NOT_FOUND, "no such subscription")
    return None


# In message.flow and message.stop, an empty destination without a subscription of that name means everything that we publish.


def _note_flow(session: Session, id: int, command: message.Flow) -> Objection | None:
    unit, value = command.unit or 0, INFINITE if command.value is None else command.value
    if unit not in (MESSAGE, OCTET):
        return _no_such("message.credit-unit", command.VERB, unit)
    subscriber, producer = session._subscribers.current.get(command.destination or ""), session._outbound.producer
    if subscriber is not None:
        subscriber._book.grant(unit, value)
    elif not command.destination and unit == MESSAGE and producer is not None:
        producer.grant(value)
    return None


def _note_flow_mode(session: Session, id: int, command: message.SetFlowMode) -> Objection | None:
    mode, subscriber = command.flow_mode or 0, session._subscribers.current.get(command.destination or "")
    if mode not in (CREDIT_MODE, WINDOW_MODE):
        return _no_such("message.flow-mode", command.VERB, mode)
    if subscriber is not None and session.profile.strict and not subscriber._book.ends_empty:
        text = "the mode changes only while there is no credit"
        said, legal = f"{command.VERB} {subscriber.destination[:80]!r}", ("message.stop", "message.flush")
        return Objection("message.set-flow-mode.mode-switching", said, legal, ErrorCode.PRECONDITION_FAILED, text)
    if subscriber is not None:
        subscriber._book.set_mode(mode)
    return None


def _note_stop(session: Session, id: int, command: message.Stop) -> None:
    subscriber = session._subscribers.current.get(command.destination or "")
    if subscriber is not None:
        subscriber._book.stop()
    elif not command.destination:
        session._outbound.stop_producer()


def _note_flush(session: Session, id: int, command: message.Flush) -> None:
    subscriber = session._subscribers.current.get(command.destination or "")
    if subscriber is not None:
        session._subscribers.begin_flush(subscriber, id)


def _note_settled(
    session: Session, id: int, command: message.Accept | message.Reject | message.Release | message.Acquire
) -> Objection | None:
    """Checks ids in settlements.  By default ignores ids that we never sent, as deployed peers do (real-traffic.md)."""
    if not session.profile.strict:
        return None
    ids = command.transfers or EMPTY
    beyond = session._outbound.beyond(ids)
    if not beyond:
        return None
    said, legal = f"{command.VERB} {ids}", (f"{command.VERB} without {beyond}",)
    return Objection(f"{command.VERB}.transfers", said, legal, ErrorCode.INVALID_ARGUMENT, f"{beyond} were never sent")


def _note_branch(session: Session, id: int, command: Any) -> Objection | None:  # Any: those that have an xid
    """Checks a command about a branch that leaves the session's association alone: only that it names one."""
    return demarcation.hear(session, id, command) if command.xid is None else None


_NOTES: Final[dict[type[Command], Callable[[Session, int, Any], Objection | None]]] = {  # Any: each row takes its own command
    message.Subscribe: _note_subscribe,
    message.Cancel: _note_cancel,
    message.Flow: _note_flow,
    message.SetFlowMode: _note_flow_mode,
    message.Stop: _note_stop,
    message.Flush: _note_flush,
    **dict.fromkeys((message.Accept, message.Reject, message.Release, message.Acquire), _note_settled),
    **dict.fromkeys(demarcation.COMMANDS, demarcation.hear),
    **dict.fromkeys((dtx.Prepare, dtx.Commit, dtx.Rollback, dtx.Forget, dtx.GetTimeout, dtx.SetTimeout), _note_branch),
}


# --- the peer's controls ------------------------------------------------------------------------------------------------------


def _request_timeout(session: Session, control: controls.RequestTimeout) -> None:
    granted = least(control.timeout, session._max_timeout)
    session._say(controls.Timeout(granted))
    session._granted(granted)


def _timeout(session: Session, control: controls.Timeout) -> None:
    session._granted(least(control.timeout, session._wanted))
    session._emit(TimeoutGranted(session.name, control.timeout))


def _command_point(session: Session, control: controls.CommandPoint) -> None:
    id = control.command_id or 0
    if control.command_offset:
        # We keep no part of a command, so nothing can be continued.
        violate(
            session,
            "session.command-point.nonzero-offset",
            f"command-point({id}, {control.command_offset})",
            (f"command-point({id}, 0)",),
            DetachCode.UNKNOWN_IDS,
            "nothing is kept of a command that was not received whole",
        )
        return
    session._inbound.point(id)
    _check_ranges(session, control.VERB)


def _check_ranges(session: Session, said: str) -> None:
    most = session.limits.ranges
    ranges = max(session._inbound.ranges, session._outbound.known.range_count)
    if ranges > most:
        violate(
            session,
            "limits.ranges",
            said,
            (f"at most {most} ranges",),
            ErrorCode.RESOURCE_LIMIT_EXCEEDED,
            f"what is kept of it falls into {ranges} ranges",
        )


def _beyond(session: Session, verb: str, ids: RangeSet, beyond: RangeSet) -> bool:
    """Returns whether a set with ids that nobody has sent ends the session.  It does wherever an observer would report it."""
    if not beyond:
        return False
    violate(
        session,
        f"{verb}.commands",
        f"{verb} {ids}",
        (f"{verb} without {beyond}",),
        ErrorCode.INVALID_ARGUMENT,
        f"{beyond} were never sent",
    )
    return True


def _expected(session: Session, control: controls.Expected) -> None:
    outbound = session._outbound
    ids = control.commands or EMPTY
    if not outbound.hear_expected():
        if session.profile.strict:
            violate(
                session,
                control.VERB,
                f"session.expected {ids}",
                ("session.completed", "session.confirmed"),
                ErrorCode.ILLEGAL_STATE,
                "expected only answers a flush",
            )
        return
    if session.state == "resuming":
        resume(session, ids)


def _confirmed(session: Session, control: controls.Confirmed) -> None:
    ids = control.commands or EMPTY
    outbound = session._outbound
    beyond = outbound.beyond(ids)
    if not session.profile.strict and beyond.ranges == ((outbound.next_id, outbound.next_id),):
        beyond = EMPTY  # qpidd's set ends one id too late
    if _beyond(session, control.VERB, ids, beyond):
        return
    news = outbound.confirm(ids)
    if news:
        session._emit(CommandsConfirmed(session.name, news))


def completed(session: Session, ids: RangeSet, timely: bool) -> None:
    """Handles session.completed: the peer has executed these commands."""
    outbound = session._outbound
    beyond = outbound.beyond(ids)
    if beyond and _beyond(session, controls.Completed.VERB, ids, beyond):
        return
    news = outbound.completed(ids, timely, beyond)
    if outbound.known.range_count > session.limits.ranges:
        _check_ranges(session, controls.Completed.VERB)
        if session._channel is None:
            return
    if timely:
        session._touch()
    if not news:
        return
    session._subscribers.completed(news)
    if session._subscriptions.withdrawals and session._subscriptions.withdraw(news):
        session._place.channels.unlearn()
    if session._contents is not None:
        session._contents.completed(session.peer, news)
    session._emit(CommandsCompleted(session.name, news))
    if session._outbound.asked:
        for event in session._outbound.executed(news):
            session._emit(event)


def completed_run(session: Session, low: int, high: int, timely: bool) -> CommandsCompleted | None:
    """Does the same as `completed` for one range of ids.

    Returns the event if it is the only effect, instead of queueing it.
    """
    outbound, subscribers = session._outbound, session._subscribers
    if (
        subscribers.windows or subscribers.replenished or session._subscriptions.withdrawals or session._outbound.asked
        or session._contents is not None or (news := outbound.completed_run(low, high, timely)) is None
    ):  # fmt: skip
        completed(session, RangeSet.span(low, high), timely)
        return None
    if timely:
        session._touch()
    return CommandsCompleted(session.name, news)


def _known_completed(session: Session, control: controls.KnownCompleted) -> None:
    ids = control.commands or EMPTY
    if not _beyond(session, control.VERB, ids, session._inbound.beyond(ids)):
        session._inbound.known_completed(ids)


def _flush(session: Session, control: controls.Flush) -> None:
    inbound = session._inbound
    if control.expected:
        inbound.stream.step(session.peer, FLUSH_EXPECTED)
    asked = ASKED_EXPECTED * control.expected | ASKED_CONFIRMED * control.confirmed | ASKED_COMPLETED * control.completed
    answer_flush(session, inbound.ask(asked))
    session._touch()


def _gap(session: Session, control: controls.Gap) -> None:
    ids, channel = control.commands or EMPTY, session._place
    if session._inbound.begun and session._inbound.cursor in ids:
        channel.channels.break_off(channel.number)
    news = session._inbound.gap(ids)
    _check_ranges(session, control.VERB)
    if session._channel is not None:
        if news:
            session._emit(CommandsSkipped(session.name, news))
        if session._inbound.due:
            session._subscriptions.give_back(session._transfers.complete(ids))
            session._touch()


CONTROLS: Final[dict[type[Control], Callable[[Session, Any], None]]] = {  # Any: each row takes its own control
    controls.RequestTimeout: _request_timeout,
    controls.Timeout: _timeout,
    controls.CommandPoint: _command_point,
    controls.Expected: _expected,
    controls.Confirmed: _confirmed,
    controls.Completed: lambda session, control: completed(session, control.commands or EMPTY, control.timely_reply),
    controls.KnownCompleted: _known_completed,
    controls.Flush: _flush,
    controls.Gap: _gap,
}
"""What handles each control of class session other than attach, attached, detach and detached."""


# --- the feedback that we send: expected, confirmed, completed, and known-completed ------------------------------------------


def tell(session: Session) -> None:
    """Sends what was gathered since the last call: completions, and the answers to flush and timely-reply."""
    session._touched = False
    if session._channel is None or session._state not in ("attached", "resuming"):
        return
    inbound, outbound = session._inbound, session._outbound
    if inbound.asked or inbound.answered:
        answer_flush(session, inbound.take_asked())
    if inbound.due:
        _tell_completed(session, inbound.wants_timely())
    if outbound.known_due:
        for part in parts(session, outbound.take_known()):
            session._say(controls.KnownCompleted(part))


def answer_flush(session: Session, asked: int) -> None:
    """Sends what the peer's flush asks for: see `Inbound.asked`."""
    channel, inbound = session._place, session._inbound
    if asked & ASKED_EXPECTED:
        # A single control.  If it is too small for all holes, it names the first ones: its greatest id stands for everything
        # after it, so we receive some commands twice and discard them.
        channel.say(controls.Expected(parts(session, inbound.expected(new=session._attachments <= 1))[0]))
        inbound.stream.step(session.role, EXPECTED)
    if asked & ASKED_CONFIRMED:
        for part in parts(session, inbound.tell_confirmed()):
            channel.say(controls.Confirmed(part))
    if asked & ASKED_COMPLETED:
        _tell_completed(session, timely=bool(inbound.known))


def _tell_completed(session: Session, timely: bool) -> None:
    """Sends the completions that the peer does not know of, even if there are none."""
    channel, inbound = session._channel, session._inbound
    assert channel is not None
    one = inbound.tell_one_range()
    if one is not None:  # nearly always: what follows with its calls inlined
        low, high = one
        channel.carrier._write(replies_of(channel.layout).control(channel.number, low, high, timely))
    else:
        for part in parts(session, inbound.tell_completed()):
            channel.say(controls.Completed(part, timely))
    if session._subscriptions.unreported:
        session._subscriptions.reported()


def parts(session: Session, ids: RangeSet) -> list[RangeSet]:
    """Splits a set so that each part fits into one control."""
    ranges = ids.ranges
    if len(ranges) <= 1:
        return [ids]
    room = (session._place.carrier._max_frame_size - 18) // 8
    return [RangeSet(ranges[at : at + room]) for at in range(0, len(ranges), room)]


@cache
def replies_of(layout: Layout) -> OneRange:
    """Returns what cuts runs of answers to messages: session.completed and message.accept."""
    ids = RangeSet.of(0)
    completed, timely = layout.encode_control(controls.Completed(ids)), layout.encode_control(controls.Completed(ids, True))
    return OneRange(completed, timely, layout.encode_command(Accept(ids), False), layout.encode_command(Accept(ids), True))
