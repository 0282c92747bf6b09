"""A ticket: the answer to a call that is still pending, for which an adapter can wait; and how its error is raised."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Generic, TypeVar

from amqp_sansio.errors import AmqpError, SharedSessionFailed

Value = TypeVar("Value")


class Ticket(Generic[Value]):
    """An answer that is pending, or settled with a value or an error.

    It is settled once: later answers are ignored.  Each callback is called once.
    """

    __slots__ = ("_callbacks", "_value", "done", "error", "heard")

    def __init__(self) -> None:
        self.done = False
        self.error: Exception | None = None
        self.heard = False
        """Whether a program has taken the answer, usually by `result`; if not, the end of the session or channel reports
        a failure."""
        self._value: Value | None = None
        self._callbacks: list[Callable[[], None]] = []

    def settle(self, value: Value) -> None:
        """Settles it with a value."""
        if not self.done:
            self._value = value
            self.done = True
            if self._callbacks:
                self._call_back()

    def fail(self, error: Exception) -> None:
        """Settles it with an error."""
        if not self.done:
            self.error = error
            self.done = True
            if self._callbacks:
                self._call_back()

    def on_done(self, callback: Callable[[], None]) -> None:
        """Registers a callback for when it is settled; calls it at once when it already is."""
        if self.done:
            callback()
        else:
            self._callbacks.append(callback)

    def forget(self, callback: Callable[[], None]) -> None:
        """Removes a callback, whose owner does not wait any more."""
        if callback in self._callbacks:
            self._callbacks.remove(callback)

    def result(self) -> Value:
        """Returns the value, or raises the error (see `seen`).  Call it only when `done`."""
        assert self.done, "not settled yet"
        self.heard = True
        if self.error is not None:
            raise seen(self.error)
        return self._value  # type: ignore[return-value]  # done without an error: `settle` put it there

    def _call_back(self) -> None:
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def __repr__(self) -> str:
        return f"<Ticket {'open' if not self.done else 'failed' if self.error is not None else 'settled'}>"


def seen(error: Exception) -> Exception:
    """Returns a copy of the error to raise to one caller; marks the error and its cause as `AmqpError.seen`.

    The refusal that caused a SharedSessionFailed is not marked: the caller whose command was refused has not seen it yet.

    Each caller gets a copy, because an error that is raised again while another is handled could become its own cause.
    Errors of other kinds are returned as they are.
    """
    for each in (error, error.__cause__):
        if isinstance(each, AmqpError) and (each is error or not isinstance(error, SharedSessionFailed)):
            each.seen = True
    if not isinstance(error, AmqpError):
        return error
    raised = copy(error)
    raised.seen = True
    if error.__cause__ is not None:
        raised.__cause__ = error.__cause__
    return raised
