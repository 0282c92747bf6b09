"""Turns words into steps: one voice for each part of the protocol, with the memory that its grammar leaves out.

A voice learns every step, sent or received, so that ids, ranges and names are consistent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

import attrs

from amqp_sansio.dialects import DEFAULT
from amqp_sansio.grammar.automaton import Word
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.ledger.ids import Ids
from amqp_sansio.spec import connection as c
from amqp_sansio.spec import session as s
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.spec.dtx import GetTimeoutResult, RecoverResult, XaResult, Xid
from amqp_sansio.spec.exchange import ExchangeBoundResult, ExchangeQueryResult
from amqp_sansio.spec.execution import Result, Sync
from amqp_sansio.spec.message import Acquired, MessageResumeResult
from amqp_sansio.spec.queue import Declare, QueueQueryResult
from amqp_sansio.testing.speech.step import Said, Speaker, Step

NONE: Final = RangeSet()
OTHER: Final[dict[Speaker, Speaker]] = {"client": "server", "server": "client"}
RESULTS: Final[dict[str, Struct]] = {
    "message.acquired": Acquired(NONE),
    "message.message-resume-result": MessageResumeResult(0),
    "dtx.xa-result": XaResult(0),
    "dtx.get-timeout-result": GetTimeoutResult(60),
    "dtx.recover-result": RecoverResult(()),
    "exchange.exchange-query-result": ExchangeQueryResult("direct"),
    "exchange.exchange-bound-result": ExchangeBoundResult(),
    "queue.queue-query-result": QueueQueryResult("q", message_count=0, subscriber_count=0),
}
"""A result of every type."""

AMQP: Final = DEFAULT.header
OLDER: Final = AMQP[:4] + bytes((0, 0, 9, 1))
"""A protocol header of an older version."""


_TUNE: Final = c.Tune(255, 65535, 0, 120)


@attrs.define(eq=False, repr=False)
class Setting:
    """Names that a voice uses: the session, its channel, and the prefix of queue and exchange names; and its login."""

    session: bytes = b"s"
    channel: int = 1
    prefix: str = ""
    user: str = ""
    password: str = ""
    virtual_host: str = ""
    mechanism: str = "ANONYMOUS"
    tune: c.Tune = _TUNE

    def named(self, name: str) -> str:
        """Returns a name for a queue or exchange."""
        return self.prefix + name

    def xid(self, branch: bytes) -> Xid:
        """Returns a branch of the session."""
        return Xid(1, self.prefix.encode() + self.session, branch)


class Voice:
    """The memory of one session: the commands of each side, and the results and completions owed.

    `say` returns the steps of a word, `hear` the word of a step (None when it is not about this part).  The caller passes every
    step to `told` once it is sent; `say` changes nothing.
    """

    asks: ClassVar[tuple[type[Command], ...]] = ()
    """The commands that ask for their completion (sync)."""

    def __init__(self, setting: Setting) -> None:
        self.setting: Final = setting
        self.q: Final = self.setting.named("q")
        """The name of the queue that most words are about."""
        self.halves: Final[dict[Speaker, Ids]] = {"client": Ids(), "server": Ids()}
        """The commands of each side on the session's channel."""

    def foresee(self, words: Sequence[Word]) -> None:
        """Takes the planned words of both sides: some answers of the server need preparation."""

    def ahead(self, word: Word) -> list[Step]:
        """Returns the client's steps before a word, which must be complete for the plan to work out."""
        return []

    def table(self, who: Speaker) -> Mapping[str, Said]:
        """Returns what one side says now, by its words without the speaker."""
        return {}

    def say(self, word: Word) -> list[Step]:
        """Returns the steps of a word.  Raises KeyError for a word that the part lacks."""
        who = speaker_of(word)
        said = self.table(who)[verb_of(word)]
        return [self.step(who, said, word, sync=isinstance(said, self.asks))]

    def hear(self, step: Step) -> Word | None:
        """Returns the word of the other side's step."""
        return None

    def prepare(self) -> list[Step]:
        """Returns the steps of both sides between the opening and the first word."""
        return []

    def told(self, step: Step) -> None:
        """Records a step."""
        speaker, said = step.speaker, step.said
        if step.channel != self.setting.channel:
            return
        own, other = self.halves[speaker], self.halves[OTHER[speaker]]
        if isinstance(said, s.Attached):
            self.halves.update({"client": Ids(), "server": Ids()})
        elif isinstance(said, s.KnownCompleted):
            own.known.clear()
        elif isinstance(said, s.Completed) and said.commands:
            other.known.update(other.complete(said.commands))
        elif isinstance(said, Command):
            if isinstance(said, Result) and said.command_id is not None:
                other.awaited.pop(said.command_id, None)
            id = own.take()
            if said.RESULT:
                own.awaited[id] = said.RESULT

    def heard(self, steps: Sequence[Step]) -> Sequence[Step]:
        """Records steps, and returns them."""
        for step in steps:
            self.told(step)
        return steps

    # --- building blocks ------------------------------------------------------------------------------------------------------

    def step(self, speaker: Speaker, said: Said, word: Word = "", **more: object) -> Step:
        """Returns a step on the session's channel, or on channel 0 for controls of class connection."""
        on_zero = isinstance(said, bytes) or said.VERB.startswith("connection.")
        return Step(speaker, said, 0 if on_zero else self.setting.channel, word=word, **more)  # type: ignore[arg-type]

    def feedback(self, speaker: Speaker) -> list[Step]:
        """Returns the answers of `speaker`: the results that it owes, then the completion of all commands."""
        other = OTHER[speaker]
        steps = [self.step(speaker, Result(id, self.result(name))) for id, name in self.halves[other].awaited.items()]
        done = self.ids(other)
        if done:
            steps.append(self.step(speaker, s.Completed(done)))
        return steps

    def result(self, name: str) -> Struct:
        """Returns the result of that name."""
        return RESULTS[name]

    def ids(self, of: Speaker) -> RangeSet:
        """Returns the ids of a side's commands that known-completed has not named."""
        return self.halves[of].outstanding.freeze() | self.halves[of].known.freeze()

    def queue(self) -> Step:
        """Returns the declaration of a queue that is deleted with the session."""
        return self.step("client", Declare(self.q, exclusive=True, auto_delete=True))


