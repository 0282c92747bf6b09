"""The editions of the older dialects: the grammar of each, with its additions, and the dialect that speaks it."""

from __future__ import annotations

from typing import Final, NamedTuple

from amqp_sansio.dialects import (
    AMQP_0_8,
    AMQP_0_8_UNBIND,
    AMQP_0_9,
    AMQP_0_9_1,
    AMQP_0_9_RABBITMQ,
    AMQP_0_9_UNBIND,
    ChannelDialect,
)
from amqp_sansio.grammar import text_0_8, text_0_9, text_0_9_1
from amqp_sansio.grammar.automaton import Word
from amqp_sansio.grammar.channels import Traffic
from amqp_sansio.grammar.notation import Grammar, Question
from amqp_sansio.tables.connection import HEARTBEAT


class Edition(NamedTuple):
    """One edition of a version."""

    dialect: ChannelDialect
    grammar: Grammar
    any_time: frozenset[str]
    """Methods that may be answered at any time."""
    marks: tuple[str, ...] = ()
    """The authors of the additions that it includes."""

    @property
    def name(self) -> str:
        """The name of its dialect."""
        return self.dialect.name

    @property
    def verbs(self) -> frozenset[str]:
        """Its methods."""
        return frozenset([kind.VERB for kind in self.dialect.codec.methods.arguments])

    def asked(self, *rules: str) -> tuple[Question, ...]:
        """Returns the questions of some rules."""
        return tuple([each for each in self.grammar.questions(*rules) if each.mark in ("", *self.marks)])

    @property
    def traffic(self) -> Traffic:
        """Returns the words on an open connection, except close."""
        alphabet = self.grammar.language("use-connection", *self.marks).alphabet
        said = [word for word in alphabet if not word.endswith(HEARTBEAT)]
        client, server = [tuple([word for word in said if word.startswith(who)]) for who in ("client", "server")]
        return Traffic(client, server, "connection.redirect" in self.verbs)

    @property
    def opens(self) -> dict[Word, Word]:
        """Returns the words that open a channel, with their answers."""
        return {each.word: each.answers[0] for each in self.asked("open-channel")}


EDITIONS: Final = (
    Edition(AMQP_0_9_1, text_0_9_1.GRAMMAR, text_0_9_1.ANY_TIME, (text_0_9_1.RABBITMQ,)),
    Edition(AMQP_0_9, text_0_9.GRAMMAR, text_0_9.ANY_TIME),
    Edition(AMQP_0_9_UNBIND, text_0_9.GRAMMAR, text_0_9.ANY_TIME, (text_0_9.CLASS_QUEUE,)),
    Edition(AMQP_0_9_RABBITMQ, text_0_9.GRAMMAR, text_0_9.ANY_TIME, (text_0_9.RABBITMQ,)),
    Edition(AMQP_0_8, text_0_8.GRAMMAR, text_0_8.ANY_TIME),
    Edition(AMQP_0_8_UNBIND, text_0_8.GRAMMAR, text_0_8.ANY_TIME, (text_0_8.EXCERPT,)),
)
"""The editions that have a grammar."""
