"""The consumers of a channel, by the tags that they have."""

from __future__ import annotations

from typing import Final

from amqp_sansio.engine.channel_witness_leaving import Leaving
from amqp_sansio.engine.findings import Findings

_NOT_ALLOWED: Final = 530
_UNEXPECTED: Final = 503


class Consumers:
    """Who consumes what under which tag; each class has its own.

    `unnamed`: there may be consumers whose tags nobody heard.
    """

    __slots__ = ("_findings", "_leaving", "_revoked", "_settled", "unnamed")

    def __init__(self, findings: Findings, unnamed: bool) -> None:
        self._findings: Final = findings
        self._settled: Final[dict[tuple[str, str], bool]] = {}
        """By class and tag, whether what comes for them need not be settled."""
        self._leaving: Final[dict[tuple[str, str], Leaving]] = {}
        """By class and tag the cancels of the client that may be on their way."""
        self._revoked: Final[dict[tuple[str, str], None]] = {}
        """Those that the server has cancelled, or the ones that had the tag before: it crossed a cancel of the client."""
        self.unnamed = unnamed

    def consume(self, verb: str, tag: str, no_ack: bool, held: bool) -> bool:
        """The client consumes under a tag; `held`: all was heard.  False where there are more than are followed."""
        key = _key(verb, tag)
        if key in self._settled and key not in self._revoked and held:
            legal = ("a tag that is not in use", "an empty one")
            text = "the tag is that of another consumer on this channel"
            field = "destination" if verb.startswith("message.") else "consumer-tag"
            self._findings.breach(f"{verb}.{field}", f'{verb} with {field} "{tag[:200]}"', text, legal, _NOT_ALLOWED)
            return True
        self._revoked.pop(key, None)
        self._settled[key] = no_ack
        return self._bounded()

    def name(self, verb: str, tag: str, no_ack: bool) -> None:
        """The server names one."""
        self._settled.setdefault(_key(verb, tag), no_ack)

    def cancel(self, verb: str, tag: str, waits: bool) -> bool:
        """The client cancels, and waits for an answer or does not.  False as in `consume`."""
        key = _key(verb, tag)
        settled = self._settled.pop(key, None)
        if not waits and settled is None:
            return True
        self._leaving.setdefault(key, Leaving()).cancel(settled, waits)
        return self._bounded()

    def drop(self, verb: str, tag: str) -> None:
        """The client cancels, and nobody follows what comes."""
        self._settled.pop(_key(verb, tag), None)

    def revoke(self, verb: str, tag: str) -> None:
        """The server cancels.  That may cross a cancel of the client, who may have given the tag to another consumer since."""
        key = _key(verb, tag)
        leaving = self._leaving.get(key)
        behind = leaving.consumers if leaving is not None else 0
        if behind + (key in self._settled) > 1:
            self._revoked[key] = None
        elif leaving is not None and behind:
            leaving.revoke()
        elif self._settled.pop(key, None) is None and not self.unnamed:
            self._nobody(verb, tag)

    def left(self, verb: str, tag: str) -> None:
        """The server has carried out a cancel, and what came before it."""
        key = _key(verb, tag)
        leaving = self._leaving.get(key)
        if leaving is not None and leaving.answered():
            del self._leaving[key]

    def deliver(self, verb: str, tag: str) -> bool:
        """The server delivers to a consumer; whether that need not be settled."""
        key = _key(verb, tag)
        settled = self._settled.get(key)
        if settled is None and key in self._leaving:
            settled = self._leaving[key].settled
        if settled is None and not self.unnamed:
            self._nobody(verb, tag)
        return bool(settled)

    def _bounded(self) -> bool:
        if len(self._settled) + len(self._leaving) <= self._findings.limits.subscriptions:
            return True
        self._findings.note("limits.subscriptions", "more consumers than our limit: they are not followed any more")
        self._settled.clear()
        self._leaving.clear()
        self._revoked.clear()
        self.unnamed = True
        return False

    def _nobody(self, verb: str, tag: str) -> None:
        said = f'{verb} with consumer-tag "{tag[:200]}"'
        self._findings.breach(f"{verb}.consumer-tag", said, "no consumer has this tag", (), _UNEXPECTED)


def _key(verb: str, tag: str) -> tuple[str, str]:
    return verb.partition(".")[0], tag
