"""The parts of the older dialects' grammars: a language, the words before it, and the rules that it covers."""

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

    def spoken(self, words: Sequence[Word]) -> tuple[list[Spoken], list[Spoken]]:
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
