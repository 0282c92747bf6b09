"""The consumers of a channel, by the tags that they have."""

from __future__ import annotations

from typing import Final

from amqp_sansio.engine.findings import Findings
from amqp_sansio.ledger.consumer_tags import ConsumerTags, Key

_NOT_ALLOWED: Final = 530
_UNEXPECTED: Final = 503


class Consumers:
    """The consumers by their tags, as the ledger keeps them; each class has its own."""

    __slots__ = ("_findings", "_tags")

    def __init__(self, findings: Findings, unnamed: bool) -> None:
        self._findings: Final = findings
        self._tags: Final = ConsumerTags(unnamed)

    def lose(self) -> None:
        """There may be consumers whose tags nobody heard."""
        self._tags.unnamed = True

    def consume(self, verb: str, tag: str, no_ack: bool, waits: bool, held: bool) -> bool:
        """The client consumes under a tag, and waits for an answer or does not; `held`: nothing is missing.  False where there
        are
        more than are followed."""
        key = _key(verb, tag)
        if tag and self._tags.taken(key) and held:
            legal = ("a tag that is not in use", "an empty one")
            text = "the tag is that of another consumer on this channel"
            field = "destination" if verb.startswith("message.") else "consumer-tag"
            self._findings.breach(f"{verb}.{field}", f'{verb} with {field} "{tag[:200]}"', text, legal, _NOT_ALLOWED)
            return True
        self._tags.consume(key, no_ack, waits)
        return self._bounded()

    def name(self, verb: str, tag: str, no_ack: bool) -> None:
        """The server names one."""
        self._tags.started(_key(verb, tag), False, no_ack)

    def cancel(self, verb: str, tag: str, waits: bool) -> bool:
        """The client cancels, and waits for an answer or does not.  False as in `consume`."""
        self._tags.cancel(_key(verb, tag), waits)
        return self._bounded()

    def drop(self, verb: str, tag: str) -> None:
        """The client cancels, and nobody follows what comes."""
        self._tags.drop(_key(verb, tag))

    def revoke(self, verb: str, tag: str) -> None:
        """The server cancels."""
        if not self._tags.cancelled(_key(verb, tag)):
            self._nobody(verb, tag)

    def left(self, verb: str, tag: str) -> None:
        """The server has carried out a cancel, and what came before it."""
        self._tags.left(_key(verb, tag))

    def deliver(self, verb: str, tag: str) -> bool:
        """The server delivers to a consumer; whether that need not be settled."""
        settled = self._tags.settled(_key(verb, tag))
        if settled is None and not self._tags.unnamed:
            self._nobody(verb, tag)
        return bool(settled)

    def _bounded(self) -> bool:
        excess = self._tags.bound(self._findings.limits.subscriptions)
        return not self._findings.bounded(excess, "subscriptions", "consumers")

    def _nobody(self, verb: str, tag: str) -> None:
        said = f'{verb} with consumer-tag "{tag[:200]}"'
        self._findings.breach(f"{verb}.consumer-tag", said, "no consumer has this tag", (), _UNEXPECTED)


def _key(verb: str, tag: str) -> Key:
    return verb.partition(".")[0], tag
