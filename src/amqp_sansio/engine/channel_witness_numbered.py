"""The witness of one channel of an older dialect: its life, its mode, who asked for which answer, consumers and tags."""

from __future__ import annotations

from collections import deque
from typing import Final

from amqp_sansio.engine.channel_witness_leaving import Leaving
from amqp_sansio.engine.channel_witness_references import References, reference_of
from amqp_sansio.engine.channel_witness_tags import TWICE, UNKNOWN, Deliveries, Tags
from amqp_sansio.engine.findings import Findings
from amqp_sansio.kernel.machine import Machine
from amqp_sansio.spec.base import Method
from amqp_sansio.tables.channel import (
    CLOSE,
    CLOSE_OK,
    COMMIT,
    CONFIRM,
    LIFE,
    MODE,
    OPEN,
    OPEN_OK,
    RESUME,
    RESUMED,
    ROLLBACK,
    SELECT_CONFIRM,
    SELECT_TX,
    WORK,
)
from amqp_sansio.tables.channel_words import ANSWERS, ANY_TIME, REPLIES
from amqp_sansio.tables.connection import CLIENT, SERVER

_CHANNEL_ERROR: Final = 504
_UNEXPECTED: Final = 503
_PRECONDITION: Final = 406
_NOT_ALLOWED: Final = 530
_MODES: Final = (SELECT_TX, COMMIT, ROLLBACK, SELECT_CONFIRM)
_LIVES: Final = (OPEN, OPEN_OK, CLOSE, CLOSE_OK)
_CONSUMES: Final = ("basic.consume", "file.consume", "stream.consume")


