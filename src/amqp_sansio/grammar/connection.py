"""Connection (class connection, grammar and rules): header exchange, negotiation, use, close in both directions.

The grammar of the class ends the alternative `C:OPEN S:OPEN-OK | S:REDIRECT` in front of the wrong pair; what is meant is one
answer to one open.  A redirected connection is not used and not closed by words.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.grammar.algebra import interleaved, one_of, optional, repeated, sequence, together, words
from amqp_sansio.grammar.automaton import Automaton

CLIENT_WORDS: Final = ("header", "start-ok", "secure-ok", "tune-ok", "open", "heartbeat", "use")
SERVER_WORDS: Final = ("header", "start", "secure", "tune", "open-ok", "redirect", "heartbeat", "use")


def negotiation() -> Automaton:
    """open-connection up to tune-ok: headers, start, any number of challenges, tune."""
    return sequence(
        words("client:header", "server:header", "server:start", "client:start-ok"),
        repeated(words("server:secure", "client:secure-ok")),
        words("server:tune", "client:tune-ok"),
    )


def redirection() -> Automaton:
    """A connection that ends with a redirect."""
    return sequence(negotiation(), interleaved("client:open", _beats()), "server:redirect")


def handshake() -> Automaton:
    """open-connection and use-connection, without any close.

    Heartbeats are a matter of tune-ok, so either peer may send them from there on.
    """
    use = repeated(one_of("client:use", "server:use"))
    opened = interleaved(sequence(words("client:open", "server:open-ok"), use), _beats())
    return one_of(sequence(negotiation(), opened), redirection())


def closing(speaker: str, other: str, says: tuple[str, ...] = ("use",)) -> Automaton:
    """close-connection as far as it binds one speaker; `says` are the verbs it may say as long as it has not closed.

    Whoever said close says nothing more than the close-ok to a close that crossed it.  What was on its way when the other
    said close is legal until the close-ok, which answers it and is the last word.
    """
    talk = repeated(one_of(*[f"{speaker}:{verb}" for verb in says]))
    own = sequence(talk, optional(f"{speaker}:close"), optional(f"{speaker}:close-ok"))
    asked = optional(sequence(f"{other}:close", optional(f"{speaker}:close-ok")))
    return together(own, asked)


def close() -> Automaton:
    """close-connection both ways: C:CLOSE S:CLOSE-OK / S:CLOSE C:CLOSE-OK, crossing or not, with use in flight."""
    return together(closing("client", "server"), closing("server", "client"))


def conversation() -> Automaton:
    """A whole connection: it may be closed by either side from the exchange of headers on, in the midst of the handshake too.

    Ends where every close was answered, or with a redirect; an end of file may come anywhere (`prefixes`).
    """
    by_client, by_server = words("client:close", "server:close-ok"), words("server:close", "client:close-ok")
    spoken = together(
        handshake().prefixes(),
        sequence(words("client:header", "server:header"), repeated(one_of(*_CLOSES))),
        closing("client", "server", CLIENT_WORDS),
        closing("server", "client", SERVER_WORDS),
    )
    closed = together(spoken, one_of(by_client, by_server, interleaved(by_client, by_server)))
    return one_of(closed, redirection())


_CLOSES: Final = ("client:close", "client:close-ok", "server:close", "server:close-ok")


def _beats() -> Automaton:
    return repeated(one_of("client:heartbeat", "server:heartbeat"))
