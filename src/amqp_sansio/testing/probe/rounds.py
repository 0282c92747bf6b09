"""One conversation with a server: follows the plan, reads the answers, and records which rules the server followed.

A rule decides which answers are legal, to legal steps and to a step that breaks it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from amqp_sansio.broker.fronts.sessions.error_column import COLUMNS
from amqp_sansio.grammar.algebra import SILENCE
from amqp_sansio.grammar.automaton import START, Word
from amqp_sansio.spec import dtx
from amqp_sansio.spec import session as s
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.connection import Close, CloseOk, OpenOk, Redirect, Secure, Start, Tune
from amqp_sansio.spec.execution import Exception_, Result
from amqp_sansio.testing.probe.dialogue import Dialogue, objection
from amqp_sansio.testing.probe.plans import ProbePlan
from amqp_sansio.testing.speech.blame import Blame, Trespass, blamed
from amqp_sansio.testing.speech.parts import PARTS, Part
from amqp_sansio.testing.speech.step import Conversation, Step
from amqp_sansio.testing.speech.word_encoder import Voice, speaker_of, verb_of

MAY: Final = ("dtx", "file", "stream")
"""Classes that a server need not implement."""
NOT_IMPLEMENTED: Final = 540
FRAMING: Final = 501
COMMAND_INVALID: Final = 503


class Answer(NamedTuple):
    """A server's reaction to a step: "taken", "exception", "detached", "closed", "ended" or "silent", with its code."""

    kind: str
    code: int = 0
    text: str = ""

    def __str__(self) -> str:
        said = {
            "taken": "it was let pass",
            "exception": f"execution.exception {self.code}",
            "detached": f"session.detached with code {self.code}",
            "closed": f"connection.close {self.code}",
            "ended": "the server hung up",
            "silent": "no answer",
        }[self.kind]
        return f"{said}: {self.text}" if self.text else said


class ProbeVerdict(NamedTuple):
    """One rule, kept or broken in one conversation."""

    rule: str
    kept: bool
    text: str = ""


def answer_of(steps: list[Step], ended: bool, answered: bool) -> Answer:
    """Returns the server's reaction, judged by the steps that it sent."""
    for step in steps:
        said = step.said
        if isinstance(said, Close):
            return Answer("closed", said.reply_code or 0, said.reply_text or "")
        if isinstance(said, Exception_):
            return Answer("exception", said.error_code or 0, said.description or "")
        if isinstance(said, s.Detached):
            return Answer("detached", said.code or 0)
    if ended:
        return Answer("ended")
    return Answer("taken" if answered else "silent")


def judge(blame: Blame, word: str, answer: Answer) -> tuple[bool, str]:
    """Returns whether the rule permits this answer to a step that breaks it, and why not."""
    if answer.kind == "taken" and not blame.must:
        return True, "let pass, as deployed brokers do"
    allowed, expected = _allowed(blame, word, answer)
    if answer.kind == "silent":
        return False, f"no answer, not even to what the probe asked after it; expected: {expected}"
    if allowed or not blame.must:
        return True, str(answer)
    return False, f"{answer}; expected: {expected}"


def _allowed(blame: Blame, word: str, answer: Answer) -> tuple[bool, str]:
    """Returns whether the specification permits the answer, and what it permits."""
    if blame.rule.startswith("connection.") or FRAMING in blame.codes:
        frames = answer.kind == "exception" and answer.code == COMMAND_INVALID
        allowed = answer.kind in ("closed", "ended") or (frames and blame.rule.startswith("assembly."))
        return allowed, "connection.close, or the end of the connection"
    if blame.rule.startswith("session.att") and not word.endswith(":other"):
        return True, "any"  # many peers ignore attached, detach and detached that answer nothing
    if blame.rule.startswith("session."):
        return answer.kind in ("detached", "exception", "closed"), "session.detached, or execution.exception"
    wanted = codes(blame)
    allowed = answer.kind == "exception" and (not blame.codes or answer.code in wanted)
    return allowed, f"execution.exception {' or '.join(map(str, sorted(wanted)))}".rstrip()


def codes(blame: Blame) -> frozenset[int]:
    """Returns the codes that may answer it.

    For class dtx these are all that refuse the command, since several reasons may apply at once.
    """
    if not blame.rule.startswith("dtx."):
        return blame.codes
    verb = ".".join(blame.rule.split(".")[:2])
    rows = [each for each in COLUMNS.values() if each.command is not None and verb == each.command.VERB]
    return blame.codes.union(*[each.codes for each in rows])


