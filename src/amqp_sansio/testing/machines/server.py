"""A hypothesis machine that acts as a client of a server under test: it sends legal words, and sometimes illegal ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from amqp_sansio.testing.probe.dialogue import Talk
from amqp_sansio.testing.probe.plans import Plan
from amqp_sansio.testing.probe.rounds import Round
from amqp_sansio.testing.speech.expected_rule import illegal
from amqp_sansio.testing.speech.parts import Part, parts_of
from amqp_sansio.testing.speech.word_encoder import Setting


class _Exchange(NamedTuple):
    """The `exchange` of a machine as a transport."""

    exchange: Callable[[bytes], bytes | None]
    close: Callable[[], None]


class ServerMachine(RuleBasedStateMachine):
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
        self._over = False

    def connect(self) -> None:
        """Opens a new connection to a server."""
        raise NotImplementedError("override `connect`: it connects to the server")

    def exchange(self, octets: bytes) -> bytes | None:
        """Sends octets, and returns what came back."""
        raise NotImplementedError("override `exchange`: it sends octets, and returns the answer")

    def disconnect(self) -> None:
        """Ends the example."""

    @initialize(data=st.data())
    def begins(self, data: st.DataObject) -> None:
        """Opens a connection, and chooses a part of the protocol."""
        part: Part = data.draw(st.sampled_from(parts_of(self.section)), label="part")
        ServerMachine._count += 1
        prefix = f"machine-{ServerMachine._count}-"
        setting = Setting(f"{prefix}s".encode(), 1, prefix, self.user, self.password, self.virtual_host)
        self.connect()
        self._led = Round(Plan(0, part.name, ()), Talk(_Exchange(self.exchange, self.disconnect), setting))
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
        if led is None or self._over:
            return
        if led.part is None or led.state is None:
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
            lines = "\n".join(f"    {line}" for line in led.conversation(first).lines)
            raise AssertionError(f"{first.rule}: {first.text}\n{lines}")

    def teardown(self) -> None:
        """Closes the connection and ends the example."""
        if self._led is not None:
            if not self._led.talk.ended and not self._led.closed:
                self._led.talk.leave()
            self.disconnect()
