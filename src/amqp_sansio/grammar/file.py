"""Class file: quality of service, consumers, staging, publication, delivery and acknowledgement.

file = C:QOS S:QOS-OK / C:CONSUME S:CONSUME-OK / C:CANCEL / C:OPEN S:OPEN-OK C:STAGE content / S:OPEN C:OPEN-OK S:STAGE content
/ C:PUBLISH / S:DELIVER / S:RETURN / C:ACK / C:REJECT.  The answers are commands, so they come in the order of the questions.
"""

from __future__ import annotations

from amqp_sansio.grammar.algebra import answered, one_of, optional, repeated, sequence
from amqp_sansio.grammar.automaton import Automaton


def qos(most: int = 1) -> Automaton:
    """C:QOS S:QOS-OK; `most` questions may be on their way (without a bound not regular)."""
    return answered("client:qos", "server:qos-ok", most=most)


def consumer() -> Automaton:
    """One consumer: consume, its answer unless nowait, deliveries, cancel and deliveries that were on their way.

    "The tag MUST NOT refer to an existing consumer": the same tag may be used again behind a cancel.
    """
    deliveries = repeated("server:deliver")
    begun = one_of(sequence("client:consume", optional("server:consume-ok")), "client:consume(nowait)")
    return repeated(sequence(begun, deliveries, optional(sequence("client:cancel", deliveries))))


def staging(sender: str, recipient: str, uses: str) -> Automaton:
    """One staged message: open, open-ok, stage, and `uses` (publish or deliver), which need not wait for the staging.

    A stage that broke off is taken up again with another open.
    """
    staged = sequence(f"{sender}:open", f"{recipient}:open-ok", f"{sender}:stage")
    return repeated(one_of(staged, f"{sender}:{uses}"))


def delivery() -> Automaton:
    """One delivery of a consumer that acknowledges: named by ack or reject, once."""
    return sequence("server:deliver", optional(one_of("client:ack", "client:reject")))
