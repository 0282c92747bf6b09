"""The older dialects' grammars: their editions, the parts of each, and the voice that says its words.

A part is a language, the words before it, and the rules that it covers.  The voice encodes words as frames of one connection,
with consistent arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias

from amqp_sansio.dialects import (
    AMQP_0_8,
    AMQP_0_8_UNBIND,
    AMQP_0_9,
    AMQP_0_9_1,
    AMQP_0_9_RABBITMQ,
    AMQP_0_9_UNBIND,
    HEADERS,
    ChannelDialect,
)
from amqp_sansio.grammar import channels, texts
from amqp_sansio.grammar.algebra import answered, interleaved, together, without
from amqp_sansio.grammar.automaton import Automaton, Word
from amqp_sansio.grammar.channels import OpenWords, in_order
from amqp_sansio.grammar.notation import Grammar, Question
from amqp_sansio.spec.base import BodyContent
from amqp_sansio.wire.method_frames import CONTENT_BODY, CONTENT_HEADER, HEARTBEAT, METHOD, put_frame


class Edition(NamedTuple):
    """One edition of a version."""

    dialect: ChannelDialect
    grammar: Grammar
    marks: tuple[str, ...] = ()
    """The authors of the additions that it includes."""

    @property
    def name(self) -> str:
        """The name of its dialect."""
        return self.dialect.name

    @property
    def verbs(self) -> frozenset[str]:
        """Its methods."""
        return frozenset([kind.VERB for kind in self.dialect.codec.arguments])

    def asked(self, *rules: str) -> tuple[Question, ...]:
        """Returns the questions of some rules."""
        return tuple([each for each in self.grammar.questions(*rules) if each.mark in ("", *self.marks)])

    @property
    def traffic(self) -> OpenWords:
        """Returns the words on an open connection, except close."""
        alphabet = self.grammar.language("use-connection", *self.marks).alphabet
        said = [word for word in alphabet if word not in channels.BEATS]
        client, server = [tuple([word for word in said if word.startswith(who)]) for who in ("client", "server")]
        return OpenWords(client, server, "connection.redirect" in self.verbs)

    @property
    def opens(self) -> dict[Word, Word]:
        """Returns the words that open a channel, with their answers."""
        return {each.word: each.answers[0] for each in self.asked("open-channel")}


EDITIONS: Final = (
    Edition(AMQP_0_9_1, texts.GRAMMAR_0_9_1, (texts.RABBITMQ,)),
    Edition(AMQP_0_9, texts.GRAMMAR_0_9),
    Edition(AMQP_0_9_UNBIND, texts.GRAMMAR_0_9, (texts.CLASS_QUEUE,)),
    Edition(AMQP_0_9_RABBITMQ, texts.GRAMMAR_0_9, (texts.RABBITMQ,)),
    Edition(AMQP_0_8, texts.GRAMMAR_0_8),
    Edition(AMQP_0_8_UNBIND, texts.GRAMMAR_0_8, (texts.EXCERPT,)),
)
"""The editions that have a grammar."""


Side: TypeAlias = Literal["C", "S"]
SIDES: Final[dict[str, Side]] = {"client": "C", "server": "S"}

ABLE: Final = ("publisher_confirms", "exchange_exchange_bindings", "basic.nack", "consumer_cancel_notify", "connection.blocked")
"""The capabilities that both sides announce."""
TAG: Final = "t"
"""The consumer that settles its deliveries."""
FREE: Final = "free"
"""The consumer whose deliveries need no settling."""
NAME: Final = b"r"
"""The name of the reference."""
_OPENING: Final = (
    *("client:protocol-header", "server:connection.start", "client:connection.start-ok", "server:connection.tune"),
    *("client:connection.tune-ok", "client:connection.open", "server:connection.open-ok"),
)
_CONTENT: Final = {"client": "basic.publish", "server": "basic.return"}


class Utterance(NamedTuple):
    """What one side sends: the word of the grammar ("" for none), and the octets."""

    side: Side
    word: Word
    octets: bytes


class ChannelVoice:
    """Speaks for both sides of one connection; methods of a channel are on channel 1."""

    __slots__ = ("_channels", "_confirmed", "_delivered", "_dialect", "_kinds", "_publishes")

    def __init__(self, dialect: ChannelDialect, publishes: bool = False) -> None:
        """`publishes`: send a message wherever the server confirms one."""
        self._publishes: Final = publishes
        self._dialect: Final = dialect
        self._kinds: Final = {kind.VERB: (code, kind) for code, kind in dialect.codec.kinds.items()}
        self._channels = 0
        self._delivered = 0
        self._confirmed = 0

    def opening(self, *words: Word) -> list[Utterance]:
        """Returns a connection up to its use, and these words."""
        return [each for word in (*_OPENING, *words) for each in self.say(word)]

    def say(self, word: Word, ahead: Sequence[Word] = ()) -> list[Utterance]:
        """Returns a word, and what must come before it; `ahead`: the words that follow, which determine a content's size."""
        speaker, _, said = word.partition(":")
        found: list[Utterance] = []
        if self._publishes and word in ("server:basic.ack", "server:basic.nack"):
            found += self.say("client:basic.publish")  # otherwise nothing could be confirmed
        return [*found, Utterance(SIDES[speaker], word, self._octets(speaker, said, ahead))]

    def _octets(self, speaker: str, said: str, ahead: Sequence[Word]) -> bytes:
        if said == "protocol-header":
            return self._dialect.header
        if said == "other-protocol-header":
            return HEADERS["1.0"]
        if said == "connection.heartbeat":
            return put_frame(HEARTBEAT, 0, b"")
        if said == "session-traffic" and speaker == "client":
            self._channels += 1
            return self.method("channel.open", channel=self._channels)
        if said in ("session-traffic", "method"):
            return self.method("channel.flow")
        if said == "work":
            return self.method(_CONTENT[speaker]) + self.header(_CONTENT[speaker], 0)
        if said == "method with content":
            return self.method(_CONTENT[speaker])
        if said.endswith("header"):
            return self.header("basic.publish", 0 if said.startswith("empty") else _size(speaker, ahead))
        if said.endswith("body"):
            return put_frame(CONTENT_BODY, 1, b"m")
        verb, _, how = said.partition(" ")
        octets = self.method(verb, self._arguments(speaker, verb, how))
        return octets + self.header(verb, 0) if verb in self._dialect.codec.carrying else octets

    def _arguments(self, speaker: str, verb: str, how: str) -> dict[str, object]:
        if verb == "connection.start":
            able = {"capabilities": dict.fromkeys(ABLE, True)}
            return {"mechanisms": ("PLAIN",), "locales": ("en_US",), "server_properties": able}
        if verb == "connection.start-ok":
            return {"mechanism": "PLAIN", "client_properties": {"capabilities": dict.fromkeys(ABLE, True)}}
        if how == "by reference":
            return {"body": BodyContent(NAME, True)}
        told: dict[str, object] = {"reference": NAME, "consumer_tag": FREE if how in ("free", "no-ack") else TAG}
        told["no_ack"] = how == "free"
        told["nowait"] = told["no_wait"] = how == "nowait"
        told["multiple"] = how == "multiple"
        if verb.endswith(".deliver"):
            self._delivered += 1
            told["delivery_tag"] = self._delivered
        elif speaker == "server":
            self._confirmed += verb in ("basic.ack", "basic.nack")
            told["delivery_tag"] = self._confirmed
        else:
            told["delivery_tag"] = 1
        fields = self._kinds[verb][1].FIELDS
        return {name: value for name, value in told.items() if name in fields}

    def method(self, verb: str, said: Mapping[str, object] = MappingProxyType({}), channel: int = 1) -> bytes:
        """Returns the frame of a method; arguments default to 0, empty or false; those of class connection use channel 0."""
        kind = self._kinds[verb][1]
        payload = self._dialect.codec.encode(kind(**said))
        return put_frame(METHOD, 0 if verb.startswith("connection.") else channel, payload)

    def header(self, verb: str, size: int) -> bytes:
        """Returns the content header after a method."""
        class_code = self._kinds[verb][0] >> 16
        return put_frame(CONTENT_HEADER, 1, class_code.to_bytes(2, "big") + b"\0\0" + size.to_bytes(8, "big") + b"\0\0")


