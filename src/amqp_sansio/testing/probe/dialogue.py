"""One connection to the tested server or client: sends and receives steps, all of which two observers check.

`listen` processes one received frame, so that the probe can send something that crosses what the server has sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from amqp_sansio.dialects import DEFAULT
from amqp_sansio.errors import AmqpError
from amqp_sansio.events import Violation
from amqp_sansio.protocol import SIZE
from amqp_sansio.spec import connection as c
from amqp_sansio.spec import session as s
from amqp_sansio.spec.execution import Exception_, Sync
from amqp_sansio.testing.speech.blame import ObserverPair
from amqp_sansio.testing.speech.step import Speaker, Step, StepReader
from amqp_sansio.testing.speech.word_encoder import OTHER, ConnectionVoice, Setting
from amqp_sansio.wire.framing import Malformed
from amqp_sansio.wire.primitives import frame_header
from amqp_sansio.wire.segments import FRAME_HEADER_SIZE

ASIDE: Final = 1
"""The offset of the barrier's channel from that of the session."""
MOST_SILENCES: Final = 1

W = TypeVar("W")


class ProbeError(AmqpError):
    """No verdict about the server is possible: it cannot be reached, or refuses the connection."""


class Transport(Protocol):
    """A connection to the tested server.

    `exchange` sends the octets (none: only listens) and returns what came back: b"" when nothing arrived within a reasonable
    wait, None when the other side has ended the connection and nothing is left.  Whatever arrived is returned before None.
    """

    def exchange(self, octets: bytes, /) -> bytes | None: ...

    def close(self) -> None: ...


