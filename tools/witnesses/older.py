"""The sections of 0-8, 0-9 and 0-9-1: the rows, restricted to a version's words, and the grammar of that version."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final

from amqp_sansio.grammar import channels
from amqp_sansio.grammar.algebra import interleaved, renamed
from amqp_sansio.grammar.automaton import Automaton, Word
from amqp_sansio.grammar.channels import in_order
from amqp_sansio.grammar.notation import Question
from amqp_sansio.kernel.machine import Table
from amqp_sansio.tables import channel as rows
from amqp_sansio.tables.channel import CLOSE, CLOSE_OK, CONFIRM, LIFE, MODE, OPEN, OPEN_REFERENCE, REFERENCE, RESUME
from amqp_sansio.tables.channel_connection import PIPELINED
from amqp_sansio.tables.connection import CLOSE_BY_CLIENT, CLOSE_BY_SERVER, HEARTBEAT
from amqp_sansio.testing.speech.channel_parts import EDITIONS, Edition
from tools.witnesses.section import Section, automaton, dialogue

_LIFE: Final = (OPEN, RESUME, CLOSE, CLOSE_OK)
_BOUNDED: Final = (
    "answers come in the order of the questions, which is regular only up to a number of them: here one, and one of those that "
    "are answered at any time, in each direction. What the observer remembers is bounded by its limits alone."
)
OTHERS: Final = {"client": "server", "server": "client"}


def only(language: Automaton, verbs: Collection[str]) -> Automaton:
    """Returns the language without methods that an edition lacks; words that are not methods stay."""

    def has(said: Word) -> bool:
        verb = said.partition(":")[2].partition(" by ")[0]
        return "." not in verb or verb in verbs or verb == HEARTBEAT

    return Automaton([{text: to for text, to in each.items() if has(text)} for each in language.moves], language.finals)


def asked_in_rows(edition: Edition) -> list[Question]:
    """Returns what is legal on an open channel according to the rows: the speaker, and the answers."""
    found: list[Question] = []
    for kind, arguments in sorted(edition.dialect.codec.arguments.items(), key=lambda each: each[0].VERB):
        verb = kind.VERB
        if verb.startswith("connection.") or verb in _LIFE or (verb in rows.ANSWERS and verb not in rows.REPLIES):
            continue
        for who in OTHERS:
            if rows.may_say(who, verb, edition.dialect.codec.extended):
                answers = [f"{OTHERS[who]}:{each}" for each in rows.REPLIES.get(verb, ()) if each in edition.verbs]
                found.append(Question(f"{who}:{verb}", tuple(answers)))
                if answers and any(name in ("nowait", "no_wait") for name, *_ in arguments):
                    found.append(Question(f"{who}:{verb} nowait", ()))
    return found


def answers(questions: Iterable[Question], any_time: Collection[str], most: int = 1) -> Automaton:
    """Returns what both sides ask and answer on one channel, with at most `most` questions of each kind unanswered."""
    asked = list(questions)
    return interleaved(
        *[in_order([each for each in asked if each.word.startswith(who)], most, any_time) for who in OTHERS]
    )  # fmt: skip


def _confirms(word: Word) -> Word:
    """Maps a word to the rows': they have one word for the server's ack and nack of publishes."""
    return f"server:{CONFIRM}" if word in ("server:basic.ack", "server:basic.nack") else word


def sections() -> list[Section]:
    """Returns the sections of every edition: its connections, channels, modes, answers and references."""
    return [each for edition in EDITIONS for each in _sections(edition)]


def _sections(edition: Edition) -> Iterator[Section]:
    def rows_of(table: Table) -> Callable[[], Automaton] | None:
        """Returns the table restricted to the edition's words, None when it has them all."""
        whole = automaton(table)
        return None if only(whole, edition.verbs).moves == whole.moves else lambda: only(whole, edition.verbs)

    yield Section(
        f"{edition.name}: connection",
        (PIPELINED, CLOSE_BY_CLIENT, CLOSE_BY_SERVER),
        lambda: channels.connection(edition.traffic),
        rows=lambda: only(dialogue(PIPELINED), edition.verbs),
    )
    yield Section(f"{edition.name}: channel", (LIFE,), lambda: channels.channel(edition.opens), rows=rows_of(LIFE))
    confirms = "confirm.select" in edition.verbs
    yield Section(
        f"{edition.name}: transactions and confirms",
        (MODE,),
        lambda: renamed(channels.demarcation(confirms), _confirms),
        rows=rows_of(MODE),
    )
    yield Section(
        f"{edition.name}: answers",
        (),
        lambda: answers(edition.asked("use-channel"), edition.grammar.any_time),
        rows=lambda: answers(asked_in_rows(edition), rows.ANY_TIME),
        reason=_BOUNDED,
    )
    if OPEN_REFERENCE in edition.verbs:
        for who in OTHERS:
            yield Section(
                f"{edition.name}: reference of the {who}",
                (REFERENCE[who],),
                lambda who=who: channels.reference(who),  # type: ignore[misc]
            )