def speaker_of(word: Word) -> Speaker:
    """Returns the speaker of a word.

    Recipients of transfers and sessions of a branch are clients here, senders of transfers are the server.
    """
    return "server" if word.partition(":")[0] in ("server", "sender", "clock", "administrator") else "client"


def verb_of(word: Word) -> str:
    """Returns a word without its speaker."""
    return word.partition(":")[2]


def by_verb(*said: Control | Command) -> dict[str, Said]:
    """Returns controls and commands by their verbs."""
    return {each.VERB: each for each in said}


class ConnectionVoice(Voice):
    """Class connection."""

    def table(self, who: Speaker) -> Mapping[str, Said]:
        setting, tune = self.setting, self.setting.tune
        plain = b"\0".join([b"", setting.user.encode(), setting.password.encode()])
        response = plain if setting.mechanism == "PLAIN" else b""
        heartbeat = None if tune.heartbeat_min is None else 0
        return CONNECTION | by_verb(
            c.StartOk({}, setting.mechanism, response, "en_US"),
            tune,
            c.TuneOk(tune.channel_max, tune.max_frame_size or 65535, heartbeat),
            c.Open(setting.virtual_host),
        )

    def hear(self, step: Step) -> Word | None:
        """Returns the word of a protocol header, a control of the class, or traffic."""
        said = step.said
        if isinstance(said, bytes):
            return f"{step.speaker}:protocol-header" if said == AMQP else f"{step.speaker}:other-protocol-header"
        verb = said.VERB
        return f"{step.speaker}:{verb if verb.startswith('connection.') else 'session-traffic'}"


CONNECTION: Final[dict[str, Said]] = {
    "protocol-header": AMQP,
    "other-protocol-header": OLDER,
    # The only thing of another class that is legal without a session and needs no answer.
    "session-traffic": s.Detached(b"s", 3),
    **by_verb(
        c.Start({}, ("ANONYMOUS", "PLAIN"), ("en_US",)),
        c.Secure(b"?"),
        c.SecureOk(b"!"),
        c.OpenOk(),
        c.Redirect("127.0.0.1:5673"),
        c.Heartbeat(),
        c.Close(200, ""),
        c.CloseOk(),
    ),
}


class AttachmentVoice(Voice):
    """Class session: attach, attached, detach, detached."""

    _asked = ""

    def told(self, step: Step) -> None:
        super().told(step)
        if isinstance(step.said, s.Attach | s.Detach):
            self._asked = step.verb

    def table(self, who: Speaker) -> Mapping[str, Said]:
        name = self.setting.session
        detached = s.Detached(name, 1 if self._asked == "session.attach" else 0)
        return {
            "other": s.Flush(expected=True) if who == "client" else s.Flush(completed=True),
            **by_verb(s.Attach(name), s.Attached(name), s.Detach(name), detached),
        }

    def hear(self, step: Step) -> Word | None:
        if isinstance(step.said, bytes) or step.verb.startswith("connection.") or step.channel != self.setting.channel:
            return None
        return f"{step.speaker}:{step.verb if step.verb in self.table('client') else 'other'}"


class StreamVoice(Voice):
    """Class session: commands, and the feedback to them."""

    def table(self, who: Speaker) -> Mapping[str, Said]:
        own, other = self.halves[who], OTHER[who]
        expected = self.halves[other].next_id
        return {
            **by_verb(
                s.CommandPoint(own.next_id, 0),
                s.Expected(RangeSet.of(expected) if expected else NONE),
                s.Completed(self.ids(other)),
                s.Confirmed(self.ids(other)),
                s.KnownCompleted(own.known.freeze()),
                s.Flush(confirmed=True, completed=True),
                s.Gap(NONE),
            ),
            "session.flush expected": s.Flush(expected=True),
            "command": Sync(),
        }

    def hear(self, step: Step) -> Word | None:
        said = step.said
        if step.channel != self.setting.channel:
            return None
        if isinstance(said, Command):
            return f"{step.speaker}:command"
        if isinstance(said, s.Flush) and said.expected:
            return f"{step.speaker}:session.flush expected"
        return f"{step.speaker}:{step.verb}" if step.verb in self.table("client") else None
