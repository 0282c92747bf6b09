"""Words of the grammars of connection and session, as octets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from amqp_sansio.dialects import AMQP_0_10, HEADERS
from amqp_sansio.engine.observer import Observer
from amqp_sansio.events import Violation
from amqp_sansio.grammar.automaton import Word
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import connection as c
from amqp_sansio.spec import session as s
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.spec.execution import Sync
from amqp_sansio.wire.segments import frame_command, frame_control

LAYOUT: Final = AMQP_0_10.codec
NAME: Final = b"s"
NONE: Final = RangeSet()

SAYS: Final[dict[str, Control | Command]] = {
    "connection.start": c.Start({}, ("X",), ("en_US",)),
    "connection.start-ok": c.StartOk({}, "X", b"", "en_US"),
    "connection.secure": c.Secure(b"?"),
    "connection.secure-ok": c.SecureOk(b"!"),
    "connection.tune": c.Tune(100, 65535, 0, 120),
    "connection.tune-ok": c.TuneOk(100, 65535, 0),
    "connection.open": c.Open("/"),
    "connection.open-ok": c.OpenOk(),
    "connection.redirect": c.Redirect("elsewhere"),
    "connection.heartbeat": c.Heartbeat(),
    "connection.close": c.Close(200, ""),
    "connection.close-ok": c.CloseOk(),
    # The one thing of another class that is legal without a session and answered by nobody.
    "session-traffic": s.Detached(NAME, 3),
    "session.attach": s.Attach(NAME),
    "session.attached": s.Attached(NAME),
    "session.detach": s.Detach(NAME),
    "session.detached": s.Detached(NAME, 0),
    "other": s.Flush(completed=True),
    "session.flush": s.Flush(completed=True),
    "session.flush expected": s.Flush(expected=True),
    "session.gap": s.Gap(NONE),
    "session.known-completed": s.KnownCompleted(NONE),
    "session.completed": s.Completed(NONE),
    "session.confirmed": s.Confirmed(NONE),
    "command": Sync(),
}


def thing_of(verb: str, commands: int = 0) -> bytes | Control | Command:
    """What a word stands for; `commands`: how many commands its speaker has said before it."""
    if verb == "protocol-header":
        return HEADERS["0-10"]
    if verb == "other-protocol-header":
        return HEADERS["0-9-1"]
    if verb == "session.command-point":
        return s.CommandPoint(commands, 0)
    if verb == "session.expected":
        return s.Expected(RangeSet([(commands, commands)]) if commands else NONE)
    return SAYS[verb]


def octets(verb: str, commands: int = 0) -> bytes:
    """The frames of a word, on channel 0 for class connection, else on channel 1."""
    thing = thing_of(verb, commands)
    if isinstance(thing, Control):
        return frame_control(0 if verb.startswith("connection.") else 1, LAYOUT.encode_control(thing))
    if isinstance(thing, Command):
        return b"".join(frame_command(1, LAYOUT.encode_command(thing, False), None, None, 65535))
    return thing


class Watch:
    """An observer that is told words; it answers with the violations that it heard in each."""

    def __init__(self, strict: bool = False) -> None:
        self.observer: Final = Observer(strict=strict)
        self.commands: Final = {"client": 0, "server": 0}

    def say(self, word: Word) -> list[Violation]:
        """One word more."""
        speaker, _, verb = word.partition(":")
        sender = speaker if verb != "session.expected" else {"client": "server", "server": "client"}[speaker]
        self.observer.receive_data("C" if speaker == "client" else "S", octets(verb, self.commands[sender]))
        self.commands[speaker] += verb == "command"
        return [each.event for each in self.observer.events() if isinstance(each.event, Violation)]

    def tell(self, words: Iterable[Word]) -> list[Violation]:
        """All of these words."""
        return [violation for word in words for violation in self.say(word)]
