"""A queue beside a list: whatever is done, both hold the same messages in the same order with the same marks."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule
from tests.broker.model.things import following, message

from amqp_sansio.broker.model import message as entries
from amqp_sansio.broker.model.message import ACQUIRED, AVAILABLE, GONE, HELD, QueueEntry
from amqp_sansio.broker.model.queue import Queue, level_of


class Naive:
    """One message as the list knows it."""

    def __init__(self, entry: QueueEntry, level: int, state: int) -> None:
        self.entry = entry
        self.level = level
        self.state = state
        self.redelivered = False
        self.fresh = True
        """Whether a cursor that sees releases has not seen it since it came, or was released last."""


# A queue is a list: messages stand in it by level and then by arrival, whatever was taken and released in between; what is held
# keeps what is behind it on its level; nothing is lost, nothing is there twice.
class QueueMachine(RuleBasedStateMachine):
    entries: Bundle[QueueEntry] = Bundle("entries")

    def __init__(self) -> None:
        super().__init__()
        self.model: list[Naive] = []
        self.queue = Queue("q")
        self.cursor = self.queue.cursor()
        self.again = self.queue.cursor(released=True)
        self.seen: dict[int, int] = {}
        self.levels = 10
        self.block = entries.BLOCK
        entries.BLOCK = 2  # type: ignore[misc]  # so that few messages fill many blocks

    def teardown(self) -> None:
        entries.BLOCK = self.block  # type: ignore[misc]

    @initialize(levels=st.integers(1, 10))
    def begin(self, levels: int) -> None:
        self.levels = levels
        self.queue = Queue("q", levels=levels)
        self.cursor = self.queue.cursor()
        self.again = self.queue.cursor(released=True)
        self.seen = dict.fromkeys(range(levels), -1)

    def ordered(self) -> list[Naive]:
        live = [each for each in self.model if each.state != GONE]
        return sorted(live, key=lambda each: -each.level)  # stable: by arrival within a level

    def of(self, entry: QueueEntry) -> Naive:
        (found,) = [each for each in self.model if each.entry is entry]
        return found

    def next_by_level(self, after: dict[int, int]) -> Naive | None:
        """The first that is available, of the highest level whose first one (behind a position) is not held."""
        blocked: set[int] = set()
        for each in self.ordered():
            if each.level in blocked or self.model.index(each) <= after.get(each.level, -1):
                continue
            if each.state == AVAILABLE:
                return each
            if each.state == HELD:
                blocked.add(each.level)
        return None

    @rule(target=entries, priority=st.integers(0, 9), held=st.booleans(), many=st.integers(1, 4))
    def put(self, priority: int, held: bool, many: int) -> Any:
        made = []
        for _ in range(many):
            entry = self.queue.put(message(priority=priority), held)
            self.model.append(Naive(entry, level_of(priority, self.levels), HELD if held else AVAILABLE))
            made.append(entry)
        return multiple(*made)

    @rule(many=st.integers(1, 3))
    def take(self, many: int) -> None:
        for _ in range(many):
            expected = self.next_by_level({})
            entry = self.queue.take()
            assert entry is (expected.entry if expected else None)
            if expected:
                expected.state = ACQUIRED

    @rule(entry=entries)
    def acquire(self, entry: QueueEntry) -> None:
        known = self.of(entry)
        assert self.queue.acquire(entry) == (known.state == AVAILABLE)
        if known.state == AVAILABLE:
            known.state = ACQUIRED

    @rule(entry=entries, mark=st.booleans())
    def release(self, entry: QueueEntry, mark: bool) -> None:
        known = self.of(entry)
        self.queue.release(entry, mark)
        if known.state == ACQUIRED:
            known.state = AVAILABLE
            known.redelivered = known.redelivered or mark
            known.fresh = True

    @rule(entry=entries)
    def put_back(self, entry: QueueEntry) -> None:
        known = self.of(entry)
        if known.state == ACQUIRED:
            self.queue.put_back(entry)
            known.state = AVAILABLE

    @rule()
    def release_all_backwards(self) -> None:
        for known in reversed(self.model):
            if known.state == ACQUIRED:
                self.queue.release(known.entry)
                known.state = AVAILABLE
                known.fresh = True

    @rule(entry=entries)
    def remove(self, entry: QueueEntry) -> None:
        known = self.of(entry)
        assert self.queue.remove(entry) == (known.state != GONE)
        known.state = GONE

    @rule(entry=entries)
    def unhold(self, entry: QueueEntry) -> None:
        known = self.of(entry)
        self.queue.unhold(entry)
        if known.state == HELD:
            known.state = AVAILABLE

    @rule()
    def look(self) -> None:
        expected = self.next_by_level(self.seen)
        entry = following(self.cursor)
        assert entry is (expected.entry if expected else None)
        if expected:
            self.seen[expected.level] = self.model.index(expected)

    @rule()
    def another_cursor_begins(self) -> None:
        self.again = self.queue.cursor(released=True)
        for known in self.model:
            known.fresh = True

    # A cursor that sees releases sees each message once, and once more after each release; none is left out, and none of a
    # lower level comes before it, unless a held message is in the way.
    @rule(many=st.integers(1, 4))
    def look_again(self, many: int) -> None:
        for _ in range(many):
            entry = following(self.again)
            held = {each.level for each in self.model if each.state == HELD}
            fresh = [each for each in self.model if each.state == AVAILABLE and each.fresh]
            missed = [each.level for each in fresh if each.level not in held]
            if entry is None:
                assert not missed
                return
            known = self.of(entry)
            assert known in fresh
            assert known.level >= max(missed, default=0)
            before = self.model[: self.model.index(known)]
            assert not [each for each in before if each.state == HELD and each.level == known.level]
            known.fresh = False

    @invariant()
    def the_same_messages_in_the_same_order(self) -> None:
        expected = self.ordered()
        assert list(self.queue.all()) == [each.entry for each in expected]
        assert self.queue.waiting() == [each.entry for each in expected if each.state != ACQUIRED]
        assert [each.entry.state for each in self.model] == [each.state for each in self.model]
        assert [each.entry.redelivered for each in self.model] == [each.redelivered for each in self.model]

    @invariant()
    def the_same_counts(self) -> None:
        states = [each.state for each in self.model]
        queue = self.queue
        assert (queue.available, queue.acquired, queue.held) == tuple(map(states.count, (AVAILABLE, ACQUIRED, HELD)))
        assert queue.octets == sum(each.entry.message.size for each in self.model if each.state != GONE)


QueueMachine.TestCase.settings = settings(max_examples=settings().max_examples, stateful_step_count=40, deadline=None)
TestQueueMachine = QueueMachine.TestCase