def _size(speaker: str, ahead: Sequence[Word]) -> int:
    """Returns the octets of the bodies that follow, one each; one more when the last one is not among them."""
    count = 0
    for word in ahead:
        if word == f"{speaker}:last body":
            return count + 1
        count += word == f"{speaker}:body"
    return count + 2


_OPEN: Final = ("client:channel.open", "server:channel.open-ok")
_UPDATE: Final = ("client:connection.update-secret", "server:connection.update-secret-ok")
_DELIVERIES: Final = frozenset(["server:basic.deliver", "server:basic.deliver no-ack"])
_REFUSED: Final = "server:other-protocol-header"
_RESUME: Final = frozenset(["client:channel.resume"])
"""Legal on an open channel, too: the document does not say what it is for."""
_REPLIES: Final = ("reply.", "method.direction")


class ChannelPart(NamedTuple):
    """A part of one edition's grammar."""

    edition: Edition
    name: str
    grammar: Callable[[int], Automaton]
    """Returns the language for a limit on unanswered words: counting is not regular without one."""
    opening: tuple[Word, ...] | None = _OPEN
    """The words before it on an open connection; None when it begins with the first octet."""
    rules: tuple[str, ...] = ("",)
    """The prefixes of the rules that it covers."""
    publishes: bool = False
    """Whether a message is published wherever the server confirms one."""
    asks: frozenset[Word] = frozenset()
    """Words that are legal at any time, except for the limit on unanswered ones."""

    def language(self, most: int = 2) -> Automaton:
        """Returns its conversations, which may break off anywhere."""
        return _language(self, most)

    def wrong(self, said: Sequence[Word], most: int = 2) -> tuple[Word, ...]:
        """Returns the words that are illegal after a legal conversation, as far as an observer can tell.

        Omits what only the limit on unanswered words forbids, what comes before the protocol header (the dialect is unknown)
        and what follows a second one (no side reads it).
        """
        language = self.language(most)
        state = language.run(said)
        if state is None or (self.opening is None and (not said or _REFUSED in said)):
            return ()
        wide = language if self.asks else self.language(most + 1)
        known = wide.run(said)
        legal = {*language.moves[state], *([] if known is None else wide.moves[known]), *self.asks}
        return tuple([word for word in language.alphabet if word not in legal])

    def judges(self, rule: str) -> bool:
        """Returns whether it covers the rule of a violation."""
        return rule.startswith(self.rules)

    def spoken(self, words: Sequence[Word]) -> tuple[list[Utterance], list[Utterance]]:
        """Returns the opening and the part's own words, encoded."""
        voice = ChannelVoice(self.edition.dialect, publishes=self.publishes)
        before = [] if self.opening is None else voice.opening(*self.opening)
        return before, [each for at, word in enumerate(words) for each in voice.say(word, words[at + 1 :])]

    def __repr__(self) -> str:
        return f"{self.edition.name}: {self.name}"


