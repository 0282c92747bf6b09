"""Classes file and stream: quality of service, consumers, publication and delivery; of file alone staging and acknowledgement.

file = C:QOS S:QOS-OK / C:CONSUME S:CONSUME-OK / C:CANCEL / C:OPEN S:OPEN-OK C:STAGE content / S:OPEN C:OPEN-OK S:STAGE content
/ C:PUBLISH / S:DELIVER / S:RETURN / C:ACK / C:REJECT.  The answers are commands, and come in the order of the questions.

stream = C:QOS S:QOS-OK / C:CONSUME S:CONSUME-OK / C:CANCEL / C:PUBLISH content / S:RETURN / S:DELIVER content
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.grammar.algebra import answered, interleaved, one_of, optional, renamed, repeated, sequence
from amqp_sansio.grammar.automaton import Automaton

COMPLETED: Final = "server:session.completed"
"""The server has executed the cancel."""


def qos(name: str = "file", most: int = 1) -> Automaton:
    """Returns C:QOS S:QOS-OK with at most `most` unanswered (without a bound that is not regular)."""
    return answered(f"client:{name}.qos", f"server:{name}.qos-ok", most=most)


def consumer(name: str = "file") -> Automaton:
    """Returns one consumer tag: consume and its answer (unless nowait), deliveries, cancel, deliveries in flight.

    The client may cancel before it has its answer, which still comes.  It may reuse the tag after the cancel ("MUST NOT refer
    to an existing consumer") if its last consume was answered: deliveries before the next answer are for the former consumer,
    unless the cancel is complete.  "session.completed" is the completion of the last cancel while no consumer has the tag.
    """
    consume, ok, cancel = f"client:{name}.consume", f"server:{name}.consume-ok", f"client:{name}.cancel"
    nowait, late = f"{consume} nowait", repeated(f"server:{name}.deliver")
    consuming = one_of(sequence(consume, ok), nowait)
    # After a cancel: the tag may be reused, and that consumer cancelled before it has its answer.
    again_cancelled = sequence(consume, late, one_of(sequence(cancel, late, ok), sequence(COMPLETED, cancel, ok)), late)
    again = one_of(sequence(consume, late, optional(COMPLETED), ok), nowait)
    behind = sequence(late, repeated(again_cancelled))
    unanswered = sequence(consume, late, one_of(sequence(cancel, late), sequence(COMPLETED, cancel)), COMPLETED, ok)
    complete = one_of(COMPLETED, unanswered)

    rest = sequence(behind, repeated(sequence(again, late, cancel, behind)), complete)
    served = sequence(consuming, late, cancel, rest)
    hasty = sequence(consume, cancel, one_of(sequence(COMPLETED, ok), sequence(ok, rest)))
    return repeated(one_of(served, hasty))


def published(name: str = "file") -> Automaton:
    """Returns publish and return: only published messages are returned."""
    publish = f"client:{name}.publish"
    return optional(sequence(publish, repeated(one_of(publish, f"server:{name}.return"))))


def stream() -> Automaton:
    """Returns class stream in one session, with one consumer tag."""
    return interleaved(qos("stream"), consumer("stream"), published("stream"))


def staging(sender: str, receiver: str, uses: str) -> Automaton:
    """Returns consecutive staged messages: open, open-ok, stage.

    `uses` (file.publish or file.deliver) names an opened one, perhaps before its staging is finished.
    """
    first, *rest = f"{sender}:file.open", f"{receiver}:file.open-ok", f"{sender}:file.stage"
    again = repeated(sequence(first, *rest))
    return optional(sequence(first, interleaved(sequence(*rest, again), repeated(f"{sender}:{uses}"))))


def delivery() -> Automaton:
    """Returns one delivery: named by one ack or reject, or covered by an ack of all that the client has received.

    The moment of receipt is not visible, but comes before its completion is sent; an ack of all from before that moment does
    not cover it.
    """
    received = "client:(received)"
    ack_all = "client:file.ack of all"
    settled = optional(one_of("client:file.ack", "client:file.reject", ack_all))
    completed = repeated("client:session.completed")
    kept = sequence(repeated(ack_all), received, interleaved(completed, settled))
    acknowledged = renamed(kept, lambda word: None if word == received else word)
    return one_of(sequence("server:file.deliver no-ack", completed), sequence("server:file.deliver", acknowledged))
