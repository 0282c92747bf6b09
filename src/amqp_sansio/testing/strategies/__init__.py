"""Strategies of hypothesis for tests of a client, a broker or a decoder of AMQP (extra `[testing]`).

Values of every wire type, every control and command with every combination of fields, header structs, the ways in which octets
may arrive, legal conversations and nearly legal ones, and whole scenarios with payloads.
"""

from amqp_sansio.testing.speech.step import Conversation, Step
from amqp_sansio.testing.speech.word_encoder import Setting
from amqp_sansio.testing.strategies.chunks import chunkings
from amqp_sansio.testing.strategies.conversations import breaking, conversations, nearly_legal, words
from amqp_sansio.testing.strategies.scenarios import delivered, payloads, scenarios
from amqp_sansio.testing.strategies.things import commands, controls, header_structs, headers, structs, things, values
from amqp_sansio.testing.strategies.values import maps, range_sets, scalars, signed, unsigned

__all__ = [
    "Conversation",
    "Setting",
    "Step",
    "breaking",
    "chunkings",
    "commands",
    "controls",
    "conversations",
    "delivered",
    "header_structs",
    "headers",
    "maps",
    "nearly_legal",
    "payloads",
    "range_sets",
    "scalars",
    "scenarios",
    "signed",
    "structs",
    "things",
    "unsigned",
    "values",
    "words",
]
