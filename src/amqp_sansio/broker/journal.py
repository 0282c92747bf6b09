"""Durable changes as numbered entries, and what waits until they are stored.

The broker writes; an adapter takes the entries, stores as many at once as it likes, and says up to which number they are
safe.  Whatever depends on an entry (a completion, a result, a message becoming visible) is held back until then.
"""

from __future__ import annotations

from collections.abc import Callable

from amqp_sansio.broker.operations import Entry, Operation
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.kernel.serials import whole


class Journal:
    """The journal of one broker.  `enabled` False: nothing is kept, every number is 0 and nothing ever waits.

    `last` is the number of the entry written last, `done` the one up to which entries are journalled.
    """

    __slots__ = ("_taken", "_untaken", "_waiting", "done", "enabled", "last")

    def __init__(self, enabled: bool = False, last: int = 0) -> None:
        self.enabled = enabled
        self.last = last
        self.done = last
        self._taken = last
        self._untaken: list[Entry] = []
        self._waiting: dict[int, list[Callable[[], object]]] = {}

    def write(self, *operations: Operation) -> int:
        """One entry of these, all or nothing.  Its number; 0 when there is nothing that must be journalled."""
        if not operations or not self.enabled:
            return 0
        self.last += 1
        self._untaken.append(Entry(self.last, operations))
        return self.last

    def take(self) -> tuple[Entry, ...]:
        """The entries written since the last call, in order: each is handed out once."""
        entries = tuple(self._untaken)
        self._untaken.clear()
        self._taken = self.last
        return entries

    def journalled(self, number: int) -> None:
        """Entries up to `number` are stored and will survive: what waited for them happens now, in the order of the entries.

        Repeating a number changes nothing.  LocalProtocolError for one that was not taken yet.
        """
        if not whole(number, self._taken):
            raise LocalProtocolError(
                f"journalled({number!r})", f"entries are taken up to {self._taken}", (f"0..{self._taken}",), "journal"
            )
        while self.done < number:
            self.done += 1
            for then in self._waiting.pop(self.done, ()):
                then()

    def begin(self, number: int) -> None:
        """Goes on behind entry `number` of another broker, before anything was written."""
        self.last = self.done = self._taken = number

    def after(self, number: int, then: Callable[[], object]) -> None:
        """`then()` once entry `number` is journalled: at once when it is (0 always is)."""
        if number <= self.done:
            then()
        else:
            self._waiting.setdefault(number, []).append(then)

    @property
    def pending(self) -> int:
        """How many entries were written and are not journalled yet."""
        return self.last - self.done

    def __repr__(self) -> str:
        return f"<Journal: {self.last} written, {self._taken} taken, {self.done} journalled>"
