"""The witness of a channel in an older dialect: it judges each method on the channel, and keeps what the channel has open.

`NumberedWitness` judges whether the channel is open, `ChannelUse` what is done with an open one; `Questions`, `References` and
`Consumers` are what a use keeps.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from amqp_sansio.engine.channels.breaches import order_of
from amqp_sansio.engine.checker import ChannelDoubt
from amqp_sansio.engine.findings import Findings
from amqp_sansio.kernel.machine import Machine
from amqp_sansio.ledger.consumer_tags import ConsumerKey, ConsumerTags
from amqp_sansio.ledger.pending_replies import PendingReplies
from amqp_sansio.ledger.tags import TWICE, UNKNOWN, Deliveries, Tags
from amqp_sansio.spec.base import BodyContent, Method
from amqp_sansio.tables.channel import (
    ANSWERS,
    ANY_TIME,
    COMMIT,
    CONFIRM,
    FLOW,
    FLOW_OK,
    LIFE,
    MODE,
    OPEN_OK,
    OPEN_REFERENCE,
    REFERENCE,
    REPLIES,
    RESUME_REFERENCE,
    RESUMED,
    ROLLBACK,
    SELECT_CONFIRM,
    SELECT_TX,
    TRANSFER,
    WORK,
)
from amqp_sansio.tables.channel import CLOSE as CLOSE_CHANNEL
from amqp_sansio.tables.channel import CLOSE_OK as CLOSE_OK_CHANNEL
from amqp_sansio.tables.channel import OPEN as OPEN_CHANNEL
from amqp_sansio.tables.channel import RESUME as RESUME_CHANNEL
from amqp_sansio.tables.connection import CLIENT, OTHER_SIDE, SERVER

# Reply codes of violations (domain reply-code).
_PRECONDITION: Final = 406
_COMMAND_INVALID: Final = 503
_CHANNEL_ERROR: Final = 504
_NOT_ALLOWED: Final = 530

_LIFE_METHODS: Final = (OPEN_CHANNEL, OPEN_OK, CLOSE_CHANNEL, CLOSE_OK_CHANNEL)
"""The methods that open and close a channel; resume and its ok do so only where the table says so."""


# --- one channel ----------------------------------------------------------------------------------------------------------


class NumberedWitness:
    """Judges one channel, which its number identifies, from one opening to the next.

    Reports into `findings`, whose speaker and offset the caller sets.  `late`: we missed part of it, so nothing that depends on
    the missing part is a violation.
    """

    __slots__ = ("_findings", "_late", "_life", "_use")

    def __init__(self, findings: Findings, late: bool) -> None:
        self._findings: Final = findings
        self._late = late
        self._life = Machine.unknown(LIFE) if late else Machine(LIFE)
        self._use: ChannelUse | None = None
        """None until the channel is used: of a great many channels most are idle."""

    @property
    def reopens(self) -> bool:
        """Whether channel.open would open it again."""
        return self._life.can(CLIENT, OPEN_CHANNEL)

    def hear(self, speaker: str, verb: str, method: Method, answered: bool = True) -> None:
        """Judges a method that this side may send; `answered`: the dialect has a method that answers it."""
        resumes = verb in (RESUME_CHANNEL, RESUMED) and self._life.can(speaker, verb)
        word = verb if resumes or verb in _LIFE_METHODS else WORK
        before = self._life.state
        refusal = self._life.step(speaker, word)
        if refusal is not None:
            rule, text = order_of(before, word)
            self._findings.breach(rule, verb, text, refusal.legal_for(speaker), _CHANNEL_ERROR)
            if before in ("not-open", "closed"):
                self.lose()  # the other side may consider it open
            elif word == WORK:
                self.refused(speaker, verb)
        elif word == WORK:
            self._used().hear(speaker, verb, method, answered)
        elif verb == CLOSE_CHANNEL:
            self._used().close(speaker)
        elif self._use is not None and verb == CLOSE_OK_CHANNEL:
            self._use.take_all()
            self._use.close(CLIENT, SERVER)

    def take_all(self) -> None:
        """Notes that the server has handled all that the client sent, in answer to the client's close of the connection."""
        if self._use is not None:
            self._use.take_all()

    def in_doubt(self) -> ChannelDoubt:
        """Returns what is in doubt on it when nothing more comes."""
        return ChannelDoubt() if self._use is None else self._use.in_doubt()

    def may_break_off(self, speaker: str) -> bool:
        """Returns whether `speaker` owes close-ok, for which it may leave its content unfinished."""
        return self._life.can(speaker, CLOSE_OK_CHANNEL)

    def broken_off(self, speaker: str, verb: str, method: Method) -> None:
        """Handles a method whose content is incomplete here."""
        self._used().break_off(speaker, verb, method)

    def refused(self, speaker: str, verb: str) -> None:
        """Records a method that came at the wrong time.  The other side may accept it, so later methods are not blamed."""
        self._used().ask(speaker, verb, None)
        self._used().taken(verb)

    def lose(self) -> None:
        """Records that we missed some methods."""
        self._late = True
        self._life.forget()
        if self._use is not None:
            self._use.lose()

    def _used(self) -> ChannelUse:
        if self._use is None:
            self._use = ChannelUse(self._findings, self._late)
        return self._use


