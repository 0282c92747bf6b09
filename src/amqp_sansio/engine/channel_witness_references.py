"""References of 0-9's class message: names under which a side sends a message in parts, on one channel."""

from __future__ import annotations

from typing import Final

from amqp_sansio.engine.findings import Findings
from amqp_sansio.kernel.machine import Machine
from amqp_sansio.spec.base import BodyContent, Method
from amqp_sansio.tables.channel import OPEN_REFERENCE, REFERENCE, RESUME_REFERENCE, TRANSFER

_COMMAND_INVALID: Final = 503
_TRANSFER: Final = "message.transfer"


def reference_of(verb: str, method: Method) -> bytes | None:
    """The reference that a method names; None for one that names none."""
    if verb == _TRANSFER:
        body: object = getattr(method, "body", None)
        return body.octets if isinstance(body, BodyContent) and body.by_reference else None
    name: object = getattr(method, "reference", None)
    return name if isinstance(name, bytes) else None


class References:
    """Those in scope, by who opened them and name.  What it says collects in `findings`."""

    __slots__ = ("_doubt", "_scopes")

    def __init__(self) -> None:
        self._scopes: Final[dict[tuple[str, bytes], Machine]] = {}
        self._doubt = False
        """There may be some that are not followed."""

    def hear(self, findings: Findings, speaker: str, verb: str, name: bytes) -> None:
        """`speaker` names one of its own."""
        key = speaker, name
        scope = self._scopes.get(key) or Machine(REFERENCE[speaker])
        if scope.step(speaker, TRANSFER if verb == _TRANSFER else verb) is not None:
            if self._doubt:
                return
            opens = verb in (OPEN_REFERENCE, RESUME_REFERENCE)
            text = "the reference is in scope" if opens else "no reference of this name is in scope"
            legal = ("a reference that is not in scope" if opens else "a reference that is in scope",)
            rule = "duplicate" if verb == OPEN_REFERENCE else "non-existent"
            said = f"{verb} with reference {name[:100]!r}"
            findings.breach(f"{verb}.reference.{rule}-reference", said, text, legal, _COMMAND_INVALID)
        elif scope.states == (REFERENCE[speaker].initial,):
            self._scopes.pop(key, None)
        elif key not in self._scopes and len(self._scopes) >= findings.limits.subscriptions:
            if not self._doubt:
                findings.note("limits.subscriptions", "more references than our limit: the others are not followed")
            self._doubt = True
        else:
            self._scopes[key] = scope