class NumberedWitness:
    """One channel from one opening to the next.  What it says collects in `findings`, whose speaker and offset the caller sets.

    `late`: some of what was said on it was not heard, and nobody is held to what depends on that.
    """

    __slots__ = (
        "_asked", "_consumers", "_count", "_deliveries", "_findings", "_late", "_leaving", "_life", "_mode", "_published",
        "_references", "_revoked", "_unnamed", "_waiting", "number",
    )  # fmt: skip

    def __init__(self, findings: Findings, number: int, late: bool) -> None:
        self._findings: Final = findings
        self.number: Final = number
        self._late = late
        self._life = Machine.unknown(LIFE) if late else Machine(LIFE)
        self._mode = Machine.unknown(MODE) if late else Machine(MODE)
        self._asked: Final[dict[str, dict[str, deque[tuple[int, bool, bool]]]]] = {CLIENT: {}, SERVER: {}}
        """Methods that want an answer, by who asks and verb: the place of each among all of them, whether what comes need
        not be settled, and whether it names a consumer."""
        self._count = 0
        self._waiting = 0
        self._consumers: Final[dict[tuple[str, str], bool]] = {}
        """By class and tag; whether what comes for them need not be settled."""
        self._leaving: Final[dict[tuple[str, str], Leaving]] = {}
        """By class and tag the cancels of the client that may be on their way."""
        self._revoked: Final[set[tuple[str, str]]] = set()
        """Those that the server has cancelled, or the ones that had the tag before: it crossed a cancel of the client."""
        self._unnamed = late
        """There may be consumers whose tags nobody heard."""
        self._deliveries: Deliveries | None = Deliveries(True) if late else None
        self._published = Tags(late)
        self._references: References | None = None

    @property
    def reopens(self) -> bool:
        """Whether an open begins it anew."""
        return self._life.can(CLIENT, OPEN)

    # What is lost.

    def lose(self) -> None:
        """Some of what was said was not heard."""
        self._late = self._unnamed = self._published.doubt = True
        self._life.forget()
        self._mode.forget()
        self._forget_asked()
        self._doubt_deliveries()

    def _forget_asked(self) -> None:
        for asked in self._asked.values():
            asked.clear()
        self._waiting = 0

    def _doubt_deliveries(self) -> None:
        if self._deliveries is None:
            self._deliveries = Deliveries(True)
        self._deliveries.tags.doubt = True

    # What is said.

    def hear(self, speaker: str, verb: str, method: Method) -> None:
        """A method that its speaker may say at all."""
        resumes = verb in (RESUME, RESUMED) and self._life.can(speaker, verb)
        if not self._lives(speaker, verb, resumes) or resumes:
            return
        if verb in ANSWERS and verb not in _LIVES:
            self._answer(speaker, verb, method)
        if verb in REPLIES:
            self._ask(speaker, verb, method)
        if verb in _MODES:
            self._switch(verb)
        elif verb in _CONSUMES:
            self._consume(verb, method)
        elif verb in ("basic.cancel", "file.cancel", "stream.cancel"):
            waits = not (_bit(method, "nowait") or _bit(method, "no_wait"))
            self._cancel(speaker, verb, _text(method, "consumer_tag"), waits)
        elif verb in ("basic.deliver", "file.deliver", "stream.deliver"):
            self._deliver(verb, method)
        elif verb in ("basic.ack", "basic.reject", "basic.nack", "file.ack", "file.reject"):
            self._settle(speaker, verb, _number(method, "delivery_tag"), _bit(method, "multiple"))
        elif verb == "basic.publish":
            self._publish()
        elif verb.startswith("message."):
            self._refer(speaker, verb, method)
        elif verb.startswith("basic.recover") and not verb.endswith("-ok") and self._deliveries is not None:
            self._deliveries.recover()

    def broken_off(self, verb: str) -> None:
        """A method whose content never came whole."""
        if verb == "basic.deliver":
            self._doubt_deliveries()

    def _lives(self, speaker: str, verb: str, resumes: bool) -> bool:
        word = verb if resumes or verb in _LIVES else WORK
        before = self._life.state
        refusal = self._life.step(speaker, word)
        if refusal is None:
            if verb in (CLOSE, CLOSE_OK):
                self._forget_asked()
            return True
        rule, text = _order_of(before, word)
        self._findings.breach(rule, verb, text, refusal.legal_for(speaker), _CHANNEL_ERROR)
        if before in ("not-open", "closed"):
            self.lose()  # the other side may treat it as open
        elif verb in REPLIES:
            self._ask(speaker, verb, None)
        return False

    # Answers.

    def _ask(self, speaker: str, verb: str, method: Method | None) -> None:
        if verb in _LIVES or _bit(method, "nowait") or _bit(method, "no_wait"):
            return
        self._count += 1
        self._waiting += 1
        self._asked[speaker].setdefault(verb, deque()).append(
            (self._count, _bit(method, "no_ack"), bool(_text(method, "consumer_tag")))
        )
        if self._waiting > self._findings.limits.replay_commands:
            self._findings.note("limits.replay_commands", "more answers are awaited than our limit: they are not followed")
            self.lose()

    def _answer(self, speaker: str, verb: str, method: Method) -> None:
        asked = self._asked[SERVER if speaker == CLIENT else CLIENT]
        order = sorted([(places[0][0], each) for each, places in asked.items() if places])
        waiting = [each for _, each in order]
        found = next((each for each in waiting if verb in REPLIES[each]), None)
        settled = named = False
        if found is None:
            if not self._late:
                wanted = waiting[0] if waiting else ""
                rule = "reply.other" if waiting else "reply.unasked"
                text = f"{wanted} waits for another answer" if waiting else "nobody asked for it"
                self._findings.breach(rule, verb, text, REPLIES.get(wanted, ()), _UNEXPECTED)
        else:
            passed = [each for each in waiting[: waiting.index(found)] if each not in ANY_TIME]
            if passed and found not in ANY_TIME and not self._late:
                self._findings.divergence("reply.order", verb, f"{passed[0]} was asked before", REPLIES[passed[0]], about=verb)
            _, settled, named = asked[found].popleft()
            self._waiting -= 1
        if verb.endswith(".consume-ok") and not named:
            self._consumers.setdefault((verb.partition(".")[0], _text(method, "consumer_tag")), settled)
        elif verb.endswith(".cancel-ok"):
            self._left((verb.partition(".")[0], _text(method, "consumer_tag")))
        elif verb == "basic.get-ok":
            self._deliver_tag(verb, _number(method, "delivery_tag"), settled)

    # Modes.

    def _switch(self, verb: str) -> None:
        refusal = self._mode.step(CLIENT, verb)
        if refusal is not None:
            if verb in (COMMIT, ROLLBACK):
                rule, text = "tx.select-required", "the channel is not transacted"
            else:
                rule, text = "confirm.with-tx", "a channel is transacted, or its messages are confirmed, not both"
            self._findings.breach(rule, verb, text, refusal.legal_for(CLIENT), _PRECONDITION)
        elif self._deliveries is not None and verb == COMMIT:
            self._deliveries.commit()
        elif self._deliveries is not None and verb == ROLLBACK:
            self._deliveries.roll_back()

    def _publish(self) -> None:
        if self._mode.states == ("confirming",):
            self._published.give()

    # Consumers.

    def _consume(self, verb: str, method: Method) -> None:
        tag = _text(method, "consumer_tag")
        key = verb.partition(".")[0], tag
        if not tag:
            self._unnamed = self._unnamed or _bit(method, "nowait") or _bit(method, "no_wait")
        elif key in self._consumers and key not in self._revoked and not self._late:
            legal = ("a tag that is not in use", "an empty one")
            text = "the tag is that of another consumer on this channel"
            said = f'{verb} with consumer-tag "{tag[:200]}"'
            self._findings.breach(f"{verb}.consumer-tag", said, text, legal, _NOT_ALLOWED)
        else:
            self._revoked.discard(key)
            self._consumers[key] = _bit(method, "no_ack")
            self._bound_consumers()

    def _cancel(self, speaker: str, verb: str, tag: str, waits: bool) -> None:
        key = verb.partition(".")[0], tag
        if speaker == CLIENT:
            settled = self._consumers.pop(key, None)
            if waits or settled is not None:
                self._leaving.setdefault(key, Leaving()).cancel(settled, waits)
                self._bound_consumers()
            return
        # It may cross a cancel of the client, who may have given the tag to another consumer since.
        leaving = self._leaving.get(key)
        behind = leaving.consumers if leaving is not None else 0
        if behind + (key in self._consumers) > 1:
            self._revoked.add(key)
        elif leaving is not None and behind:
            leaving.revoke()
        elif self._consumers.pop(key, None) is None and not self._unnamed:
            self._no_consumer(verb, tag)

    def _left(self, key: tuple[str, str]) -> None:
        """The server has carried out a cancel, and what came before it."""
        leaving = self._leaving.get(key)
        if leaving is not None and leaving.answered():
            del self._leaving[key]

    def _bound_consumers(self) -> None:
        if len(self._consumers) + len(self._leaving) > self._findings.limits.subscriptions:
            self._findings.note("limits.subscriptions", "more consumers than our limit: they are not followed any more")
            self._consumers.clear()
            self._leaving.clear()
            self._revoked.clear()
            self._unnamed = True
            self._doubt_deliveries()

    def _deliver(self, verb: str, method: Method) -> None:
        tag = _text(method, "consumer_tag")
        key = verb.partition(".")[0], tag
        settled = self._consumers.get(key)
        if settled is None and key in self._leaving:
            settled = self._leaving[key].settled
        if settled is None and not self._unnamed:
            self._no_consumer(verb, tag)
        self._deliver_tag(verb, _number(method, "delivery_tag"), bool(settled))

    def _no_consumer(self, verb: str, tag: str) -> None:
        said = f'{verb} with consumer-tag "{tag[:200]}"'
        self._findings.breach(f"{verb}.consumer-tag", said, "no consumer has this tag", (), _UNEXPECTED)

    # References.

    def _refer(self, speaker: str, verb: str, method: Method) -> None:
        """0-9: a message that is sent in parts, under a name."""
        name = reference_of(verb, method)
        if name is None or self._late:
            return
        if self._references is None:
            self._references = References()
        self._references.hear(self._findings, speaker, verb, name)

    # Tags.

    def _deliver_tag(self, verb: str, tag: int, settled: bool) -> None:
        if self._deliveries is None:
            self._deliveries = Deliveries(False)
        if not self._deliveries.deliver(tag, settled):
            said, text = f"{verb} with delivery-tag {tag}", "tags of a channel go up from 1"
            self._findings.breach("delivery-tag.order", said, text)
        self._bound(self._deliveries.bound(self._findings.limits.ranges))

    def _settle(self, speaker: str, verb: str, tag: int, multiple: bool) -> None:
        if speaker == SERVER:
            self._confirm(verb, tag, multiple)
            return
        if self._deliveries is None:
            self._deliveries = Deliveries(False)
        wrong = self._deliveries.settle(tag, multiple, self._mode.states == ("transacted",))
        if wrong:
            text = "no delivery has this tag" if wrong == UNKNOWN else "the delivery is settled already"
            legal = ("the tag of a delivery that is not settled",)
            self._findings.breach(f"delivery-tag.{wrong}", f"{verb} with delivery-tag {tag}", text, legal, _PRECONDITION)
        self._bound(self._deliveries.bound(self._findings.limits.ranges))

    def _confirm(self, verb: str, tag: int, multiple: bool) -> None:
        if self._mode.step(SERVER, CONFIRM) is not None:
            text = "the client did not ask for confirms on this channel"
            self._findings.breach("confirm.select-required", verb, text, (), _UNEXPECTED)
            return
        if self._published.doubt:
            return
        found, wrong = self._published.named(tag, multiple)
        self._published.settle(found)
        if wrong:
            rule = "confirm.twice" if wrong == TWICE else "confirm.unpublished"
            text = "the message is confirmed already" if wrong == TWICE else "no message with this number was published"
            self._findings.breach(rule, f"{verb} with delivery-tag {tag}", text)
        self._bound(self._published.bound(self._findings.limits.ranges))

    def _bound(self, reached: bool) -> None:
        if reached:
            self._findings.note("limits.ranges", "more ranges of tags than our limit: they are not followed any more")


def _order_of(state: str, word: str) -> tuple[str, str]:
    """The rule that a word breaks in this state of the channel, and how."""
    if word == OPEN:
        return "channel.second-open", f"the channel is {state}"
    if word in (OPEN_OK, CLOSE_OK):
        return "reply.unasked", f"nobody asked for it: the channel is {state}"
    if state == "not-open":
        return "channel.not-open", "the channel was never opened"
    if state == "closed":
        return "channel.closed", "the channel is closed"
    if state == "opening":
        return "channel.not-open", "the server has not opened the channel"
    return "channel.closed", "whoever has closed a channel says nothing more on it"


def _number(method: Method | None, name: str) -> int:
    value: object = getattr(method, name, 0)
    return value if isinstance(value, int) else 0


def _text(method: Method | None, name: str) -> str:
    value: object = getattr(method, name, "")
    return value if isinstance(value, str) else ""


def _bit(method: Method | None, name: str) -> bool:
    value: object = getattr(method, name, False)
    return value is True
