"""Producer flow control: stops publishers into a queue that is too long, if they support it.

It uses message.set-flow-mode, message.stop and message.flow on destination "", which means every transfer of the session.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from amqp_sansio.ledger.credit import CREDIT_MODE, INFINITE, MESSAGE
from amqp_sansio.spec.message import Flow, SetFlowMode, Stop

if TYPE_CHECKING:
    from amqp_sansio.broker.fronts.sessions.holder import SessionHolder
    from amqp_sansio.broker.model.queue import Queue


class Throttle:
    """The queues that are too long, and the sessions that wait for them to shorten."""

    __slots__ = ("_most", "_told", "_waiting", "owing", "queues", "short")

    def __init__(self, most: int) -> None:
        self._most: Final = most  # the length from which on a queue is too long
        self.queues: Final[dict[Queue, dict[SessionHolder, None]]] = {}
        """Queues that are too long, with the sessions that wait for each."""
        self.short: Final[dict[Queue, None]] = {}
        """Of them, those that are short enough again, or deleted: while there are any, `relieve` has something to do."""
        self._waiting: Final[dict[SessionHolder, dict[Queue, None]]] = {}
        self.owing: Final[dict[SessionHolder, None]] = {}
        """Sessions that may resume, but too much is kept for replay to tell them."""
        self._told: Final[dict[SessionHolder, bool]] = {}  # whether each session was stopped, of those that ever were

    def published(self, holder: SessionHolder, queues: Iterable[Queue]) -> None:
        """Records that the session published into these queues, and stops it if one is too long."""
        if not holder.throttles:
            return
        for queue in queues:
            if queue.messages >= self._most and holder not in self.queues.get(queue, ()):
                if not self._waiting.get(holder):
                    words = (Stop(""),) if holder in self._told else (SetFlowMode("", CREDIT_MODE), Stop(""))
                    if not holder.say(*words):
                        return
                    self._told[holder] = True
                self._waiting.setdefault(holder, {})[queue] = None
                self.queues.setdefault(queue, {})[holder] = None
                queue.shortened = self._shortened

    def _shortened(self, queue: Queue) -> None:
        if queue.messages <= self._most // 2 or queue.deleted:
            self.short[queue] = None

    def relieve(self) -> None:
        """Resumes the publishers of queues that are no longer too long."""
        short = list(self.short)
        self.short.clear()
        for queue in short:
            if queue.messages <= self._most // 2 or queue.deleted:
                queue.shortened = None
                for holder in self.queues.pop(queue):
                    waiting = self._waiting[holder]
                    del waiting[queue]
                    if not waiting:
                        del self._waiting[holder]
                        self._resume(holder)

    def _resume(self, holder: SessionHolder) -> None:
        if self._told.get(holder):
            if holder.say(Flow("", MESSAGE, INFINITE)):
                self._told[holder] = False
                self.owing.pop(holder, None)
            elif holder.speaks:  # otherwise it is checked when it is attached
                self.owing[holder] = None
                holder.wait_for_replay()

    def attached(self, holder: SessionHolder) -> None:
        """Sends what the session could not be sent while it was detached."""
        if holder not in self._waiting:
            self._resume(holder)

    def told(self, holder: SessionHolder) -> bool | None:
        """Returns whether the session is stopped; None when it never was."""
        return self._told.get(holder)

    def restored(self, holder: SessionHolder, told: bool) -> None:
        """Restores whether a session is stopped."""
        self._told[holder] = told

    def ended(self, holder: SessionHolder) -> None:
        """Forgets a session that ended."""
        self._told.pop(holder, None)
        self.owing.pop(holder, None)
        for queue in self._waiting.pop(holder, ()):
            holders = self.queues[queue]
            del holders[holder]
            if not holders:
                del self.queues[queue]
                self.short.pop(queue, None)
                queue.shortened = None
