"""Class stream: quality of service, consumers, publication and delivery; nothing is acknowledged.

stream = C:QOS S:QOS-OK / C:CONSUME S:CONSUME-OK / C:CANCEL / C:PUBLISH content / S:RETURN / S:DELIVER content
"""

from __future__ import annotations

from amqp_sansio.grammar.algebra import interleaved, one_of, repeated
from amqp_sansio.grammar.automaton import Automaton
from amqp_sansio.grammar.file import consumer, qos


def stream(most: int = 1) -> Automaton:
    """The commands of the class in one session, of one consumer; `most` as for `qos`."""
    content = repeated(one_of("client:publish", "server:return"))
    return interleaved(qos(most), consumer(), content)