@cache
def _language(part: ChannelPart, most: int) -> Automaton:
    return part.grammar(most).prefixes()


def _parts(edition: Edition) -> Iterator[ChannelPart]:
    verbs = edition.verbs
    extended = edition.dialect.codec.extended

    def connection(most: int) -> Automaton:
        whole = without(channels.connection(edition.traffic), *channels.BEATS)
        return together(whole, answered(*_UPDATE, most=most).prefixes()) if _UPDATE[0] in whole.alphabet else whole

    yield ChannelPart(edition, "connection", connection, None, ("connection.", "frame.", *_REPLIES))
    yield ChannelPart(edition, "channel", lambda _: channels.channel(edition.opens), (), asks=_RESUME)
    yield ChannelPart(edition, "content", lambda _: interleaved(*map(channels.content, ("client", "server"))))
    yield ChannelPart(edition, "mode", lambda _: channels.demarcation(extended), publishes=True)
    if extended:
        again = frozenset(["client:basic.publish", "client:confirm.select"])
        yield ChannelPart(edition, "confirms", channels.confirmed, asks=again)
    for who in ("client", "server"):
        asked = [each for each in edition.asked("use-channel") if each.word.startswith(who)]
        yield ChannelPart(
            edition,
            f"answers to the {who}",
            lambda _, asked=asked: in_order(asked, 1, edition.grammar.any_time),  # type: ignore[misc]
            rules=_REPLIES,
            asks=frozenset([each.word for each in asked]),
        )
        if "message.append" in verbs:
            yield ChannelPart(
                edition,
                f"reference of the {who}",
                lambda _, who=who: channels.reference(who),  # type: ignore[misc]
            )
    for name in ("basic", "file", "stream"):
        if f"{name}.consume" in verbs:
            notified = extended and name == "basic"
            yield ChannelPart(
                edition,
                f"{name} consumer",
                lambda most, name=name, notified=notified: channels.consumer(name, notified, most),  # type: ignore[misc]
            )
    consumers = [f"{word}{how}" for how in ("", " free") for word in ("client:basic.consume", "server:basic.consume-ok")]
    settles = [
        verb for verb in ("ack", "ack multiple", "reject", "nack", "nack multiple") if f"basic.{verb.split()[0]}" in verbs
    ]
    recovers = [verb for verb in ("recover", "recover-async") if f"basic.{verb}" in verbs]
    before = (*_OPEN, *consumers)
    yield ChannelPart(
        edition, "delivery", lambda _: channels.delivery(tuple(settles), tuple(recovers)), before, asks=_DELIVERIES
    )  # fmt: skip


PARTS: Final[tuple[ChannelPart, ...]] = tuple([part for edition in EDITIONS for part in _parts(edition)])
"""All parts of all editions."""
