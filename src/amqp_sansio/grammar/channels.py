"""Connections and channels of 0-8, 0-9 and 0-9-1: what their texts and their prose make of one line between client and server.

The texts (`text_0_8`, `text_0_9`, `text_0_9_1`) say which method answers which.  A language here is what may be heard by somebody
who stands between the two: words that cross, and what a client says before it has the answer to what it said before
("synchronous" binds the one that answers: it answers in order).  "channel-traffic" and "use" are everything that the language
does not name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from amqp_sansio.grammar.algebra import interleaved, one_of, optional, repeated, sequence, together, word, words
from amqp_sansio.grammar.automaton import Automaton, Word, explore
from amqp_sansio.grammar.connection import closing
from amqp_sansio.grammar.pipelines import counted

CLIENT: Final = "client"
SERVER: Final = "server"
BEATS: Final = ("client:heartbeat", "server:heartbeat")
REFUSED: Final = words("client:protocol-header", "server:other-protocol-header")


def handshake(*ends: Word) -> Automaton:
    """The connection up to its use; `ends` are the answers to open.

    A client may go on before it is asked to, but cannot answer a challenge that it does not know: start-ok, tune-ok and open may
    come before start, tune and open-ok, secure-ok only behind its secure.  The server says nothing before it was asked.
    """
    client = sequence(
        words("client:protocol-header", "client:connection.start-ok"),
        repeated("client:connection.secure-ok"),
        words("client:connection.tune-ok", "client:connection.open"),
    )
    server = sequence(
        words("server:connection.start"),
        repeated("server:connection.secure"),
        sequence("server:connection.tune", one_of(*ends)),
    )
    challenges = repeated(words("server:connection.secure", "client:connection.secure-ok"))
    return together(
        client,
        server,
        sequence("client:protocol-header", "server:connection.start"),
        sequence("client:connection.start-ok", challenges, "server:connection.tune"),
        sequence("client:connection.open", one_of(*ends)),
    )


class Traffic(NamedTuple):
    """What is said on an open connection, beside close."""

    client: tuple[Word, ...] = ("client:channel-traffic",)
    server: tuple[Word, ...] = ("server:channel-traffic",)
    redirects: bool = False


def connection(traffic: Traffic = Traffic()) -> Automaton:
    """A whole connection: opened, used, closed by either side.

    Channels are used by the client from its open on, by the server from its open-ok on; there are heartbeats from tune-ok on.  Either
    side may close as soon as it has spoken: the server behind its start, the client behind its header.
    """
    opened = handshake("server:connection.open-ok")
    closes = tuple([f"{who}:connection.{verb}" for who in (CLIENT, SERVER) for verb in ("close", "close-ok")])
    by_client = words("client:connection.close", "server:connection.close-ok")
    by_server = words("server:connection.close", "client:connection.close-ok")
    client, server = [tuple(w for w in opened.alphabet if w.startswith(who)) for who in (CLIENT, SERVER)]
    spoken = together(
        opened.prefixes(),
        _from("client:connection.open", *traffic.client),
        _from("server:connection.open-ok", *traffic.server),
        _from("client:connection.tune-ok", *BEATS),
        _from("client:protocol-header", *closes),
        _from("server:connection.start", "server:connection.close"),
        closing(CLIENT, SERVER, (*client, *traffic.client, BEATS[0])),
        closing(SERVER, CLIENT, (*server, *traffic.server, BEATS[1])),
    )
    closed = together(spoken, one_of(by_client, by_server, interleaved(by_client, by_server)))
    if not traffic.redirects:
        return one_of(REFUSED, closed)
    sent_on = together(handshake("server:connection.redirect"), _from("client:connection.tune-ok", *BEATS))
    return one_of(REFUSED, closed, sent_on)


def channel(opens: Mapping[Word, Word]) -> Automaton:
    """One channel number: opened, used, closed by either side, and so on; `opens` are the words that open it, with their answers.

    The client uses it from its open on, the server from its answer on.  A close is answered, a close that crosses it too; until its
    close-ok a side may say what was on its way.  The number is free when every close has its close-ok.
    """
    return repeated(one_of(*[_life(ask, answer) for ask, answer in opens.items()]))


def _life(ask: Word, answer: Word) -> Automaton:
    closes = tuple([f"{who}:channel.{verb}" for who in (CLIENT, SERVER) for verb in ("close", "close-ok")])
    by_client = words("client:channel.close", "server:channel.close-ok")
    by_server = words("server:channel.close", "client:channel.close-ok")
    early = repeated(one_of("client:use", "client:channel.close"))
    return together(
        sequence(ask, early, answer, repeated(one_of("client:use", "server:use", *closes))),
        closing(CLIENT, SERVER, (ask, "client:use"), "channel"),
        closing(SERVER, CLIENT, (answer, "server:use"), "channel"),
        one_of(by_client, by_server, interleaved(by_client, by_server)),
    )


def content(speaker: str) -> Automaton:
    """What one speaker says on one channel: behind a method with content its header, then bodies until the size is reached.

    Nothing else of the same speaker comes between.
    """
    body = sequence(repeated(f"{speaker}:body"), f"{speaker}:last body")
    carried = sequence(f"{speaker}:method with content", one_of(f"{speaker}:empty header", sequence(f"{speaker}:header", body)))
    return repeated(one_of(f"{speaker}:method", carried))


_Server: TypeAlias = tuple[bool, tuple[Word, ...]]
"""Whether the server has the consumer, and what of the client's it has not carried out yet."""


