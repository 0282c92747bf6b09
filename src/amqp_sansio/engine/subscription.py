"""Subscriptions: ours at the other side (`Subscription`), and the other side's with us (`Subscriber`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.errors import EncodeError, LocalProtocolError
from amqp_sansio.kernel.serials import RangeSet, whole
from amqp_sansio.ledger.credit import CREDIT_MODE, INFINITE, MESSAGE, OCTET, WINDOW_MODE, CreditBook
from amqp_sansio.spec import message
from amqp_sansio.spec.codes import FlowMode

if TYPE_CHECKING:
    from amqp_sansio.engine.carrier import CommandId
    from amqp_sansio.engine.session import Session


class Terms:
    """What both sides know of a subscription: its queue and destination, its modes and its credit."""

    __slots__ = ("accept_mode", "acquire_mode", "destination", "_book", "queue")

    def __init__(
        self, queue: str, destination: str, accept_mode: int, acquire_mode: int, book: CreditBook | None = None
    ) -> None:
        self.queue: Final = queue
        self.destination: Final = destination
        self.accept_mode: Final = accept_mode
        self.acquire_mode: Final = acquire_mode
        self._book: Final = book or CreditBook()

    @property
    def message_credit(self) -> int:
        """How many more messages may be transferred: 0 to 2**32 - 2, or INFINITE."""
        return self._book.messages.available

    @property
    def octet_credit(self) -> int:
        """How many more octets of header and body may be transferred: 0 to 2**32 - 2, or INFINITE."""
        return self._book.octets.available

    @property
    def mode(self) -> FlowMode:
        """Whether completed transfers give their credit back (WINDOW) or not (CREDIT)."""
        return FlowMode(self._book.mode)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.destination!r} to {self.queue!r}>"


class Subscription(Terms):
    """What we subscribed to.  Messages come while there is credit in both units; it begins with none, in window mode.

    The credit seen from here is an upper bound of what may still come: what the other side has sent and we have not read is
    not subtracted yet.
    """

    __slots__ = ("_cancel_id", "_session")

    def __init__(
        self, session: Session, queue: str, destination: str, accept_mode: int, acquire_mode: int, book: CreditBook
    ) -> None:
        super().__init__(queue, destination, accept_mode, acquire_mode, book)
        self._session: Final = session
        self._cancel_id: int | None = None
        """The command that cancelled it."""

    @property
    def cancelled(self) -> bool:
        """Whether message.cancel was sent."""
        return self._cancel_id is not None

    @property
    def unsettled(self) -> RangeSet:
        """Transfers of this subscription with explicit accept that are neither accepted, rejected nor released."""
        return self._session._transfers.unsettled(self)

    def grant(self, messages: int, octets: int = INFINITE) -> CommandId:
        """Grants credit in both units, for either at 0 stops everything; each 0 to 2**32 - 1, which is INFINITE.

        A unit of which nothing is granted is not mentioned, nor is infinite credit that is there already.  Returns the id of
        the last command sent.  LocalProtocolError when nothing would be sent.
        """
        for value in (messages, octets):
            if not whole(value, INFINITE):
                raise EncodeError("message.flow.value", f"0 to {INFINITE}, not {value!r}")
        flows = [
            message.Flow(self.destination, unit, value)
            for unit, value, credit in ((MESSAGE, messages, self._book.messages), (OCTET, octets, self._book.octets))
            if value and not (value == INFINITE == credit.limit and not self._book.flushing)
        ]
        if not flows:
            raise LocalProtocolError(
                "message.flow", "all of that is granted already", ("grant of more", "message.stop", "message.flush")
            )
        return self._session.send_all(flows)[-1]

    def flush(self, sync: bool = False) -> CommandId:
        """Asks for what credit and queue allow now; then the credit is gone.  The completion of the command says when."""
        return self._session.send(message.Flush(self.destination), sync=sync)

    def stop(self, sync: bool = False) -> CommandId:
        """Takes all credit away.  Nothing comes after the completion of the command."""
        return self._session.send(message.Stop(self.destination), sync=sync)

    def cancel(self, sync: bool = False) -> CommandId:
        """Ends the subscription.  Messages may come until the command is complete; what came can still be settled."""
        return self._session.send(message.Cancel(self.destination), sync=sync)

    def set_mode(self, mode: FlowMode, sync: bool = False) -> CommandId:
        """Whether completed transfers give their credit back (WINDOW) or not (CREDIT).

        Only while there is no credit in either unit.
        """
        return self._session.send(message.SetFlowMode(self.destination, mode), sync=sync)

    def _complete(self, messages: int, octets: int, charge: int) -> None:
        """Transfers of it are completed: the engine's word, see `CreditBook.complete`."""
        self._book.complete(messages, octets, charge)
        self._session._unreported[self._book] = None

    def check_usable(self, said: str) -> None:
        """LocalProtocolError when it is cancelled."""
        if self.cancelled:
            raise LocalProtocolError(f"{said} {self.destination!r}", "cancelled", ("message.subscribe",))

    def _check_mode(self, mode: int) -> None:
        """LocalProtocolError unless the mode may be set now."""
        if mode not in (CREDIT_MODE, WINDOW_MODE):
            raise EncodeError("message.set-flow-mode.flow-mode", f"0 credit or 1 window, not {mode}")
        if not self._book.empty:
            raise LocalProtocolError(
                f"message.set-flow-mode {self.destination!r}",
                f"credit of {self.message_credit} messages and {self.octet_credit} octets",
                ("message.stop", "message.flush"),
                "message.set-flow-mode.mode-switching",
            )


class Subscriber(Terms):
    """Somebody at the other side who subscribed to us: where `Session.deliver` sends, and how much it may."""

    __slots__ = ()