# --- what is done with an open one ----------------------------------------------------------------------------------------

_TRANSFER: Final = "message.transfer"
"""The verb; the tables call it TRANSFER where it names a reference."""
_MODES: Final = (SELECT_TX, COMMIT, ROLLBACK, SELECT_CONFIRM)
_CONSUMES: Final = ("basic.consume", "file.consume", "stream.consume", "message.consume")
_FLOWS: Final = ("basic.publish", "basic.deliver", "file.stage", "stream.publish", "stream.deliver")
"""The contents that channel.flow stops; answers to basic.get and returned messages continue."""


class ChannelUse:
    """Judges the methods on an open channel.  Creates each record when it is first needed.

    `late`: we missed some methods, so nothing that depends on them is a violation, and nothing is in doubt.

    A publish is in doubt until the server has confirmed it or answered the commit or rollback of its transaction; without
    confirms and transactions, until the server has answered a later method.  A delivery is in doubt until the client has
    settled it, or has asked for all of them again.
    """

    __slots__ = (
        "_commits", "_consumers", "_deliveries", "_findings", "_late", "_misordered", "_mode", "_published", "_questions",
        "_references", "_refused", "_sent", "_stopped", "_taken",
    )  # fmt: skip

    def __init__(self, findings: Findings, late: bool) -> None:
        self._findings: Final = findings
        self._late = late
        self._mode = Machine.unknown(MODE) if late else Machine(MODE)
        self._questions: Final = Questions()
        self._consumers: Consumers | None = None
        self._deliveries: Deliveries | None = Deliveries(True) if late else None
        self._published: Tags | None = None
        """The publishes that the server confirms."""
        self._sent = 0
        """How many other publishes there were."""
        self._taken = 0
        """How many of those the server has taken."""
        self._commits = 0
        """How many commits wait for their answer."""
        self._refused = False
        """Whether the server has closed the channel, and takes nothing more."""
        self._misordered = False
        """Whether something was settled before it was captured: then nothing is counted as in doubt."""
        self._references: References | None = None
        self._stopped: tuple[str, ...] = ()
        """The sides that have agreed to send no contents, until they resume."""

    def lose(self) -> None:
        """Records that we missed some methods."""
        self._late = True
        self._mode.forget()
        self._stopped = ()
        self._questions.forget(CLIENT, SERVER)
        if self._consumers is not None:
            self._consumers.lose()
        if self._published is not None:
            self._published.doubt = True
        self.doubt_deliveries()

    def doubt_deliveries(self) -> None:
        """Records that we may have missed deliveries."""
        self._delivered().tags.doubt = True

    def close(self, *silent: str) -> None:
        """Records that these sides will answer nothing more."""
        self._questions.forget(*[OTHER_SIDE[speaker] for speaker in silent])
        self._refused = self._refused or SERVER in silent

    def take_all(self) -> None:
        """Records that the server has handled all that the client sent, unless it has closed the channel before; confirms and
        commits that it owes never come."""
        if self._mode.states != ("transacted",) and not self._refused:
            self._taken = self._sent

    def in_doubt(self) -> ChannelDoubt:
        """Returns what is in doubt when nothing more comes."""
        if self._late or self._misordered:
            return ChannelDoubt()
        publishes, deliveries = self._sent - self._taken, 0
        if self._published is not None and not self._published.doubt:
            publishes += self._published.count
        if self._deliveries is not None and not self._deliveries.tags.doubt:
            deliveries = self._deliveries.unsettled
        return ChannelDoubt(publishes, deliveries, self._commits)

    def hear(self, speaker: str, verb: str, method: Method, answered: bool = True) -> None:
        """Judges a method on an open channel; `answered`: the dialect has a method that answers it."""
        if verb in ANSWERS:
            self._answer(speaker, verb, method)
        if self._stopped and verb in _FLOWS and speaker in self._stopped:
            text, legal = "it has said that it sends no contents now", ("to wait for channel.flow",)
            self._findings.divergence("channel.flow-ok", verb, text, legal, _COMMAND_INVALID, about=verb)
        if answered:
            self.ask(speaker, verb, method)
        if verb in _MODES:
            self._switch(verb)
        elif verb in _CONSUMES:
            self._consume(verb, method)
        elif verb in ("basic.cancel", "file.cancel", "stream.cancel"):
            self._cancel(speaker, verb, method)
        elif verb == "message.cancel":
            self._consuming().drop(verb, _text(method, "destination"))
        elif verb in ("basic.deliver", "file.deliver", "stream.deliver"):
            settled = self._consuming().deliver(verb, _text(method, "consumer_tag"))
            self._deliver_tag(verb, _number(method, "delivery_tag"), settled)
        elif verb in ("basic.ack", "basic.reject", "basic.nack", "file.ack", "file.reject"):
            self._settle(speaker, verb, _number(method, "delivery_tag"), _bit(method, "multiple"))
        elif verb in (FLOW, FLOW_OK):
            self._flow(speaker, verb, _bit(method, "active"))
        elif verb == "basic.publish":
            self._publish()
        elif verb.startswith("message."):
            self._refer(speaker, verb, method)
        elif verb.startswith("basic.recover") and not verb.endswith("-ok") and self._deliveries is not None:
            self._deliveries.recover()

    def break_off(self, speaker: str, verb: str, method: Method) -> None:
        """Handles a method whose content is incomplete here: the other side may have it all."""
        if verb in ANSWERS:
            self._questions.answer(OTHER_SIDE[speaker], verb, None)
        self.ask(speaker, verb, method)
        self.taken(verb)

    def taken(self, verb: str) -> None:
        """Records that the other side may or may not have accepted a message that has a tag."""
        if verb == "basic.publish":
            self._publish()
        elif verb in ("basic.deliver", "basic.get-ok", "file.deliver", "stream.deliver"):
            self.doubt_deliveries()

    # --- answers --------------------------------------------------------------------------------------------------------------

    def ask(self, speaker: str, verb: str, method: Method | None) -> None:
        """Records a method that may require an answer; None when its fields are unknown."""
        if verb not in REPLIES or not _waits(method):
            return
        taken = 0
        if self._mode.states == ("transacted",):
            taken = self._sent if verb in (COMMIT, ROLLBACK) else 0
        elif verb not in ANY_TIME:
            taken = self._sent
        question = Question(_bit(method, "no_ack"), _text(method, "consumer_tag"), taken)
        excess = self._questions.ask(speaker, verb, question, self._findings.limits.replay_commands)
        if self._findings.bounded(excess, "replay_commands", "methods that wait for an answer"):
            self._late = True
            self.doubt_deliveries()

    def _answer(self, speaker: str, verb: str, method: Method) -> None:
        asked = self._questions.answer(OTHER_SIDE[speaker], verb, None if self._late else self._findings)
        settled = asked is not None and asked.no_ack
        if asked is not None and speaker == SERVER:
            self._taken = max(self._taken, asked.taken)
            self._commits -= verb in REPLIES[COMMIT] and self._commits > 0
        if verb.endswith((".consume-ok", ".cancel-ok")):
            tag = _text(method, "consumer_tag")
            self._judge_tag(verb, tag, asked)
            if verb.endswith(".cancel-ok"):
                self._consuming().left(verb, tag)
            elif asked is None or not asked.tag:
                self._consuming().name(verb, tag, settled)
        elif verb == "basic.get-ok":
            self._deliver_tag(verb, _number(method, "delivery_tag"), settled)
        elif verb.startswith("basic.recover") and self._deliveries is not None:
            self._deliveries.recover()  # what came since was on its way when the server took everything back

    def _judge_tag(self, verb: str, tag: str, asked: Question | None) -> None:
        if asked is not None and asked.tag and asked.tag != tag:
            said, text = f'{verb} with consumer-tag "{tag[:200]}"', "it answers a method with another consumer-tag"
            self._findings.breach(f"{verb}.consumer-tag", said, text, (f'consumer-tag "{asked.tag[:200]}"',), _COMMAND_INVALID)

    # --- modes ----------------------------------------------------------------------------------------------------------------

    def _switch(self, verb: str) -> None:
        refusal = self._mode.step(CLIENT, verb)
        if refusal is not None:
            if verb in (COMMIT, ROLLBACK):
                rule, text = "tx.select-required", "the channel is not transacted"
            else:
                rule, text = "confirm.with-tx", "a channel is transacted, or its messages are confirmed, not both"
            self._findings.breach(rule, verb, text, refusal.legal_for(CLIENT), _PRECONDITION)
        elif verb == SELECT_CONFIRM:
            self._published = self._published or Tags(self._late)
        elif verb == COMMIT:
            self._commits += 1
            if self._deliveries is not None:
                self._deliveries.commit()
        elif self._deliveries is not None and verb == ROLLBACK:
            self._deliveries.roll_back()

    # --- flow -----------------------------------------------------------------------------------------------------------------

    def _flow(self, speaker: str, verb: str, active: bool) -> None:
        """Follows channel.flow: a side that agreed to stop sends no contents until it is asked to resume or says it does."""
        if not active:
            if verb == FLOW_OK and not self._questions.waits(OTHER_SIDE[speaker], FLOW):
                self._stopped = (*self._stopped, speaker)
            return
        resumes = speaker if verb == FLOW_OK else OTHER_SIDE[speaker]
        self._stopped = tuple([each for each in self._stopped if each != resumes])

    # --- consumers ------------------------------------------------------------------------------------------------------------

    def _consuming(self) -> Consumers:
        if self._consumers is None:
            self._consumers = Consumers(self._findings, self._late)
        return self._consumers

    def _consume(self, verb: str, method: Method) -> None:
        tag = _text(method, "consumer_tag") or _text(method, "destination")
        if not self._consuming().consume(verb, tag, _bit(method, "no_ack"), _waits(method), self._late):
            self.doubt_deliveries()

    def _cancel(self, speaker: str, verb: str, method: Method) -> None:
        tag = _text(method, "consumer_tag")
        if speaker == SERVER:
            self._consuming().revoke(verb, tag)
        elif not self._consuming().cancel(verb, tag, _waits(method)):
            self.doubt_deliveries()

    # --- references -----------------------------------------------------------------------------------------------------------

    def _refer(self, speaker: str, verb: str, method: Method) -> None:
        """Judges a method of 0-9 that names a reference: a message that is sent in parts."""
        name = reference_of(verb, method)
        if name is None or self._late:
            return
        if self._references is None:
            self._references = References()
        self._references.hear(self._findings, speaker, verb, name)

    # --- tags -----------------------------------------------------------------------------------------------------------------

    def _delivered(self) -> Deliveries:
        if self._deliveries is None:
            self._deliveries = Deliveries(False)
        return self._deliveries

    def _deliver_tag(self, verb: str, tag: int, settled: bool) -> None:
        deliveries = self._delivered()
        if not deliveries.deliver(tag, settled):
            said, text = f"{verb} with delivery-tag {tag}", "tags of a channel go up from 1"
            self._findings.breach("delivery-tag.order", said, text, (), _COMMAND_INVALID)
        self._note_excess(deliveries.bound(self._findings.limits.ranges))

    def _settle(self, speaker: str, verb: str, tag: int, multiple: bool) -> None:
        if speaker == SERVER:
            self._confirm(verb, tag, multiple)
            return
        deliveries = self._delivered()
        wrong = deliveries.settle(tag, multiple, self._mode.states == ("transacted",))
        if wrong:
            self._misordered = self._misordered or wrong == UNKNOWN
            text = "no delivery has this tag" if wrong == UNKNOWN else "the delivery is settled already"
            legal = ("the tag of a delivery that is not settled",)
            self._findings.breach(f"delivery-tag.{wrong}", f"{verb} with delivery-tag {tag}", text, legal, _PRECONDITION)
        self._note_excess(deliveries.bound(self._findings.limits.ranges))

    def _publish(self) -> None:
        if self._published is not None and self._mode.states == ("confirming",):
            self._published.give_next()
        else:
            self._sent += 1

    def _confirm(self, verb: str, tag: int, multiple: bool) -> None:
        if self._mode.step(SERVER, CONFIRM) is not None:
            text = "the client did not ask for confirms on this channel"
            self._findings.breach("confirm.select-required", verb, text, (), _COMMAND_INVALID)
            return
        published = self._published = self._published or Tags(self._late)
        if published.doubt:
            return
        found, wrong = published.named(tag, multiple)
        published.settle(found)
        if multiple:
            self._taken = self._sent  # what the client sent before it asked for confirms
        if wrong:
            self._misordered = self._misordered or wrong == UNKNOWN
            rule = "confirm.twice" if wrong == TWICE else "confirm.unpublished"
            text = "the message is confirmed already" if wrong == TWICE else "no message with this number was published"
            self._findings.breach(rule, f"{verb} with delivery-tag {tag}", text, (), _COMMAND_INVALID)
        self._note_excess(published.bound(self._findings.limits.ranges))

    def _note_excess(self, exceeded: bool) -> None:
        if exceeded:
            self._findings.note("limits.ranges", "more ranges of tags than our limit: we no longer track them")


