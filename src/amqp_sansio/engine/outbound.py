"""Our own half of a session: the commands that we send and what the other side has said about them."""

from __future__ import annotations

from typing import Final

from amqp_sansio.errors import LimitError
from amqp_sansio.kernel.picking import ById
from amqp_sansio.kernel.serials import MutableRangeSet, RangeSet, serial_add, serial_lt
from amqp_sansio.ledger.credit import Credit
from amqp_sansio.ledger.ids import WIDEST, OwnIds, trim
from amqp_sansio.limits import Limits
from amqp_sansio.tables.session import CLIENT, COMMAND_POINT, EXPECTED, FLUSH_EXPECTED, SERVER

Said = tuple[bytes, bytes | None, bytes | None]
"""What a command is made of, as octets: command segment, header segment, body segment.  Frames are cut anew on replay."""


class Outbound(OwnIds):
    """Our ids, and the octets that are kept for replay.

    * `position`: the id that the other side will give to the next command on this
      attachment; None before any command-point on it.
    * `known_due`: the other side asked for a timely reply about what is `known`.
    * `expected_asked`: answers to come that say what the other side expects: one for each flush that asked for it.
    * `kept`: octets that may have to be sent again; nothing is kept unless `retain`.  `bare`: what is in doubt and is not kept;
      what was sent from `bare_from` on, while nothing was kept, is looked up when it is wanted.
    """

    __slots__ = (
        "bare",
        "bare_from",
        "expected_asked",
        "kept",
        "kept_octets",
        "known_due",
        "position",
        "producer",
        "retain",
    )

    def __init__(self, retain: bool, sender: str = CLIENT) -> None:
        super().__init__(sender)
        self.position: int | None = None
        self.known_due = False
        self.expected_asked = 0
        self.retain = retain
        self.producer: Credit | None = None
        """What the other side lets us publish, in messages; None as long as it never throttled us."""
        self.kept: Final[ById[Said]] = ById()
        self.kept_octets = 0
        self.bare: MutableRangeSet = MutableRangeSet()
        self.bare_from = 0

    @property
    def throttled(self) -> bool:
        """Whether the other side lets us publish nothing now."""
        return self.producer is not None and not self.producer.available

    def check_room(self, octets: int, limits: Limits, commands: int = 1) -> None:
        """LimitError when commands of so many octets together cannot be kept for replay.  Changes nothing."""
        if len(self.kept) + commands > limits.replay_commands:
            raise LimitError("replay_commands", limits.replay_commands, len(self.kept) + commands)
        if self.kept_octets + octets > limits.replay_octets:
            raise LimitError("replay_octets", limits.replay_octets, self.kept_octets + octets)

    def say(self, payload: bytes, header: bytes | None, body: bytes | None) -> int:
        """A command is written: gives it its id."""
        id = self.next_id
        self.next_id = self.position = (id + 1) & 0xFFFFFFFF
        self.begun = True
        self.outstanding.add(id)
        if self.retain:
            self.kept[id] = (payload, header, body)
            self.kept_octets += len(payload) + len(header or b"") + len(body or b"")
        return id

    def stop_retaining(self) -> None:
        """No detached lifetime is wanted any more: nothing will be replayed."""
        if self.retain:
            self.retain = False
            self.bare.update(self.kept.ids.freeze())
            self.bare_from = self.next_id
        self.kept.clear()
        self.kept_octets = 0

    def begin_retaining(self) -> None:
        """Keeps everything sent from here on."""
        if not self.retain:
            self._look_up_bare()
            self.retain = True

    def _look_up_bare(self) -> None:
        """What was sent while nothing was kept and is in doubt: costs what was sent since the last look."""
        if self.bare_from != self.next_id:
            said = RangeSet([(self.bare_from, serial_add(self.next_id, -1))])
            self.bare.update(self.confirmed.missing(self.outstanding.common(said)))
            self.bare_from = self.next_id

    def begin_attachment(self) -> None:
        """A new transport: the numbering must be sent again."""
        super().begin_attachment()
        self.position = None
        self.expected_asked = 0
        self.known_due = False

    def point(self, id: int) -> None:
        """command-point is sent: the next command has this id."""
        self.stream.step(self.sender, COMMAND_POINT)
        self.position = id

    def say_again(self, id: int) -> Said:
        """A command is written again, behind what `position` says: what it is made of."""
        self.position = serial_add(id, 1)
        return self.kept[id]

    def stop_producer(self) -> None:
        """The other side says message.stop of all that we publish."""
        self.producer = Credit()

    def ask_expected(self) -> None:
        """flush is sent, which asks what the other side expects."""
        self.stream.step(self.sender, FLUSH_EXPECTED)
        self.expected_asked += 1

    def hear_expected(self) -> bool:
        """The other side says what it expects: whether it was asked, once for each answer."""
        receiver = SERVER if self.sender == CLIENT else CLIENT
        if self.stream.step(receiver, EXPECTED) is not None or not self.expected_asked:
            return False
        self.expected_asked -= 1
        return True

    def completed(self, ids: RangeSet, timely: bool, beyond: RangeSet | None = None) -> RangeSet:
        """session.completed: what of it is news.  Ids that were never sent, `beyond` where that is known, are left out."""
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
        """`completed` for the ids from `low` to `high` where that takes no algebra, as it nearly always does: what is news.

        None, and nothing has changed, where `complete_run` gives that, or what is known would be no range.
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
        """session.confirmed: what of it is news; it need not be kept any more."""
        news = super().confirm(ids)
        if news:
            self._drop(news)
        return news

    def take_known(self) -> RangeSet:
        """What known-completed has to say now; it is then forgotten."""
        ids = self.known.freeze()
        self.known.clear()
        self.known_due = False
        return ids

    def wanted(self, expected: RangeSet) -> RangeSet:
        """Which of our ids the other side wants when it expects these.

        A set cannot be open-ended: its greatest id stands for itself and everything after it.  A non-empty set only.
        """
        last = expected.last
        wanted = expected - self.beyond(expected)
        if serial_lt(last, self.next_id):
            wanted |= RangeSet([(last, serial_add(self.next_id, -1))])
        return wanted

    def ever(self, ids: RangeSet) -> RangeSet:
        """Those of the ids that may be of commands said in this session: the others are too far back."""
        return ids & RangeSet([(serial_add(self.next_id, -WIDEST), serial_add(self.next_id, -1))])

    def missing(self, wanted: RangeSet) -> RangeSet:
        """Those of the ids that are in doubt and were not kept: the session cannot go on."""
        if not self.retain:
            self._look_up_bare()
        return self.bare.common(wanted)

    def _drop(self, ids: RangeSet) -> None:
        """What is in doubt no more is not kept either."""
        if self.bare.highs:
            self.bare.discard(ids)
        for payload, header, body in self.kept.take(ids):
            self.kept_octets -= len(payload) + len(header or b"") + len(body or b"")
