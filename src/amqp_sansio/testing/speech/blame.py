"""Conversations that break a rule, and the rule; an observer is the judge.

The model's named exceptions are breaches too: what a broker refuses though its order is legal.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Final, NamedTuple

from amqp_sansio.broker import conditions as why
from amqp_sansio.broker.conditions import Condition
from amqp_sansio.broker.fronts.sessions.error_column import COLUMNS, ErrorColumn
from amqp_sansio.engine.observer import Observer
from amqp_sansio.events import Violation
from amqp_sansio.grammar.automaton import Word
from amqp_sansio.spec import dtx, exchange, message, queue
from amqp_sansio.spec.base import Command
from amqp_sansio.testing.speech.parts import Part, opening
from amqp_sansio.testing.speech.step import Conversation, Step
from amqp_sansio.testing.speech.word_encoder import Setting, Voice, speaker_of


class Blame(NamedTuple):
    """The last step breaks `rule`; `codes` are the error codes that may answer it, by the letter and by deployed brokers.

    `must` is False when deployed brokers accept it, or the specification does not say what follows.
    """

    rule: str
    codes: frozenset[int]
    must: bool
    legal: tuple[str, ...]
    text: str


class ObserverPair:
    """Two observers, one of which is strict."""

    def __init__(self) -> None:
        self._observers: Final = (Observer(), Observer(strict=True))

    def hear(self, speaker: str, octets: bytes) -> tuple[list[Violation], list[Violation]]:
        """Returns the violations in octets of the "client" or the "server", as the lenient and the strict observer report
        them."""
        found: list[list[Violation]] = []
        for observer in self._observers:
            observer.receive_data("C" if speaker == "client" else "S", octets)
            found.append([each.event for each in observer.events() if isinstance(each.event, Violation)])
        return found[0], found[1]


def blamed(steps: Iterable[Step]) -> tuple[int, Blame] | None:
    """Returns the index of the first illegal step, and what it breaks; None when all is legal."""
    watch = ObserverPair()
    for number, step in enumerate(steps):
        plain, letter = watch.hear(step.speaker, step.octets)
        if plain or letter:
            first = (plain or letter)[0]
            codes = frozenset([each.code for each in (*plain[:1], *letter[:1]) if each.code])
            return number, Blame(first.rule, codes, bool(plain), first.legal, first.text)
    return None


def spoken(part: Part, words: Iterable[Word], setting: Setting | None = None, answered: Container[int] = ()) -> Conversation:
    """Returns a conversation of these words of a part, after the usual opening; does not judge it.

    The server gives the answers that it owes after the words with these indices.
    """
    voice = part.voice(setting or Setting())
    steps = [*voice.heard(opening(part.opening, voice))]
    opened = len(steps)
    for at, word in enumerate(words):
        steps += voice.heard(voice.say(word))
        if at in answered:
            steps += voice.heard(voice.feedback("server"))
    return Conversation(part.name, steps, opened)


def nearly(part: Part, words: Sequence[Word], setting: Setting | None = None) -> tuple[Conversation, Blame] | None:
    """Returns a conversation whose last word is illegal, with the rule that it breaks; None when no rule is broken."""
    said = spoken(part, words, setting)
    found = blamed(said)
    if found is None or found[0] != len(said) - 1:
        return None
    blame = found[1]
    return Conversation(said.part, said.steps, said.opened, blame.rule, blame.legal), blame


def illegal(part: Part, state: int, role: str = "client") -> tuple[Word, ...]:
    """Returns the words that one side may not say in a state of the language."""
    return tuple(
        [
            word
            for word in part.language.alphabet
            if part.language.step(state, word) is None
            and speaker_of(word) == role
            and not word.endswith("protocol-header")  # a second protocol header is not a word, but octets that are not a frame
        ]
    )


class Trespass(NamedTuple):
    """`command` is refused after `before`, because of `condition`."""

    condition: Condition
    before: Sequence[Command]
    command: Command

    @property
    def section(self) -> str:
        """The section of the probe: the class of the command."""
        return self.command.VERB.partition(".")[0]

    @property
    def column(self) -> ErrorColumn:
        """How sessions report the condition."""
        return COLUMNS[self.condition]

    @property
    def rule(self) -> str:
        """The path of the rule, or the name of the condition where the specification has no rule."""
        return self.column.rule or self.condition.name

    @property
    def blame(self) -> Blame:
        """What it breaks.  Every broker must refuse it where the specification says so, and deployed brokers do."""
        column = self.column
        must = bool(column.rule) and None not in (column.spec, column.qpid)
        return Blame(self.rule, column.codes, must, (), self.condition.name)


def trespasses(setting: Setting) -> list[Trespass]:
    """Returns all of them, with the names of a setting."""
    q, q2, x, nowhere = [setting.named(name) for name in ("q", "q2", "x", "nowhere")]
    xid, known = setting.xid(b"t"), setting.xid(b"k")
    has_queue = queue.Declare(q, exclusive=True, auto_delete=True)
    has_exchange = exchange.Declare(x, "direct", auto_delete=True)
    bound = exchange.Bind(q, "amq.fanout", "")
    subscribed = message.Subscribe(q, "d", 1, 0)
    selected = (dtx.Select(),)
    started = (*selected, dtx.Start(known))
    ended = (*started, dtx.End(known))
    return [
        Trespass(*each)
        for each in (
            (why.EXCHANGE_DECLARE_RESERVED, (), exchange.Declare("amq.nonsense", "direct")),
            (why.EXCHANGE_DECLARE_NO_TYPE, (), exchange.Declare(x, "no-such-type")),
            (why.EXCHANGE_DECLARE_OTHER_TYPE, (has_exchange,), exchange.Declare(x, "fanout", auto_delete=True)),
            (why.EXCHANGE_DECLARE_NO_ALTERNATE, (), exchange.Declare(x, "direct", nowhere)),
            (why.EXCHANGE_DECLARE_PASSIVE, (), exchange.Declare(nowhere, passive=True)),
            (why.EXCHANGE_DECLARE_ARGUMENT, (), exchange.Declare(x, "direct", auto_delete=True, arguments=STRANGE)),
            (why.EXCHANGE_DELETE_NO_EXCHANGE, (), exchange.Delete(nowhere)),
            (why.EXCHANGE_DELETE_NO_NAME, (), exchange.Delete("")),
            (
                why.EXCHANGE_DELETE_ALTERNATE,
                (exchange.Declare(x, "direct"), queue.Declare(q2, x, exclusive=True, auto_delete=True)),
                exchange.Delete(x),
            ),
            (why.EXCHANGE_DELETE_IN_USE, (has_queue, has_exchange, exchange.Bind(q, x, "k")), exchange.Delete(x, True)),
            (why.EXCHANGE_DELETE_RESERVED, (), exchange.Delete("amq.direct")),
            (why.BIND_NO_QUEUE, (has_exchange,), exchange.Bind(nowhere, x, "k")),
            (why.BIND_NO_EXCHANGE, (has_queue,), exchange.Bind(q, nowhere, "k")),
            (why.BIND_NO_QUEUE_NAME, (has_exchange,), exchange.Bind("", x, "k")),
            (why.BIND_NO_EXCHANGE_NAME, (has_queue,), exchange.Bind(q, "", "k")),
            (why.UNBIND_NO_QUEUE, (has_exchange,), exchange.Unbind(nowhere, x, "k")),
            (why.UNBIND_NO_EXCHANGE, (has_queue,), exchange.Unbind(q, nowhere, "k")),
            (why.UNBIND_NO_KEY, (has_queue, has_exchange), exchange.Unbind(q, x, "no-such-key")),
            (why.UNBIND_NO_EXCHANGE_NAME, (has_queue,), exchange.Unbind(q, "", "k")),
            (why.QUEUE_DECLARE_NO_ALTERNATE, (), queue.Declare(q, nowhere)),
            (why.QUEUE_DECLARE_PASSIVE, (), queue.Declare(nowhere, passive=True)),
            (why.QUEUE_DECLARE_ARGUMENT, (), queue.Declare(q, exclusive=True, auto_delete=True, arguments=STRANGE)),
            (why.QUEUE_DELETE_NO_NAME, (), queue.Delete("")),
            (why.QUEUE_DELETE_NO_QUEUE, (), queue.Delete(nowhere)),
            (why.QUEUE_DELETE_IN_USE, (has_queue, subscribed), queue.Delete(q, if_unused=True)),
            (why.QUEUE_DELETE_NOT_EMPTY, (has_queue, bound, PUBLISHED), queue.Delete(q, if_empty=True)),
            (why.QUEUE_PURGE_NO_NAME, (), queue.Purge("")),
            (why.QUEUE_PURGE_NO_QUEUE, (), queue.Purge(nowhere)),
            (why.TRANSFER_NO_EXCHANGE, (), message.Transfer(nowhere, 1, 0)),
            (why.SUBSCRIBE_NO_QUEUE, (), message.Subscribe(nowhere, "d", 1, 0)),
            (why.SUBSCRIBE_TWICE, (has_queue, subscribed), message.Subscribe(q, "d", 1, 0)),
            (
                why.SUBSCRIBE_EXCLUSIVE,
                (has_queue, message.Subscribe(q, "d", 1, 0, True)),
                message.Subscribe(q, "d2", 1, 0, True),
            ),
            (why.CANCEL_NO_DESTINATION, (), message.Cancel("nobody")),
            (why.FLOW_NO_DESTINATION, (), message.Flow("nobody", 0, 1)),
            (why.FLUSH_NO_DESTINATION, (), message.Flush("nobody")),
            (why.STOP_NO_DESTINATION, (), message.Stop("nobody")),
            (why.SET_FLOW_MODE_NO_DESTINATION, (), message.SetFlowMode("nobody", 0)),
            (why.DTX_START_ILLEGAL, (), dtx.Start(xid)),
            (why.DTX_START_KNOWN, ended, dtx.Start(known)),
            (why.DTX_START_JOIN_AND_RESUME, selected, dtx.Start(xid, True, True)),
            (why.DTX_START_JOIN_UNKNOWN, selected, dtx.Start(xid, join=True)),
            (why.DTX_START_RESUME_UNKNOWN, selected, dtx.Start(xid, resume=True)),
            (why.DTX_END_NOT_SELECTED, (), dtx.End(xid)),
            (why.DTX_END_ILLEGAL, selected, dtx.End(xid)),
            (why.DTX_END_SUSPEND_AND_FAIL, started, dtx.End(known, True, True)),
            (why.DTX_PREPARE_UNKNOWN, (), dtx.Prepare(xid)),
            (why.DTX_PREPARE_ASSOCIATED, started, dtx.Prepare(known)),
            (why.DTX_COMMIT_UNKNOWN, (), dtx.Commit(xid, True)),
            (why.DTX_COMMIT_ASSOCIATED, started, dtx.Commit(known, True)),
            (why.DTX_COMMIT_TWO_PHASE, ended, dtx.Commit(known, False)),
            (why.DTX_ROLLBACK_UNKNOWN, (), dtx.Rollback(xid)),
            (why.DTX_ROLLBACK_ASSOCIATED, started, dtx.Rollback(known)),
            (why.DTX_FORGET_UNKNOWN, (), dtx.Forget(xid)),
            (why.DTX_FORGET_ASSOCIATED, started, dtx.Forget(known)),
            (why.DTX_FORGET_ILLEGAL, ended, dtx.Forget(known)),
            (why.DTX_GET_TIMEOUT_UNKNOWN, (), dtx.GetTimeout(xid)),
            (why.DTX_SET_TIMEOUT_UNKNOWN, (), dtx.SetTimeout(xid, 60)),
        )
    ]


STRANGE: Final = {"no-such": "thing"}
PUBLISHED: Final = message.Transfer("amq.fanout", 1, 0)


def trespassed(each: Trespass, setting: Setting | None = None) -> Conversation:
    """Returns the conversation: the usual opening, the commands that lead there, and the refused command."""
    voice = Voice(setting or Setting())
    steps = opening("work", voice)
    opened = len(steps)
    steps += [voice.step("client", command, command.VERB) for command in (*each.before, each.command)]
    return Conversation(each.section, steps, opened, each.rule)
