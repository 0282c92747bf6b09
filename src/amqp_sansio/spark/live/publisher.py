"""One task's work: publishes its rows in a branch of its own and prepares it; the driver decides about it.

Steps: `started`, `published`, `ended`, `prepared`.  Without branches: `published` when the broker has certainly taken all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from amqp_sansio.adapters.sync import Pending, Session
from amqp_sansio.errors import EncodeError, MessageReturned
from amqp_sansio.spark.live.broker_link import Link, give_time
from amqp_sansio.spark.live.errors import LiveSetupError
from amqp_sansio.spark.live.identity import SINK, branch, word
from amqp_sansio.spark.live.mapping import Outgoing
from amqp_sansio.spark.live.options import AT_LEAST_ONCE, Access
from amqp_sansio.spark.live.spooler import Step, go_on
from amqp_sansio.spec.codes import XaStatus

WITHOUT_WORD: Final = 500
"""The most messages in flight before the oldest is awaited."""
STEPS: Final = ("started", "published", "ended", "prepared")


class Published(NamedTuple):
    """What a task did: `branch` is the word of its prepared branch, "" without one."""

    branch: str
    rows: int
    octets: int


class Publisher:
    """Publishes for one journal's `owner`."""

    def __init__(self, access: Access, owner: bytes, mode: str, branch_timeout: int | None = None, step: Step = go_on) -> None:
        self.access: Final = access
        self.owner: Final = owner
        self.mode: Final = mode
        self.branch_timeout: Final = branch_timeout
        self._step: Final = step

    def publish(self, messages: Iterable[Outgoing], number: int = 0, kind: bytes = SINK) -> Published:
        """Publishes messages; `number` is the epoch, or that of the job.

        Raises LiveError; then the messages do not count, and the broker drops them.
        """
        mandatory = False

        def noted() -> Iterator[Outgoing]:
            nonlocal mandatory
            for each in messages:
                mandatory = mandatory or each.properties.get("mandatory", False)
                yield each

        waiting = noted()
        first = next(waiting, None)
        if first is None:  # no rows: no connection
            return Published("", 0, 0)
        name = branch(self.owner, kind, number)
        with Link(self.access) as link, link.told(""):
            try:
                with link.connection.session() as session:
                    if self.mode == AT_LEAST_ONCE:
                        rows, octets = self._send(session, first, waiting)
                        session.sync()
                        self._step("published")
                        return Published("", rows, octets)
                    with session.branch(name):
                        give_time(session, name, self.branch_timeout)
                        self._step("started")
                        rows, octets = self._send(session, first, waiting)
                        self._step("published")
                    self._step("ended")
                    status = session.prepare(name)
                    self._step("prepared")
            except MessageReturned as error:
                raise LiveSetupError(f"{self.access.shown}: {error}") from None
            if status == XaStatus.XA_RDONLY and not mandatory:  # no queue took any, which is allowed
                return Published("", rows, octets)
            link.must_keep(status, "is given")
            return Published(word(name), rows, octets)

    def _send(self, session: Session, first: Outgoing, others: Iterable[Outgoing]) -> tuple[int, int]:
        rows = octets = 0
        flight: deque[tuple[Pending[None], str, str]] = deque()
        message: Outgoing | None = first
        following = iter(others)
        while message is not None:
            exchange, key = message.exchange, message.routing_key
            try:
                flight.append((session.send(exchange, key, message.body, **message.properties), exchange, key))
            except EncodeError as error:
                raise LiveSetupError(
                    f"a message to exchange {exchange!r} with routing key {key!r} is not valid: {error}"
                ) from None
            rows += 1
            octets += len(message.body)
            while flight and flight[0][0].done:
                self._taken(*flight.popleft())
            if len(flight) >= WITHOUT_WORD:
                self._taken(*flight.popleft())
            message = next(following, None)
        while flight:
            self._taken(*flight.popleft())
        return rows, octets

    def _taken(self, sent: Pending[None], exchange: str, key: str) -> None:
        """Waits until the broker has certainly taken it.  Raises LiveSetupError when no queue takes it."""
        try:
            sent.result()
        except MessageReturned as error:
            raise LiveSetupError(
                f"{self.access.shown}: {error}: no queue takes a message to exchange {exchange!r} with routing key {key!r}; "
                "option mandatory=false drops such messages"
            ) from None