class Dialogue:
    """The dialogue on one connection.

    `steps` is all that both sides sent; `accused` holds the violations of the other side by a tolerant observer.
    """

    def __init__(self, exchange: Callable[[bytes], bytes | None], setting: Setting, own: Speaker = "client") -> None:
        """`exchange` is that of a `Transport`; `own` is the side for which this one speaks."""
        self._exchange: Final = exchange
        self.setting: Final = setting
        self.steps: Final[list[Step]] = []
        self.octets: Final = {"client": bytearray(), "server": bytearray()}
        self.accused: Final[list[Violation]] = []
        self.letter: Final[list[Violation]] = []
        """The violations of the other side that only a strict observer reports."""
        self.blamed: Final[list[Violation]] = []
        """The violations of this side itself."""
        self.ended = False
        """Whether the other side has hung up, or its octets cannot be read."""
        self.opened = 0
        self._pending = bytearray()
        self._watch: Final = ObserverPair()
        self._own: Final = own
        self._other: Final = OTHER[own]
        self._reader: Final = StepReader(self._other)
        self._asides = 0
        self._heard = 0
        self._came = bytearray()
        """Octets received and not processed yet."""
        self.listener: Callable[[Step], object] | None = None
        """A callback for every step, as it is sent or received."""

    def say(self, *steps: Step) -> None:
        """Queues steps; they are sent with the next look for an answer."""
        for step in steps:
            self._pending += step.octets
            self.octets[self._own] += step.octets
            plain, _ = self._watch.hear(self._own, step.octets)
            self.blamed.extend(plain)
            self._tell(step)

    def _tell(self, step: Step) -> None:
        self.steps.append(step)
        if self.listener is not None:
            self.listener(step)

    def listen(self) -> bool:
        """Processes the next frame; without one, sends the output and waits.  Returns False when nothing arrives."""
        if self._hear_next():
            return True
        if self.ended:
            return False
        octets, self._pending = bytes(self._pending), bytearray()
        came = self._exchange(octets)
        if came is None:
            self.ended = True
            self._hear(self._take(len(self._came)))
            return False
        self.octets[self._other] += came
        self._came += came
        self._hear_next()
        return bool(came)

    def _hear_next(self) -> bool:
        """Processes a frame, or what has arrived of the protocol header; returns False when there is none."""
        if self.ended or not self._came:
            return False
        size = SIZE - len(self._reader.header)
        if not size:
            if len(self._came) < FRAME_HEADER_SIZE:
                return False
            size = frame_header(bytes(self._came[:FRAME_HEADER_SIZE]), 0)[2]
            if size > len(self._came):
                return False
            if size < FRAME_HEADER_SIZE:
                size = len(self._came)
        self._hear(self._take(size))
        return True

    def _take(self, size: int) -> bytes:
        octets = bytes(self._came[:size])
        del self._came[:size]
        return octets

    def until(self, done: Callable[[Step], bool], silences: int = MOST_SILENCES) -> Step | None:
        """Listens until the server sends a step that is `done`, and returns it; None when it falls silent or hangs up first."""
        while True:
            while self._heard < len(self.steps):
                step = self.steps[self._heard]
                self._heard += 1
                if step.speaker == "server" and done(step):
                    return step
            if not self.listen():
                silences -= 1
                if self.ended or silences < 0:
                    return None

    def heard_all(self) -> None:
        """Processes all that has arrived, so that none of it counts as an answer to later questions."""
        while self._hear_next():
            pass
        self._heard = len(self.steps)

    def _hear(self, octets: bytes) -> None:
        side = "S" if self._other == "server" else "C"
        plain, letter = self._watch.hear(self._other, octets)
        self.accused.extend([each for each in plain if each.speaker == side])
        self.letter.extend([each for each in letter if each.speaker == side])
        for read in self._reader.read(octets):
            if isinstance(read, Malformed):
                self.ended = True  # the observers have reported what is wrong
                return
            self._tell(read)

    def open(self) -> None:
        """Opens the connection, from the protocol header to open-ok.  Raises ProbeError when that fails."""
        talker = ConnectionVoice(self.setting)
        self.say(*talker.say("client:protocol-header"))
        step = self.until(lambda step: not isinstance(step.said, bytes) or step.octets != DEFAULT.header)
        self.choose(self._wanted(step, c.Start, "no AMQP 0-10 is spoken there"))
        self.say(*talker.say("client:connection.start-ok"))
        while True:
            step = self.until(lambda _: True)
            if step is None or not isinstance(step.said, c.Secure):
                break
            self.say(*talker.say("client:connection.secure-ok"))
        self.setting.tune = self._wanted(step, c.Tune, f"the server does not let us in ({self.setting.mechanism})")
        self.say(*talker.say("client:connection.tune-ok"), *talker.say("client:connection.open"))
        self._wanted(self.until(lambda _: True), c.OpenOk, f"virtual host {self.setting.virtual_host!r} is not opened")

    def choose(self, start: c.Start) -> None:
        """Chooses a mechanism that the server offers: PLAIN with a user, else ANONYMOUS.  Raises ProbeError without one."""
        offered = tuple(start.mechanisms or ())
        wanted = ("PLAIN",) if self.setting.user else ("ANONYMOUS", "PLAIN")
        found = next((each for each in wanted if each in offered), None)
        if found is None:
            raise ProbeError(f"the server offers {', '.join(offered) or 'no mechanism'}, and we have {' and '.join(wanted)}")
        self.setting.mechanism = found
        if not self.setting.user and found == "PLAIN":
            self.setting.user = self.setting.password = "guest"

    def _wanted(self, step: Step | None, kind: type[W], otherwise: str) -> W:
        """Returns what the server has said, if it is of this kind.  Raises ProbeError otherwise."""
        if step is None:
            raise ProbeError(f"{otherwise}: {'it hung up' if self.ended else 'it does not answer'}")
        if not isinstance(step.said, kind):
            raise ProbeError(f"{otherwise}: {step.line}")
        return step.said

    def attach(self, name: bytes, channel: int, pointed: bool = True) -> None:
        """Attaches a session.  Raises ProbeError when the server refuses it."""
        self.heard_all()
        self.say(Step("client", s.Attach(name), channel))
        step = self.until(lambda step: step.channel == channel and isinstance(step.said, s.Attached | s.Detached))
        self._wanted(step, s.Attached, "the server attaches no session")
        if pointed:
            self.say(Step("client", s.CommandPoint(0, 0), channel))

    def aside(self) -> bool:
        """Asks a question on another channel, after all the steps; returns whether the server answered it."""
        channel = self.setting.channel + ASIDE
        if not self._asides:
            try:
                self.attach(self.setting.session + b"-aside", channel)
            except ProbeError:
                return False
        self._asides += 1
        self.say(Step("client", s.Flush(expected=True), channel))
        own = (s.Expected, s.Detached)
        step = self.until(
            lambda step: isinstance(step.said, c.Close) or (step.channel == channel and isinstance(step.said, own))
        )
        return step is not None and isinstance(step.said, s.Expected)

    def sync(self, id: int) -> bool:
        """Sends execution.sync as command `id` of the session; returns whether the server completed all before it, or ended the
        session."""
        channel = self.setting.channel

        def done(step: Step) -> bool:
            said = step.said
            if isinstance(said, s.Completed):
                return step.channel == channel and bool(said.commands) and id in (said.commands or ())
            return objection(step, channel) and not isinstance(said, Exception_)

        self.say(Step("client", Sync(), channel, sync=True))
        return self.until(done) is not None

    def leave(self) -> bool:
        """Closes the connection, where it is open; returns whether the server sent close-ok."""
        if self.ended:
            return False
        self.heard_all()
        self.say(*ConnectionVoice(self.setting).say("client:connection.close"))
        left = self.until(lambda step: isinstance(step.said, c.CloseOk)) is not None
        self.heard_all()
        return left


def objection(step: Step, channel: int) -> bool:
    """Returns whether the server ends something by this step, or says that it is gone."""
    said = step.said
    if isinstance(said, c.Close):
        return True
    return step.channel == channel and isinstance(said, Exception_ | s.Detached | s.Detach)
