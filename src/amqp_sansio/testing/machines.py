"""State machines of hypothesis that test a server or a client: subclass one and give it a transport (extra `[testing]`).

One acts as the server of a client under test, the other as a client of a server: it sends legal words, and sometimes illegal
ones.
"""

from __future__ import annotations

from typing import ClassVar

from amqp_sansio.errors.extras import of_extra
from amqp_sansio.grammar.automaton import START, Word
from amqp_sansio.spec import session as s
from amqp_sansio.testing.probe.dialogue import Dialogue
from amqp_sansio.testing.probe.plans import ProbePlan
from amqp_sansio.testing.probe.rounds import Round
from amqp_sansio.testing.speech.blame import blamed, illegal
from amqp_sansio.testing.speech.parts import PARTS, Part, parts_of
from amqp_sansio.testing.speech.step import Conversation, Step
from amqp_sansio.testing.speech.word_encoder import AttachmentVoice, ConnectionVoice, Setting, speaker_of

with of_extra("testing"):
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

__all__ = ["ClientMachine", "ServerMachine"]

_CONNECTION = PARTS["connection"].language
_ATTACHMENT = PARTS["session: attachment"].language


class _Machine(RuleBasedStateMachine):
    """What both machines have: the transport, which a subclass defines, and how they fail."""

    def __init__(self) -> None:
        super().__init__()
        self._over = False

    def connect(self) -> None:
        """Makes a client that is about to open its connection, or connects to the server."""
        raise NotImplementedError("override `connect`: it makes a client, or connects to the server")

    def exchange(self, octets: bytes) -> bytes | None:
        """Sends octets to the other side, and returns its output."""
        raise NotImplementedError("override `exchange`: it sends octets, and returns the answer")

    def disconnect(self) -> None:
        """Ends the example."""

    def teardown(self) -> None:
        """Ends the example."""
        self.disconnect()


def _failure(rule: str, text: str, conversation: Conversation) -> AssertionError:
    lines = "\n".join(f"    {line}" for line in conversation.lines)
    return AssertionError(f"{rule}: {text}\n{lines}")


class ClientMachine(_Machine):
    """The base of a test of your client: define its transport, and let pytest run `YourMachine.TestCase`.

    * `connect()` makes a client that is about to open a connection, and perhaps a session; after that it may do anything.
    * `exchange(octets)` passes it these octets (none: only listens) and returns its output: b"" when there was none, None when
      it has hung up and nothing is left.

    The client must follow the grammars of connection and session, and satisfy an observer; when the server breaks a rule of the
    connection, the client must end it.  A violation fails the example and shows the conversation.
    """

    def __init__(self) -> None:
        super().__init__()
        self._setting = Setting()
        self._talk = Dialogue(self.exchange, self._setting, "server")
        self._talk.listener = self._hear
        self._connection: int | None = START
        self._session: int | None = START
        self._wrong: str = ""

    @initialize()
    def begins(self) -> None:
        """Lets the client open its connection."""
        self.connect()
        self._say()

    @rule(number=st.integers(0, 63))
    def says(self, number: int) -> None:
        """Sends the next legal word, or listens when there is none."""
        if self._over:
            return
        words = [word for word in _CONNECTION.legal(self._connection or 0) if self._speaks(word)]
        if self._open:
            words = [word for word in words if not word.endswith("session-traffic")]
            words += [word for word in _ATTACHMENT.legal(self._session or 0) if self._answers(word)]
        self._say(*[self._step(words[number % len(words)])] if words else ())

    @rule(number=st.integers(0, 63))
    def breaks_a_rule(self, number: int) -> None:
        """Sends an illegal word, after which the client must end the connection."""
        if self._over or self._connection is None or not self._talk.octets["client"]:
            return
        legal = _CONNECTION.legal(self._connection)
        words = [word for word in _CONNECTION.alphabet if self._speaks(word) and word not in legal]
        words = [word for word in words if not word.endswith(("session-traffic", "protocol-header"))]
        if not words:
            return
        step = self._step(words[number % len(words)])
        found = blamed([*self._talk.steps, step])
        if found is None or found[0] < len(self._talk.steps) or not found[1].must:
            return
        self._wrong = found[1].rule
        said = len(self._talk.steps)
        self._connection = self._session = None
        self._say(step)
        for _ in range(3):
            if self._ended(said + 1):
                self._over = True
                return
            self._say()
        raise self._failure(found[1].rule, "the client lets it pass; expected: connection.close, or the end of the connection")

    # --- steps sent and received ----------------------------------------------------------------------------------------------

    def _ended(self, since: int) -> bool:
        """Returns whether the client has hung up, or closed the connection since that step."""
        return self._over or any(each.verb == "connection.close" for each in self._talk.steps[since:])

    @property
    def _open(self) -> bool:
        return any(step.verb == "connection.open-ok" for step in self._talk.steps)

    def _speaks(self, word: Word) -> bool:
        """Returns whether this server says the word: never those of another version or another host."""
        return speaker_of(word) == "server" and not word.endswith(("other-protocol-header", "redirect", "secure"))

    def _answers(self, word: Word) -> bool:
        """Returns whether the word answers the client: sessions are attached and detached on its request only."""
        asked = next((step.verb for step in reversed(self._talk.steps) if step.verb.startswith("session.")), "")
        wanted = {"session.attach": "server:session.attached", "session.detach": "server:session.detached"}
        return word == wanted.get(asked)

    def _step(self, word: Word) -> Step:
        known = word in _ATTACHMENT.alphabet
        voice = AttachmentVoice(self._setting) if known else ConnectionVoice(self._setting)
        return voice.say(word)[0]

    def _say(self, *steps: Step) -> None:
        """Sends the steps, if any, and takes what the client sends by then."""
        self._talk.say(*steps)
        self._talk.listen()
        self._talk.heard_all()
        if self._talk.accused:
            raise self._failure(self._talk.accused[0].rule, f"the client: {self._talk.accused[0].text}")
        self._over = self._over or self._talk.ended

    def _hear(self, step: Step) -> None:
        if isinstance(step.said, s.Attach) and step.speaker == "client":
            self._setting = Setting(step.said.name or b"", step.channel)
        self._connection = self._moved("connection", self._connection, ConnectionVoice(self._setting).hear(step), step)
        self._session = self._moved("session: attachment", self._session, AttachmentVoice(self._setting).hear(step), step)
        if step.verb == "connection.close-ok":
            self._over = True

    def _moved(self, part: str, state: int | None, word: Word | None, step: Step) -> int | None:
        """Returns the state of a grammar after a step, which is this word of it; None: nothing further is defined."""
        if state is None or word is None:
            return state
        language = PARTS[part].language
        to = language.step(state, word)
        if to is None and step.speaker == "client" and not self._wrong:
            raise self._failure(f"grammar of {part}", f"legal: {', '.join(language.legal(state))}")
        return to

    def _failure(self, rule: str, text: str) -> AssertionError:
        return _failure(rule, text, Conversation("client", self._talk.steps))