# --- what a use keeps -----------------------------------------------------------------------------------------------------


class Question(NamedTuple):
    """A method that awaits an answer: its no-ack bit, the consumer tag that it names ("" for none), and how many publishes
    without confirms the server has taken when it answers."""

    no_ack: bool
    tag: str
    taken: int = 0


class Questions:
    """The unanswered methods of both sides, by the side that sent them."""

    __slots__ = ("_asked",)

    def __init__(self) -> None:
        self._asked: Final[dict[str, PendingReplies[Question]]] = {}

    def ask(self, speaker: str, verb: str, question: Question, most: int) -> bool:
        """Records a method of `speaker` that awaits an answer.  Beyond `most`, forgets the oldest one and returns True."""
        asked = self._asked.setdefault(speaker, PendingReplies())
        asked.ask(verb, question)
        return asked.bound(most)

    def waits(self, speaker: str, verb: str) -> bool:
        """Returns whether `speaker` awaits an answer to this verb."""
        asked = self._asked.get(speaker)
        return asked is not None and asked.waits(verb)

    def answer(self, asker: str, verb: str, findings: Findings | None) -> Question | None:
        """Matches an answer to a method of `asker`; returns that method, or None when no method awaits this answer.

        `findings` are None when we missed something: then the answering side is not accused.
        """
        asked = self._asked.get(asker)
        answered = None if asked is None else asked.answer(verb)
        if answered is None:
            if findings is not None:
                wanted = "" if asked is None else asked.oldest
                rule = "reply.other" if wanted else "reply.unasked"
                text = f"{wanted} waits for another answer" if wanted else "nobody asked for it"
                findings.breach(rule, verb, text, REPLIES.get(wanted, ()), _COMMAND_INVALID)
            return None
        passed = answered.passed
        if passed and findings is not None:
            text, legal = f"{passed} was asked before", REPLIES[passed]
            findings.divergence("reply.order", verb, text, legal, _COMMAND_INVALID, about=verb)
        return answered.kept

    def forget(self, *askers: str) -> None:
        """Drops the methods of these sides, which get no answer any more."""
        for asker in askers:
            self._asked.pop(asker, None)