class _Tag(NamedTuple):
    held: bool
    """Whether the client has it in use."""
    servers: frozenset[_Server]
    told: int
    """Cancels of the server that the client owes an answer."""


def consumer(name: str = "basic", notified: bool = False, most: int = 2) -> Automaton:
    """One consumer tag, as the one that stands between can know it; at most `most` words of the client are under way.

    The client uses a tag again when it has cancelled it; the server carries out what it hears in order, delivers between
    consume and cancel, and shows what it has done where it answers.  `notified`: the server may cancel, too, and the tag is
    free when it has (RabbitMQ); a cancel that crosses it is answered all the same.
    """
    consume, cancel = f"client:{name}.consume", f"client:{name}.cancel"
    quiet = {consume: f"{consume} nowait", cancel: f"{cancel} nowait"}
    answer = {f"server:{name}.consume-ok": consume, f"server:{name}.cancel-ok": cancel}
    deliver, revoked = f"server:{name}.deliver", f"server:{name}.cancel"

    def after(servers: frozenset[_Server], said: Word) -> frozenset[_Server]:
        return closed(frozenset([(active, (*queue, said)) for active, queue in servers if len(queue) < most]))

    def closed(servers: frozenset[_Server]) -> frozenset[_Server]:
        known = set(servers)
        for active, queue in sorted(servers):
            at = active
            for number, said in enumerate(queue):
                if said not in quiet.values():
                    break
                at = said == quiet[consume]
                known.add((at, queue[number + 1 :]))
        return frozenset(known)

    def moves(at: _Tag) -> dict[Word, _Tag]:
        found: dict[Word, _Tag] = {}
        for said in (cancel, quiet[cancel]) if at.held else (consume, quiet[consume]):
            servers = after(at.servers, said)
            if servers:
                found[said] = _Tag(not at.held, servers, at.told)
        for reply, asked in answer.items():
            servers = closed(frozenset([(asked == consume, queue[1:]) for _, queue in at.servers if queue[:1] == (asked,)]))
            if servers:
                found[reply] = at._replace(servers=servers)
        active = frozenset([each for each in at.servers if each[0]])
        if active:
            found[deliver] = at._replace(servers=active)
            if notified:
                gone = closed(frozenset([(False, queue) for _, queue in active]))
                found[f"{revoked} nowait"] = _Tag(any(queue[-1:] == (c,) for _, queue in gone for c in (consume, quiet[consume])), gone, at.told)
        return found

    start = _Tag(False, frozenset([(False, ())]), 0)
    return explore(start, moves, lambda at: any(not queue for _, queue in at.servers))


def delivery(settles: tuple[str, ...], recovers: tuple[str, ...] = (), name: str = "basic") -> Automaton:
    """One delivery tag: settled at most once, by a word for it or by one for all up to it; without acknowledgement never.

    `recovers` give back all that are unsettled: their tags may not be settled any more.
    """
    each = [f"client:{name}.{verb}" for verb in settles]
    return one_of(
        f"server:{name}.deliver no-ack",
        sequence(f"server:{name}.deliver", optional(one_of(*each, *[f"client:{name}.{verb}" for verb in recovers]))),
    )


def demarcation(confirms: bool = False) -> Automaton:
    """The mode of one channel: commit and rollback only behind tx.select; [RabbitMQ] confirms or transactions, not both.

    Either select may be said again.
    """
    tx = sequence("client:tx.select", repeated(one_of("client:tx.select", "client:tx.commit", "client:tx.rollback")))
    confirm = sequence("client:confirm.select", repeated(word("client:confirm.select")))
    return one_of(optional(tx), confirm) if confirms else optional(tx)


def confirmed(most: int = 2) -> Automaton:
    """[RabbitMQ] Behind confirm.select every publish is confirmed once, by ack or nack; at most `most` are not yet."""
    publish = "client:basic.publish"
    acks = one_of(counted(publish, "server:basic.ack", most))
    moves = [
        {text: to for said, to in each.items() for text in ((said, "server:basic.nack") if said != publish else (said,))}
        for each in acks.moves
    ]  # fmt: skip
    return sequence(repeated(publish), "client:confirm.select", Automaton(moves, acks.finals))


def reference(speaker: str, other: str) -> Automaton:
    """[0-9, class message] One reference of one speaker: opened, or resumed, then appended to and closed; transfers name it.

    All of them need a reference that is open, open and resume one that is not.  It is open while the other side has not refused it:
    each is answered by `ok`, which the language of the answers has.
    """
    inside = [f"{speaker}:message.{verb}" for verb in ("append", "checkpoint", "transfer by reference")]
    begun = one_of(f"{speaker}:message.open", sequence(f"{speaker}:message.resume", f"{other}:message.offset"))
    return repeated(sequence(begun, repeated(one_of(*inside)), f"{speaker}:message.close"))


def _from(first: Word, *rest: Word) -> Automaton:
    """None of `rest` comes before `first`, which comes at most once."""
    return optional(sequence(first, repeated(one_of(*rest))))
