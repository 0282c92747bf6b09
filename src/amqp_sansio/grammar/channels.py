"""Connections and channels of 0-8, 0-9 and 0-9-1, as an observer between client and server may hear them.

The texts (`texts`) say which method answers which.  In the languages here words may cross, and a
client may send before its previous request is answered ("synchronous" binds the answering side, which must answer in order).
"session-traffic" and "work" are everything that a language does not name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from amqp_sansio.grammar.algebra import answered, any_of, one_of, optional, repeated, sequence, together, words
from amqp_sansio.grammar.automaton import Automaton, Word
from amqp_sansio.grammar.connection import closed, closes, closing
from amqp_sansio.grammar.notation import Question

CLIENT: Final = "client"
SERVER: Final = "server"
BEATS: Final = ("client:connection.heartbeat", "server:connection.heartbeat")
CLIENTS: Final = ("client:protocol-header", *[f"client:connection.{each}" for each in ("start-ok", "tune-ok", "open")])
"""The client's words that open a connection without a challenge."""


def handshake(*ends: Word) -> Automaton:
    """Returns the connection up to its use; `ends` are the answers to open.

    A client may send ahead, but cannot answer a challenge that it does not know: start-ok, tune-ok and open may come before
    start, tune and open-ok, but secure-ok only after its secure.  The server sends nothing unasked.
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


def lost() -> Automaton:
    """Returns the dead end of a client that sent tune-ok ahead and is then challenged: it cannot answer any more."""
    start_ok, tune_ok, open_ = CLIENTS[1:]
    secure, secure_ok = "server:connection.secure", "client:connection.secure-ok"
    answered = repeated(words(secure, secure_ok))
    return together(
        sequence(CLIENTS[0], start_ok, repeated(secure_ok), tune_ok, optional(open_)),
        sequence("server:connection.start", repeated(secure)),
        words(CLIENTS[0], "server:connection.start"),
        sequence(start_ok, answered, tune_ok, secure),
    )


class OpenWords(NamedTuple):
    """The words on an open connection, except close."""

    client: tuple[Word, ...] = ("client:session-traffic",)
    server: tuple[Word, ...] = ("server:session-traffic",)
    redirects: bool = False


def connection(traffic: OpenWords = OpenWords()) -> Automaton:
    """Returns a whole connection: opened, used, closed by either side.

    The client may use channels from its open on, the server from its open-ok on.  Heartbeats are frames, not methods, and no
    document restricts when they may come.  Either side may close once the header was sent.
    """
    ends = ("server:connection.open-ok", "server:connection.redirect")[: 1 + traffic.redirects]
    opened = handshake(*ends)
    begun = one_of(opened.prefixes(), lost().prefixes())
    client, server = [tuple(w for w in opened.alphabet if w.startswith(who)) for who in (CLIENT, SERVER)]
    used = (_from(CLIENTS[-1], *traffic.client), _from(ends[0], *traffic.server), _from(CLIENTS[0], *BEATS, *closes()))
    spoken = together(
        begun,
        *used,
        closing(CLIENT, SERVER, (*client, *traffic.client, BEATS[0])),
        closing(SERVER, CLIENT, (*server, *traffic.server, BEATS[1])),
    )
    whole = [together(spoken, closed()), refused(traffic.client)]
    sent_on = together(handshake(ends[-1]), _from(CLIENTS[-1], *traffic.client), _from(CLIENTS[0], *BEATS))
    return one_of(*whole, sent_on) if traffic.redirects else one_of(*whole)


def refused(traffic: Iterable[Word]) -> Automaton:
    """Returns the conversations in which the server does not support the version.

    It sends its own header instead of start, and hangs up; the client's words in flight reach no reader.
    """
    client, other = words(*CLIENTS).prefixes(), "server:other-protocol-header"
    said = (CLIENTS[0], other)
    return together(
        client,
        sequence(*said),
        sequence(repeated(one_of(BEATS[1], *closes()[2:])), other),
        _from(CLIENTS[-1], *traffic),
        _from(CLIENTS[0], *BEATS, *closes()),
        closing(CLIENT, SERVER, (*CLIENTS, *traffic, BEATS[0])),
        closing(SERVER, CLIENT, (other, BEATS[1])),
    )


def channel(opens: Mapping[Word, Word]) -> Automaton:
    """Returns one channel number: opened, used, closed by either side, and so on; `opens` maps opening words to their answers.

    The client uses the channel from its open on, the server from its answer on.  Every close is answered, also one that crosses
    another; until its close-ok a side may still send what it had in flight.  The number is free when every close has its
    close-ok.
    """
    return repeated(one_of(*[_life(ask, answer) for ask, answer in opens.items()]))


def _life(ask: Word, answer: Word) -> Automaton:
    ends = closes("channel")
    early = repeated(one_of("client:work", "client:channel.close"))
    opened = sequence(answer, repeated(one_of("client:work", "server:work", *ends)))
    refused = sequence("server:channel.close", repeated(one_of("client:work", *ends)))
    return together(
        sequence(ask, early, one_of(opened, refused)),
        closing(CLIENT, SERVER, (ask, "client:work"), "channel"),
        closing(SERVER, CLIENT, (answer, "server:work"), "channel"),
        closed("channel"),
    )


def content(speaker: str) -> Automaton:
    """Returns one speaker's words on one channel: after a method with content its header, then bodies up to the size.

    Nothing else of the same speaker comes in between.
    """
    body = sequence(repeated(f"{speaker}:body"), f"{speaker}:last body")
    carried = sequence(f"{speaker}:method with content", one_of(f"{speaker}:empty header", sequence(f"{speaker}:header", body)))
    return repeated(one_of(f"{speaker}:method", carried))


class _Tag(NamedTuple):
    held: bool
    """Whether the client uses it."""
    served: bool
    """Whether the server delivers to it."""
    waiting: tuple[Word, ...]
    """The client's words that the server has not executed."""
    owed: tuple[Word, ...]
    """The answers that the server owes for the others."""