def reference_of(verb: str, method: Method) -> bytes | None:
    """Returns the reference that a method names; None when it names none."""
    if verb == _TRANSFER:
        body: object = getattr(method, "body", None)
        return body.octets if isinstance(body, BodyContent) and body.by_reference else None
    name: object = getattr(method, "reference", None)
    return name if isinstance(name, bytes) else None


class References:
    """The references in scope (class message of 0-9), by the side that opened them and by name."""

    __slots__ = ("_doubt", "_scopes")

    def __init__(self) -> None:
        self._scopes: Final[dict[tuple[str, bytes], Machine]] = {}
        self._doubt = False
        """Whether references may be in scope that are not here."""

    def hear(self, findings: Findings, speaker: str, verb: str, name: bytes) -> None:
        """Judges a method in which `speaker` names one of its references."""
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
                findings.note("limits.subscriptions", "more references than our limit: we do not track the others")
            self._doubt = True
        else:
            self._scopes[key] = scope


class Consumers:
    """The consumers by class and tag, as the ledger keeps them; `unnamed`: some with unknown tags may exist."""

    __slots__ = ("_findings", "_tags")

    def __init__(self, findings: Findings, unnamed: bool) -> None:
        self._findings: Final = findings
        self._tags: Final = ConsumerTags(unnamed)

    def lose(self) -> None:
        """Records that consumers with unknown tags may exist."""
        self._tags.unnamed = True

    def consume(self, verb: str, tag: str, no_ack: bool, waits: bool, late: bool) -> bool:
        """Judges and records a consume of the client.

        `waits`: the client waits for the answer; `late`: we missed something, so a tag in use is no violation.  Returns False
        when there are more consumers than we remember.
        """
        key = _key(verb, tag)
        if tag and self._tags.taken(key) and not late:
            legal = ("a tag that is not in use", "an empty one")
            text = "the tag is that of another consumer on this channel"
            field = "destination" if verb.startswith("message.") else "consumer-tag"
            self._findings.breach(f"{verb}.{field}", f'{verb} with {field} "{tag[:200]}"', text, legal, _NOT_ALLOWED)
            return True
        self._tags.consume(key, no_ack, waits)
        return self._within_limit()

    def name(self, verb: str, tag: str, no_ack: bool) -> None:
        """Records the tag that the server generated."""
        self._tags.started(_key(verb, tag), False, no_ack)

    def cancel(self, verb: str, tag: str, waits: bool) -> bool:
        """Records a cancel of the client; see `consume`."""
        self._tags.cancel(_key(verb, tag), waits)
        return self._within_limit()

    def drop(self, verb: str, tag: str) -> None:
        """Records message.cancel, after which no deliveries to the consumer are expected."""
        self._tags.drop(_key(verb, tag))

    def revoke(self, verb: str, tag: str) -> None:
        """Judges the server's cancel."""
        if not self._tags.cancelled(_key(verb, tag)):
            self._no_consumer(verb, tag)

    def left(self, verb: str, tag: str) -> None:
        """Records that the server has executed a cancel: no deliveries follow."""
        self._tags.left(_key(verb, tag))

    def deliver(self, verb: str, tag: str) -> bool:
        """Judges a delivery; returns whether it needs no settling."""
        settled = self._tags.settled(_key(verb, tag))
        if settled is None and not self._tags.unnamed:
            self._no_consumer(verb, tag)
        return bool(settled)

    def _within_limit(self) -> bool:
        excess = self._tags.bound(self._findings.limits.subscriptions)
        return not self._findings.bounded(excess, "subscriptions", "consumers")

    def _no_consumer(self, verb: str, tag: str) -> None:
        said = f'{verb} with consumer-tag "{tag[:200]}"'
        self._findings.breach(f"{verb}.consumer-tag", said, "no consumer has this tag", (), _COMMAND_INVALID)


def _key(verb: str, tag: str) -> ConsumerKey:
    return verb.partition(".")[0], tag


# --- fields of a method, by name; those that it lacks are empty -----------------------------------------------------------


def _number(method: Method | None, name: str) -> int:
    value: object = getattr(method, name, 0)
    return value if isinstance(value, int) else 0


def _text(method: Method | None, name: str) -> str:
    value: object = getattr(method, name, "")
    return value if isinstance(value, str) else ""


def _bit(method: Method | None, name: str) -> bool:
    value: object = getattr(method, name, False)
    return value is True


def _waits(method: Method | None) -> bool:
    """Returns whether a method awaits an answer: its no-wait bit, if it has one, is not set."""
    return not (_bit(method, "nowait") or _bit(method, "no_wait"))
