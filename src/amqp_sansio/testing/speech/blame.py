"""Conversations that break a rule, and the rule; an observer is the judge.

The model's named exceptions are breaches too: what a broker refuses though its order is legal.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Final, NamedTuple

from amqp_sansio.broker.conditions import CONDITIONS, Condition
from amqp_sansio.broker.fronts.sessions.error_column import COLUMNS
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
    def blame(self) -> Blame:
        """What it breaks: the rule, or the condition where the specification has no rule.

        Every broker must refuse it where the specification says so, and deployed brokers do.
        """
        column, name = COLUMNS[self.condition], self.condition.name
        must = bool(column.rule) and None not in (column.spec, column.qpid)
        return Blame(column.rule or name, column.codes, must, (), name)


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
        Trespass(CONDITIONS[f"{command.VERB}: {fault}"], before, command)
        for fault, before, command in (
            ("reserved name", (), exchange.Declare("amq.nonsense", "direct")),
            ("no such type", (), exchange.Declare(x, "no-such-type")),
            ("other type", (has_exchange,), exchange.Declare(x, "fanout", auto_delete=True)),
            ("no such alternate", (), exchange.Declare(x, "direct", nowhere)),
            ("no such exchange", (), exchange.Declare(nowhere, passive=True)),
            ("unknown argument", (), exchange.Declare(x, "direct", auto_delete=True, arguments=STRANGE)),
            ("no such exchange", (), exchange.Delete(nowhere)),
            ("empty name", (), exchange.Delete("")),
            (
                "in use as alternate",
                (exchange.Declare(x, "direct"), queue.Declare(q2, x, exclusive=True, auto_delete=True)),
                exchange.Delete(x),
            ),
            ("has bindings", (has_queue, has_exchange, exchange.Bind(q, x, "k")), exchange.Delete(x, True)),
            ("predeclared exchange", (), exchange.Delete("amq.direct")),
            ("no such queue", (has_exchange,), exchange.Bind(nowhere, x, "k")),
            ("no such exchange", (has_queue,), exchange.Bind(q, nowhere, "k")),
            ("empty queue name", (has_exchange,), exchange.Bind("", x, "k")),
            ("empty exchange name", (has_queue,), exchange.Bind(q, "", "k")),
            ("no such queue", (has_exchange,), exchange.Unbind(nowhere, x, "k")),
            ("no such exchange", (has_queue,), exchange.Unbind(q, nowhere, "k")),
            ("no such binding", (has_queue, has_exchange), exchange.Unbind(q, x, "no-such-key")),
            ("empty exchange name", (has_queue,), exchange.Unbind(q, "", "k")),
            ("no such alternate", (), queue.Declare(q, nowhere)),
            ("no such queue", (), queue.Declare(nowhere, passive=True)),
            ("unknown argument", (), queue.Declare(q, exclusive=True, auto_delete=True, arguments=STRANGE)),
            ("empty name", (), queue.Delete("")),
            ("no such queue", (), queue.Delete(nowhere)),
            ("has consumers", (has_queue, subscribed), queue.Delete(q, if_unused=True)),
            ("has messages", (has_queue, bound, PUBLISHED), queue.Delete(q, if_empty=True)),
            ("empty name", (), queue.Purge("")),
            ("no such queue", (), queue.Purge(nowhere)),
            ("no such exchange", (), message.Transfer(nowhere, 1, 0)),
            ("no such queue", (), message.Subscribe(nowhere, "d", 1, 0)),
            ("destination in use", (has_queue, subscribed), message.Subscribe(q, "d", 1, 0)),
            (
                "queue in use",
                (has_queue, message.Subscribe(q, "d", 1, 0, True)),
                message.Subscribe(q, "d2", 1, 0, True),
            ),
            ("no such destination", (), message.Cancel("nobody")),
            ("no such destination", (), message.Flow("nobody", 0, 1)),
            ("no such destination", (), message.Flush("nobody")),
            ("no such destination", (), message.Stop("nobody")),
            ("no such destination", (), message.SetFlowMode("nobody", 0)),
            ("no dtx.select", (), dtx.Start(xid)),
            ("branch is known", ended, dtx.Start(known)),
            ("join and resume", selected, dtx.Start(xid, True, True)),
            ("join of an unknown branch", selected, dtx.Start(xid, join=True)),
            ("resume of an unknown branch", selected, dtx.Start(xid, resume=True)),
            ("no dtx.select", (), dtx.End(xid)),
            ("no branch", selected, dtx.End(xid)),
            ("suspend and fail", started, dtx.End(known, True, True)),
            ("unknown branch", (), dtx.Prepare(xid)),
            ("still associated", started, dtx.Prepare(known)),
            ("unknown branch", (), dtx.Commit(xid, True)),
            ("still associated", started, dtx.Commit(known, True)),
            ("not prepared, two phases", ended, dtx.Commit(known, False)),
            ("unknown branch", (), dtx.Rollback(xid)),
            ("still associated", started, dtx.Rollback(known)),
            ("unknown branch", (), dtx.Forget(xid)),
            ("still associated", started, dtx.Forget(known)),
            ("wrong state", ended, dtx.Forget(known)),
            ("unknown branch", (), dtx.GetTimeout(xid)),
            ("unknown branch", (), dtx.SetTimeout(xid, 60)),
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
    return Conversation(each.section, steps, opened, each.blame.rule)