_ANSWERED: Final[dict[Word, tuple[type[Control], ...]]] = {
    "client:protocol-header": (Start,),
    "client:connection.start-ok": (Secure, Tune),
    "client:connection.secure-ok": (Secure, Tune),
    "client:connection.open": (OpenOk, Redirect),
    "client:connection.close": (CloseOk,),
    "client:session.attach": (s.Attached, s.Detached),
    "client:session.detach": (s.Detached,),
    "client:other": (s.Expected, s.Detached),
    "client:session.flush expected": (s.Expected,),
    "client:session.flush": (s.Completed,),
}
"""The answers to each control."""


IN_TIME: Final = "server: it answers in time"
"""The rule broken by a server that does not answer before the conversation proper begins."""
_REPLIES: Final = ("file.open-ok",)
"""Words that a client says only in reply."""


_REFUSED: Final = Part("refused though its order is legal", lambda: SILENCE, Voice)
"""The part of a trespass, of which no grammar says anything."""


def taken(verb: str) -> str:
    """Returns the name of the rule that a server accepts this verb where it is legal."""
    return f"legal: {verb} is taken"


class Round:
    """One conversation of a probe.

    `findings` are complete when `run` returns; `moves` are the moves of the grammar that were made.
    """

    def __init__(self, plan: ProbePlan, talk: Dialogue, trespass: Trespass | None = None) -> None:
        self.plan: Final = plan
        self.talk: Final = talk
        self.trespass: Final = trespass
        self.part: Final = PARTS[plan.part] if trespass is None else _REFUSED
        self.voice: Final = self.part.voice(talk.setting)
        self.findings: Final[list[ProbeVerdict]] = []
        self.moves: Final[list[tuple[int, Word]]] = []
        self.words: Final[list[Word]] = []
        self.not_offered = False
        """Whether the server says that it does not implement this class."""
        self.state: int | None = START
        """The state in the grammar; None where the grammar defines nothing further."""
        self._led: int | None = START
        self._live = False
        self._refused = False
        self._crossing: Final = self.part.opening == "nothing"
        """Whether the probe sends its next step once the planned word has arrived, whatever else has."""

    @property
    def rule(self) -> str:
        """The name of the rule that the server follows the grammar of this part."""
        return f"grammar of {self.plan.part}"

    def run(self) -> None:
        """Runs the conversation.  Raises ProbeError when the server cannot be reached, or does not open a connection."""
        if self.begin():
            self._lead()
        self._live = False
        self._end()

    def begin(self) -> bool:
        """Opens the connection and prepares the conversation; returns whether it continues.

        Raises ProbeError as `run` does.
        """
        self.talk.listener = self._heard
        self.voice.foresee(self.plan.words)
        opening = self.part.opening
        if opening != "nothing":
            self.talk.open()
        if opening in ("session", "work"):
            self.talk.attach(self.talk.setting.session, self.talk.setting.channel, opening == "work")
        self._live = True
        if opening == "work":
            prepared = [step for step in self.voice.prepare() if step.speaker == "client" and step.verb not in _REPLIES]
            self.talk.say(*prepared)
        self.talk.opened = len(self.talk.steps)
        if opening == "work" and (not self._settled() or self._objected()):
            self._judge_legal("what prepares it")
            return False
        return True

    @property
    def accusations(self) -> list[ProbeVerdict]:
        """The rules that an observer saw the server break."""
        return [ProbeVerdict(each.rule, False, f"the server: {each.text or each.said}") for each in self.talk.accused]

    @property
    def hung_up(self) -> bool:
        """Whether the server has ended the connection without connection.close."""
        said = [step.said for step in self.talk.steps if step.speaker == "server"]
        return self.talk.ended and not any(isinstance(each, Close | CloseOk) for each in said)

    @property
    def closed(self) -> bool:
        """Whether the probe has closed the connection."""
        return any(step.verb == "connection.close" for step in self.talk.steps)

    @property
    def choices(self) -> tuple[Word, ...]:
        """The legal next words of the client, when the server only answers."""
        if self.state is None or self._led is None or self.talk.ended:
            return ()
        legal = self.part.client_led.legal(self._led)
        return tuple([word for word in legal if speaker_of(word) == "client" and word in self.part.language.legal(self.state)])

    def _objected(self) -> bool:
        channel = self.talk.setting.channel
        return any(step.speaker == "server" and objection(step, channel) for step in self.talk.steps)

    def _heard(self, step: Step) -> None:
        """Handles every step, as it is sent or received."""
        word = self.voice.hear(step) if step.speaker == "server" and self._live else None
        self.voice.told(step)
        if self._crossing and isinstance(step.said, Start):
            self.talk.choose(step.said)
        elif self._crossing and isinstance(step.said, Tune):
            self.talk.setting.tune = step.said
        if word is not None:
            self._go(word)

    def _go(self, word: Word) -> None:
        if self.state is None:
            return
        self.words.append(word)
        if self._led is not None:
            to = self.part.client_led.step(self._led, word)
            if to is not None:
                self.moves.append((self._led, word))
            self._led = to
        to = self.part.language.step(self.state, word)
        if to is None and speaker_of(word) == "server" and not self._refused:
            legal = ", ".join(self.part.language.legal(self.state))
            self.findings.append(ProbeVerdict(self.rule, False, f"the server says {word.partition(':')[2]}; legal: {legal}"))
        self.state = to

    # --- sending --------------------------------------------------------------------------------------------------------------

    def _lead(self) -> None:
        if self.trespass is not None:
            self._trespass(self.trespass)
            return
        pipelined = any(speaker_of(word) == "server" for word in self.part.client_led.alphabet)
        for word, after in zip(self.plan.words, (*self.plan.words[1:], None), strict=False):
            if self.state is None or self.talk.ended:
                return
            if speaker_of(word) == "client":
                if self.part.language.step(self.state, word) is None:
                    return  # the server has chosen another path
                waits = not pipelined or after is None or speaker_of(after) == "server"
                # The illegal step follows once all is received, so that what the server sent by then counts as before it.
                if not self.step(word, waits, None if self.plan.wrong else after):
                    return
            elif not self._wait(word):
                return
        if self.plan.wrong is not None:
            self.wrong(self.plan.wrong)

    def step(self, word: Word, waits: bool = True, after: Word | None = None) -> bool:
        """Sends a legal word and may give the server time to answer; returns whether the conversation continues.

        `after` is the planned word.
        """
        ahead = self.voice.ahead(word)
        if ahead:
            self.talk.say(*ahead)
            if not self._settled():
                return False
            self.talk.aside()  # deliveries may arrive after its answer
        if not waits:
            self._go(word)
            self.talk.say(*self.voice.say(word))
            return True
        if not self._crossing:
            self.talk.heard_all()
        mark = len(self.talk.steps)
        late = self.part.name == "dtx: branch"  # the result shows the outcome
        if not late:
            self._go(word)
        steps = self.voice.say(word)
        self.talk.say(*steps)
        answered = self._answered(word, after)
        if late:
            self._go(self._became(word, mark))
        answer = self._answer(mark, answered)
        verb = verb_of(word)
        return self._accepted(
            verb if "." in verb else f"{self.plan.part}: {verb}" if steps[0].verb == "octets" else steps[0].verb, answer
        )

    def _became(self, word: Word, mark: int) -> Word:
        """Returns the word that was spoken: the broker may answer a prepare of a branch without work with read-only."""
        if not word.startswith("session:prepare"):
            return word
        results = [step.said.value for step in self.talk.steps[mark:] if isinstance(step.said, Result)]
        only = any(isinstance(each, dtx.XaResult) and each.status == XaStatus.XA_RDONLY for each in results)
        return "session:prepare(read-only)" if only else "session:prepare"

    def _accepted(self, verb: str, answer: Answer) -> bool:
        ends = verb in ("connection.close", "connection.close-ok", "session.detach", "execution.exception")
        if self._lacks(answer):
            return False
        if answer.kind == "taken" or ends or (answer.kind == "detached" and answer.code == 0):
            self.findings.append(ProbeVerdict(taken(verb), True))
            return not (ends and self.talk.ended)
        self.findings.append(ProbeVerdict(taken(verb), False, str(answer)))
        self._refused = True
        return False

    def _wait(self, word: Word) -> bool:
        """Waits for a word of the server; returns whether it arrived, or an equivalent one."""
        before = len(self.words)
        if word in self.words[self._seen :]:
            self._seen = len(self.words) - self.words[::-1].index(word)
            return True
        if not self._crossing:
            for _ in range(2):  # deliveries may arrive after the answer
                if len(self.words) == before:
                    self.talk.aside()
        elif len(self.words) == before:
            self.talk.until(lambda step: objection(step, 0) or word in self.words[before:])
        return word in self.words[before:]

    _seen = 0

    # --- answers --------------------------------------------------------------------------------------------------------------

    def _answered(self, word: Word, after: Word | None) -> bool:
        """Lets the server answer; returns whether it did."""
        channel = 0 if self._crossing else self.talk.setting.channel
        mark = len(self.words)
        kinds = _ANSWERED.get(word, ())
        planned = after if self._crossing and after is not None and speaker_of(after) == "server" else None
        if not kinds and planned is None:
            return self._crossing or (self.talk.aside() if "exception" in word else self._settled())

        def answers(step: Step) -> bool:
            if planned is not None:
                return planned in self.words[mark:]
            return step.channel == channel and isinstance(step.said, kinds)

        return self.talk.until(lambda step: objection(step, channel) or answers(step)) is not None

    def _settled(self) -> bool:
        """Returns whether the server has completed every request, or has ended something."""
        if self.part.section in ("session", "assembly", "message"):
            return self.talk.aside()
        return self.talk.sync(self.voice.halves["client"].next_id)

    # --- illegal steps --------------------------------------------------------------------------------------------------------

    def wrong(self, word: Word) -> None:
        """Sends an illegal word, if it breaks a rule at all, and ends the conversation."""
        steps = self.voice.say(word)
        found = blamed([*self.talk.steps, *steps[:1]])
        if found is None or found[0] < len(self.talk.steps):
            return  # it breaks no rule, or an earlier step did
        self._answer_to(found[1], word, steps)

    def _trespass(self, each: Trespass) -> None:
        step = self.voice.step
        self.talk.say(*[step("client", command, command.VERB) for command in each.before])
        if each.before and (not self._settled() or self._objected()):
            self._judge_legal(each.before[-1].VERB)
            return
        self._answer_to(each.blame, each.command.VERB, [step("client", each.command, each.command.VERB)])

    def _judge_legal(self, verb: str) -> None:
        answer = self._answer(0, False)
        if not self._lacks(answer):
            rule = IN_TIME if answer.kind == "silent" else taken(verb)
            self.findings.append(ProbeVerdict(rule, False, str(answer)))

    def _answer_to(self, blame: Blame, word: Word, steps: list[Step]) -> None:
        self._refused = True  # from here on the grammar defines nothing
        self.state = None
        if not self._crossing:
            self.talk.heard_all()
        mark = len(self.talk.steps)
        self.talk.say(*steps[:1])
        answer = self._answer(mark, self._question())
        if not self._lacks(answer):
            kept, text = judge(blame, word, answer)
            self.findings.append(ProbeVerdict(blame.rule, kept, text))

    def _answer(self, mark: int, answered: bool) -> Answer:
        """Returns how the server has answered since a step."""
        return answer_of([step for step in self.talk.steps[mark:] if step.speaker == "server"], self.talk.ended, answered)

    def _lacks(self, answer: Answer) -> bool:
        """Returns whether the server says that it does not implement this optional section."""
        lacks = answer.kind == "exception" and answer.code == NOT_IMPLEMENTED and self.plan.part.partition(":")[0] in MAY
        self.not_offered = self.not_offered or lacks
        return lacks

    def _question(self) -> bool:
        """Asks something after an illegal step; returns whether there was an answer."""
        if self._crossing:
            channel = self.talk.setting.channel
            return self.talk.until(lambda step: objection(step, channel)) is None and not self.talk.ended
        return self._settled()

    # --- the end --------------------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        if not self._crossing or not (self.talk.ended or "client:connection.close" in self.words):
            self.talk.leave()
        self.findings.extend(self.accusations)
        spoken = not self.not_offered and any(speaker_of(word) == "server" for word in self.words)
        if spoken and all(finding.kept for finding in self.findings if finding.rule == self.rule):
            self.findings.append(ProbeVerdict(self.rule, True))

    def conversation(self, finding: ProbeVerdict | None = None) -> Conversation:
        """Returns all steps, with the rule that `finding` says they break."""
        breaks = "" if finding is None or finding.kept else finding.rule
        return Conversation(self.plan.part, self.talk.steps, self.talk.opened, breaks)
