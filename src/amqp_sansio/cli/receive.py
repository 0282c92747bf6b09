"""`amqp-sansio receive`: prints messages of a queue."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import Final

import attrs

from amqp_sansio.adapters.sync import Session, Subscription, channels
from amqp_sansio.captures.json_values import Json, fields, plain
from amqp_sansio.cli.dialing import NothingDone, dial, opened, there, told
from amqp_sansio.cli.output import complain, json_line
from amqp_sansio.conversation.message import Message
from amqp_sansio.errors import HeaderError
from amqp_sansio.events import TransferReceived
from amqp_sansio.kernel.value import ValueObject

LOOK: Final = 0.2
"""Seconds after which a wait checks for an interrupt."""
PREFETCH = 100
"""The most messages in flight to us, or here and not yet printed."""
_SHOWN: Final = frozenset(["application_headers", "headers", "exchange", "routing_key", "redelivered"])
"""Properties that have a key of their own."""


@attrs.frozen(kw_only=True)
class Receiving:
    """The arguments."""

    url: str
    queue: str
    count: int | None = None
    timeout: float | None = None
    browse: bool = False
    create: bool = False
    authorities: str | None = None
    as_json: bool = False


def receive(wishes: Receiving) -> int:
    """Prints messages as they come and accepts printed ones.  Returns 0 when `count` came, or no count was given, else 1."""
    return told(lambda: _receive(wishes))


def _receive(wishes: Receiving) -> int:
    if getattr(sys.stdout, "name", None) == os.devnull:  # the replacement of a stdout that the shell closed
        raise NothingDone("stdout is closed: messages would be lost")
    count = wishes.count
    got = 0
    with Interrupts() as interrupts, dial(wishes.url, wishes.authorities) as connection, opened(connection) as session:
        there(session, wishes.queue, wishes.create)
        prefetch = PREFETCH if count is None else max(1, min(count, PREFETCH))
        with _subscribed(session, wishes, prefetch) as messages:
            until = None if wishes.timeout is None else time.monotonic() + wishes.timeout
            while count is None or got < count:
                interrupts.look()
                left = LOOK if until is None else until - time.monotonic()
                try:
                    message = messages.receive(max(min(left, LOOK), 0.0))
                except TimeoutError:
                    if left > LOOK or until is None:
                        continue
                    break
                _show(message, wishes.as_json)
                if wishes.browse:
                    message.release()  # which leaves it on the queue, and makes room for the next one
                else:
                    message.accept()
                got += 1
    if count is not None and got < count:
        complain(f"{got} of {count} messages arrived within {wishes.timeout:g} s")
        return 1
    return 0


def _subscribed(session: Session | channels.Channel, wishes: Receiving, prefetch: int) -> Subscription | channels.Subscription:
    if isinstance(session, Session):
        return session.subscribe(wishes.queue, prefetch=prefetch, browse=wishes.browse)
    if wishes.browse:
        raise NothingDone("this version of AMQP has no browsing: --browse is for 0-10")
    return session.subscribe(wishes.queue, prefetch=prefetch)


def _show(message: Message | channels.Message, as_json: bool) -> None:
    """Prints it, and flushes it before it is accepted."""
    out = sys.stdout
    if as_json:
        print(json_line(as_object(message)))
    else:
        out.flush()
        out.buffer.write(message.body + b"\n")
    out.flush()


def as_object(message: Message | channels.Message) -> dict[str, Json]:
    """Returns a message as plain JSON: its body as text where it is UTF-8, else as hex digits, and its properties."""
    said: dict[str, Json] = {}
    try:
        said["body"] = message.body.decode()
    except UnicodeDecodeError:
        said["body_hex"] = message.body.hex()
    try:
        said |= {"exchange": message.exchange, "routing_key": message.routing_key, "redelivered": message.redelivered}
        received = message.received
        structs: tuple[ValueObject | None, ...]
        if isinstance(received, TransferReceived):
            structs = received.message_properties, received.delivery_properties
        else:
            structs = (received.properties,)
        found = {name: value for each in structs if each is not None for name, value in fields(each).items()}
        others = {name: value for name, value in found.items() if name not in _SHOWN}
        if others or message.headers:
            said["headers"] = plain(message.headers)
        said |= {"properties": others} if others else {}
    except HeaderError as error:
        said["header_error"] = str(error)
    return said


class Interrupts:
    """Within this block the first SIGINT is only recorded, so that it does not break off a client's operation.

    A second one ends the program at once.  In a thread that gets no signals it does nothing.
    """

    def __init__(self) -> None:
        self._came = False
        self._before: signal._HANDLER = None
        self._here: Final = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Interrupts:
        if self._here:
            self._before = signal.signal(signal.SIGINT, self._hear)
        return self

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self._came:
            raise KeyboardInterrupt
        self._came = True

    def look(self) -> None:
        """Raises KeyboardInterrupt when one was recorded."""
        if self._came:
            raise KeyboardInterrupt

    def __exit__(self, *_: object) -> None:
        if self._here:
            signal.signal(signal.SIGINT, self._before)
