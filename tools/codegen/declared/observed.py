"""What an Observer reports; the speaker and the position come beside each observation."""

from __future__ import annotations

from typing import Final, TypeAlias

from amqp_sansio.events.violation import Violation
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec.base import Command, Control, Method, Struct
from amqp_sansio.spec.connection import Secure, SecureOk, StartOk
from amqp_sansio.wire.layouts.layout import decode_headers

SECRET_VERBS: Final = frozenset([*[control.VERB for control in (StartOk, Secure, SecureOk)], "connection.update-secret"])
"""Verbs of class connection whose octets hold secrets."""


def _secret(verb: str) -> bool:
    """Whether a verb of class connection may hold a secret; one without a name may be another version's."""
    return verb in SECRET_VERBS or (verb.startswith("connection.") and verb[-1].isdigit())


class HeaderSeen(ValueObject):
    """A protocol header: `octets` as sent; `version` such as "0-10", None when the octets name no known version."""

    octets: bytes
    version: str | None


class ControlSeen(ValueObject):
    """A control.  `verb` is its name, or its numbers when it has none ("connection.99", "119.1").

    `control` is None when it could not be decoded; `payload` is its segment.  `complete` is False when the segment is
    incomplete.
    """

    channel: int
    verb: str
    control: Control | None
    payload: bytes
    complete: bool = True

    def _show(self, name: str) -> str:
        if name == "payload" and _secret(self.verb):
            return f"<{len(self.payload)} octets>"
        return super()._show(name)


class CommandSeen(ValueObject):
    """A command.  `session` and `id` are None where unknown (the capture began within the conversation).

    `command` is None when it could not be decoded; `payload`, `header` and `body` are its segments (None: there was no such
    segment).  `complete` is False when the assembly was broken off, its last frame was never marked as such, or it is still
    open at the end.
    """

    channel: int
    session: bytes | None
    id: int | None
    verb: str
    command: Command | None
    sync: bool
    payload: bytes
    header: bytes | None = None
    body: bytes | None = None
    complete: bool = True
    _structs: tuple[Struct, ...] | None = None

    def remember(self, structs: tuple[Struct, ...]) -> None:
        """Keeps structs that a caller has decoded already."""
        self._structs = structs

    @property
    def structs(self) -> tuple[Struct, ...]:
        """The structs of the header, in order.  Raises HeaderError when they cannot be decoded."""
        if self._structs is None:
            header = self.header or b""
            self._structs = decode_headers(header, 0, len(header))
        return self._structs


class MethodSeen(ValueObject):
    """A method of an older dialect, with its content where it has one; of class connection, only methods that no other family
    has.

    `verb` is its name, or its numbers when it has none ("basic.999", "99.1").  `method` is None when it could not be decoded;
    `payload` is its octets.  `header` and `body` are those of its content, class and size included; None: there is none.
    `properties` are the decoded header, None when it could not be decoded.  `complete` is False when the content was broken off
    or is still open at the end.
    """

    channel: int
    verb: str
    method: Method | None
    payload: bytes
    header: bytes | None = None
    properties: ValueObject | None = None
    body: bytes | None = None
    complete: bool = True

    def _show(self, name: str) -> str:
        if name == "payload" and self.verb in SECRET_VERBS:
            return f"<{len(self.payload)} octets>"
        return super()._show(name)


class OpaqueSeen(ValueObject):
    """Nothing more of this speaker can be decoded, for the `reason` given: a security layer, or a frame that cannot be
    delimited.

    It comes once per speaker, at the first such octet; `Observer.unread` counts the octets.
    """

    reason: str


class Note(ValueObject):
    """Something notable that is not a violation: a refused command, a failed login, a reset, silence, a gap.

    `rule` is a short name, `text` one sentence; `channel` is None when no channel is concerned.
    """

    rule: str
    text: str
    channel: int | None = None


class FrameSeen(ValueObject):
    """One frame, reported only on request, before what it completes.

    `flags` are its first octet, `kind` its segment type (0 control, 1 command, 2 header, 3 body); `verb` is that of the control
    or command whose first frame it is, None for other frames.
    """

    flags: int
    kind: int
    track: int
    channel: int
    verb: str | None


Observation: TypeAlias = HeaderSeen | ControlSeen | CommandSeen | MethodSeen | OpaqueSeen | FrameSeen | Violation | Note