def consumer(name: str = "basic", notified: bool = False, most: int = 2) -> Automaton:
    """Returns one consumer tag; at most `most` words of the client are neither executed nor answered.

    The client may reuse a tag after cancelling it; a cancel of an unused tag is answered, too.  The server executes words in
    order, delivers between consume and cancel, and answers in order, perhaps later.  `notified`: the server may cancel, too,
    which frees the tag (RabbitMQ); a client's cancel that crosses it is still answered.
    """
    consume, cancel = f"client:{name}.consume", f"client:{name}.cancel"
    answers = {consume: f"server:{name}.consume-ok", cancel: f"server:{name}.cancel-ok"}
    revoked = (f"server:{name}.cancel", f"server:{name}.cancel nowait") if notified else ()

    def worlds(at: _Tag) -> Iterator[_Tag]:
        """Yields the states that the server may be in, depending on what it has executed."""
        yield at
        while at.waiting:
            first = at.waiting[0]
            owed = (*at.owed, answers[first]) if first in answers else at.owed
            at = _Tag(at.held, first.startswith(consume), at.waiting[1:], owed)
            yield at

    def after(told: _Tag) -> Iterator[tuple[Word, _Tag]]:
        for at in worlds(told):
            if len(at.waiting) + len(at.owed) < most:
                for ask in (cancel,) if at.held else (consume, cancel):
                    for said in (ask, f"{ask} nowait"):
                        yield said, _Tag(ask == consume, at.served, (*at.waiting, said), at.owed)
            if at.owed:
                yield at.owed[0], at._replace(owed=at.owed[1:])
            if at.served:
                yield f"server:{name}.deliver", at
                again = any(said.startswith(consume) for said in at.waiting)
                for said in revoked:
                    yield said, _Tag(at.held and again, False, at.waiting, at.owed)

    return any_of(_Tag(False, False, (), ()), after, lambda at: not at.owed and not at.waiting)


