"""Connection (class connection, grammar and rules): header exchange, negotiation, use, close in both directions.

connection = open-connection *use-connection close-connection.  The grammar is loose about `S:OPEN-OK | S:REDIRECT`; it means
one answer to one open.  "session-traffic" is any control or command of another class.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.grammar.algebra import interleaved, one_of, optional, repeated, sequence, together, words
from amqp_sansio.grammar.automaton import Automaton, Word

USE: Final = ("client:session-traffic", "server:session-traffic")
BEATS: Final = ("client:connection.heartbeat", "server:connection.heartbeat")


def negotiation() -> Automaton:
    """Returns open-connection up to tune-ok: headers, start, any number of challenges, tune."""
    return sequence(
        _headers(),
        words("server:connection.start", "client:connection.start-ok"),
        repeated(words("server:connection.secure", "client:connection.secure-ok")),
        words("server:connection.tune", "client:connection.tune-ok"),
    )


def refusal() -> Automaton:
    """Returns a refusal: the server answers with the header of a version that it supports, and hangs up."""
    return words("client:protocol-header", "server:other-protocol-header")


def handshake() -> Automaton:
    """Returns open-connection and use-connection without any close; may end before or after the answer to open, or refused.

    Heartbeats are negotiated by tune-ok, so either peer may send them from there on; a redirected connection is not used.
    """
    used = sequence(words("client:connection.open", "server:connection.open-ok"), repeated(one_of(*USE)))
    opened = interleaved(used, repeated(one_of(*BEATS)))
    return one_of(refusal(), sequence(negotiation(), opened), _redirected())


def closes(what: str = "connection") -> tuple[Word, ...]:
    """Returns the words by which a connection or a channel is closed."""
    return tuple([f"{who}:{what}.{verb}" for who in ("client", "server") for verb in ("close", "close-ok")])


def closed(what: str = "connection") -> Automaton:
    """Returns the closes alone, each with its answer: by the client, by the server, or by both at once."""
    close, ok, other_close, other_ok = closes(what)
    both = words(close, other_ok), words(other_close, ok)
    return one_of(*both, interleaved(*both))


def closing(speaker: str, other: str, says: tuple[Word, ...], what: str = "connection") -> Automaton:
    """Returns close-connection as far as it binds one speaker; `says` are its legal words until it has closed.

    `what` is closed: a connection, or a channel of the versions with channels.  After its close, a side only sends the close-ok
    to a close that crossed it.  After the other side's close, what was in flight is legal until the close-ok, which is the last
    word.
    """
    close, close_ok = f"{speaker}:{what}.close", f"{speaker}:{what}.close-ok"
    own = sequence(repeated(one_of(*says)), optional(close), optional(close_ok))
    asked = optional(sequence(f"{other}:{what}.close", optional(close_ok)))
    return together(own, asked)


def close() -> Automaton:
    """Returns close-connection both ways: C:CLOSE S:CLOSE-OK / S:CLOSE C:CLOSE-OK, crossing or not, with traffic in flight."""
    return together(closing("client", "server", USE[:1]), closing("server", "client", USE[1:]))


def conversation() -> Automaton:
    """Returns a whole connection, which either side may close from the headers on, even during the handshake.

    Ends when every close is answered, with a redirect, or refused; EOF may come anywhere (`prefixes`).
    """
    spoken = together(
        handshake().prefixes(),
        sequence(_headers(), repeated(one_of(*closes()))),
        closing("client", "server", _said_by("client")),
        closing("server", "client", _said_by("server")),
    )
    return one_of(together(spoken, closed()), _redirected(), refusal())


def _redirected() -> Automaton:
    asked = interleaved("client:connection.open", repeated(one_of(*BEATS)))
    return sequence(negotiation(), asked, "server:connection.redirect")


def _headers() -> Automaton:
    return words("client:protocol-header", "server:protocol-header")


def _said_by(speaker: str) -> tuple[Word, ...]:
    return tuple([word for word in handshake().alphabet if word.startswith(f"{speaker}:")])