class ServerMachine(_Machine):
    """The base of a test of your server: define its transport, and let pytest run `YourMachine.TestCase`.

    * `connect()` opens a new connection to a server; every example begins with one.
    * `exchange(octets)` sends these octets (none: only listens) and returns what came back: b"" when nothing arrived within a
      reasonable wait, None when the server has hung up and nothing is left.

    `section` such as "tx" selects what is tested (None: everything that the server offers); `user`, `password` and
    `virtual_host` are the credentials.  A rule that the server breaks fails the example and shows the conversation.
    """

    section: ClassVar[str | None] = None
    user: ClassVar[str] = ""
    password: ClassVar[str] = ""
    virtual_host: ClassVar[str] = ""
    _count: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self._led: Round | None = None

    @initialize(data=st.data())
    def begins(self, data: st.DataObject) -> None:
        """Opens a connection, and chooses a part of the protocol."""
        part: Part = data.draw(st.sampled_from(parts_of(self.section)), label="part")
        ServerMachine._count += 1
        prefix = f"machine-{ServerMachine._count}-"
        setting = Setting(f"{prefix}s".encode(), 1, prefix, self.user, self.password, self.virtual_host)
        self.connect()
        self._led = Round(ProbePlan(0, part.name, ()), Dialogue(self.exchange, setting))
        self._over = not self._led.begin()
        self._check()

    @rule(number=st.integers(0, 63))
    def says(self, number: int) -> None:
        """Sends the next legal word, or listens to the server."""
        led = self._led
        if led is None or self._over:
            return
        choices = led.choices
        if not choices:
            self._over = True
            return
        word = choices[number % len(choices)]
        self._over = not led.step(word)
        self._check()

    @rule(number=st.integers(0, 63))
    def breaks_a_rule(self, number: int) -> None:
        """Sends an illegal word, to which the server must object, and ends the conversation."""
        led = self._led
        if led is None or self._over or led.state is None:
            return
        choices = illegal(led.part, led.state)
        if choices:
            led.wrong(choices[number % len(choices)])
            self._over = bool(led.talk.ended) or led.state is None
        self._check()

    def _check(self) -> None:
        led = self._led
        assert led is not None
        first = next((finding for finding in (*led.findings, *led.accusations) if not finding.kept), None)
        if first is not None:
            raise _failure(first.rule, first.text, led.conversation(first))

    def teardown(self) -> None:
        """Closes the connection and ends the example."""
        if self._led is not None:
            if not self._led.talk.ended and not self._led.closed:
                self._led.talk.leave()
            self.disconnect()