def delivery(settles: tuple[str, ...], recovers: tuple[str, ...] = ()) -> Automaton:
    """Returns one delivery tag: settled at most once, by a word for it or for all up to it; without acknowledgement, never.

    `recovers` request redelivery of everything unsettled, and may come at any time.  The documents do not say whether that
    invalidates the old tags: after it, all is legal.
    """
    each = [f"client:basic.{verb}" for verb in settles]
    recover = [f"client:basic.{verb}" for verb in recovers]
    again = repeated(one_of(*recover))
    returned = sequence(one_of(*recover), repeated(one_of(*each, *recover)))
    return sequence(
        again,
        one_of(
            sequence("server:basic.deliver no-ack", again),
            sequence("server:basic.deliver", one_of(returned, optional(sequence(one_of(*each), again)))),
        ),
    )


def demarcation(confirms: bool = False) -> Automaton:
    """Returns the mode of one channel: commit and rollback only after tx.select; [RabbitMQ] either confirms or transactions.

    Each select may be repeated.
    """
    tx = sequence("client:tx.select", repeated(one_of("client:tx.select", "client:tx.commit", "client:tx.rollback")))
    said = ("client:confirm.select", "server:basic.ack", "server:basic.nack")
    confirm = sequence("client:confirm.select", repeated(one_of(*said)))
    return one_of(optional(tx), confirm) if confirms else optional(tx)


def confirmed(most: int = 2) -> Automaton:
    """[RabbitMQ] Returns confirms: after confirm.select each publish gets one ack or nack; at most `most` are outstanding."""
    publish = "client:basic.publish"
    confirms = answered(publish, "server:basic.ack", "server:basic.nack", most=most).prefixes()  # confirms may stay outstanding
    return sequence(repeated(publish), optional(sequence("client:confirm.select", confirms)))


def reference(speaker: str) -> Automaton:
    """[0-9, class message] Returns one reference of one speaker: opened or resumed, appended to, closed; transfers name it.

    "The scope of a ref is between calls to open (or resume) and close", says the draft after 0-9, which has the same methods.
    """
    inside = [f"{speaker}:message.{verb}" for verb in ("append", "checkpoint", "transfer by reference")]
    begun = one_of(f"{speaker}:message.open", f"{speaker}:message.resume")
    return repeated(sequence(begun, repeated(one_of(*inside)), f"{speaker}:message.close"))


def _from(first: Word, *rest: Word) -> Automaton:
    """Returns conversations with `first` at most once, and none of `rest` before it."""
    return optional(sequence(first, repeated(one_of(*rest))))


_Owed: TypeAlias = tuple[tuple[Word, ...], tuple[Word, ...]]
"""The questions whose answers come in order, and those that may be answered at any time, sorted."""


def in_order(questions: Iterable[Question], most: int = 2, any_time: Collection[str] = ()) -> Automaton:
    """Returns questions and answers: answers come in the order of the questions, those to `any_time` (verbs) at any time.

    At most `most` of each kind are unanswered; methods without an answer may come at any time.  Without a bound it would not be
    a regular language.  Raises ValueError unless `most` is at least 1.
    """
    if most < 1:
        raise ValueError(f"most must be at least 1, not {most}")
    answers = {each.word: each.answers for each in questions}
    free = {ask for ask in answers if ask.partition(":")[2] in any_time}

    def after(owed: _Owed) -> Iterable[tuple[Word, _Owed]]:
        first, loose = owed
        if first:
            yield from [(reply, (first[1:], loose)) for reply in answers[first[0]]]
        for number, ask in enumerate(loose):
            yield from [(reply, (first, (*loose[:number], *loose[number + 1 :]))) for reply in answers[ask]]
        for ask, replies in answers.items():
            if not replies:
                yield ask, owed
            elif ask in free and len(loose) < most:
                yield ask, (first, tuple(sorted([*loose, ask])))
            elif ask not in free and len(first) < most:
                yield ask, ((*first, ask), loose)

    nothing: _Owed = ((), ())
    return any_of(nothing, after, lambda owed: owed == nothing)
