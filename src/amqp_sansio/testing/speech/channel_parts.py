"""What the grammars of the older dialects are about, part by part: a language, the words before it, the rules that it speaks
of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

from amqp_sansio.grammar import channels
from amqp_sansio.grammar.algebra import answered, interleaved, together, without
from amqp_sansio.grammar.automaton import Automaton, Word
from amqp_sansio.grammar.pipelines import in_order
from amqp_sansio.testing.speech.channel_voice import ChannelVoice, Spoken
from amqp_sansio.testing.speech.editions import EDITIONS, Edition

_OPEN: Final = ("client:channel.open", "server:channel.open-ok")
_UPDATE: Final = ("client:connection.update-secret", "server:connection.update-secret-ok")
_DELIVERIES: Final = frozenset(["server:basic.deliver", "server:basic.deliver no-ack"])
_REFUSED: Final = "server:other-protocol-header"
_RESUME: Final = frozenset(["client:channel.resume"])
"""It is legal on an open channel, too: the document does not say what it is for."""
_REPLIES: Final = ("reply.", "method.direction")


class ChannelPart(NamedTuple):
    """A part of what one edition says."""

    edition: Edition
    name: str
    grammar: Callable[[int], Automaton]
    """The language, given how many words may wait for an answer, as far as it counts: that is not regular without a bound."""
    opening: tuple[Word, ...] | None = _OPEN
    """The words before it on a connection that is open; None when it begins with the first octet."""
    rules: tuple[str, ...] = ("",)
    """The beginnings of the rules that it is about."""
    publishes: bool = False
    """Whether a message is published wherever the server confirms one."""
    asks: frozenset[Word] = frozenset()
    """What is legal at any time, but for the number of words that wait."""

    def language(self, most: int = 2) -> Automaton:
        """Its conversations, which may break off anywhere."""
        return _language(self, most)

    def wrong(self, said: Sequence[Word], most: int = 2) -> tuple[Word, ...]:
        """The words that may not come behind a legal conversation, and of which an observer can tell.

        What only the number of words that wait forbids is none, nor is anything before the protocol header, where nobody
        knows which dialect is spoken, nor behind another one, where nobody listens.
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
        """Whether a violation is of a rule that it is about."""
        return rule.startswith(self.rules)

    def spoken(self, words: Sequence[Word]) -> tuple[list[Spoken], list[Spoken]]:
        """The words before it, and its own."""
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
            lambda _, asked=asked: in_order(asked, 1, edition.any_time),  # type: ignore[misc]
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
