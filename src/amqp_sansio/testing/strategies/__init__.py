"""Strategies of hypothesis for tests of an AMQP client, broker or decoder (extra `[testing]`).

They make values of every wire type, every control and command with every combination of fields, header structs, chunkings of
octets, legal and nearly legal conversations, and whole scenarios with payloads.
"""

from amqp_sansio.errors.extras import of_extra

with of_extra("testing"):
    from amqp_sansio.testing.speech.step import Conversation, Step
    from amqp_sansio.testing.speech.word_encoder import Setting
    from amqp_sansio.testing.strategies.conversations import breaking, chunkings, conversations, nearly_legal, words
    from amqp_sansio.testing.strategies.scenarios import delivered, payloads, scenarios
    from amqp_sansio.testing.strategies.values import (
        commands,
        controls,
        header_structs,
        headers,
        maps,
        range_sets,
        scalars,
        signed,
        structs,
        things,
        unsigned,
        values,
    )

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
