"""Class stream: quality of service, consumers, publishing and delivery; without acknowledgements.

stream = C:QOS S:QOS-OK / C:CONSUME S:CONSUME-OK / C:CANCEL / C:PUBLISH content / S:RETURN / S:DELIVER content
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.grammar import file
from amqp_sansio.grammar.algebra import interleaved
from amqp_sansio.grammar.automaton import Automaton

NAME: Final = "stream"


def qos(most: int = 1) -> Automaton:
    """See class file."""
    return file.qos(NAME, most)


def consumer() -> Automaton:
    """See class file."""
    return file.consumer(NAME)


def published() -> Automaton:
    """See class file."""
    return file.published(NAME)


def stream() -> Automaton:
    """Returns the class in one session, with one consumer tag."""
    return interleaved(qos(), consumer(), published())
