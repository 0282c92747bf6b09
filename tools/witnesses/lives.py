"""Holds generated conversations of a session's life at one end with the implementation, over any number of connections.

Our end is a session of `ClientConnection` or of `ServerConnection`; octets play the other end.  A word counts when our session
is afterwards in the state to which the word's row leads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Final

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.engine.session import Session
from amqp_sansio.errors import AmqpError
from amqp_sansio.grammar.algebra import without
from amqp_sansio.grammar.automaton import Word
from amqp_sansio.grammar.session import endpoint
from amqp_sansio.grammar.walks import Conversation
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import execution
from amqp_sansio.spec import session as controls
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.spec.codes import DetachCode, ErrorCode
from amqp_sansio.tables import session as rows
from amqp_sansio.tables.session import ATTACH, ATTACHED, DETACH, EXPECTED
from amqp_sansio.testing.link import Link
from amqp_sansio.testing.speech.step import Speaker
from amqp_sansio.wire.segments import frame_command, frame_control
from tools.witnesses.coverage import generated

NAME: Final = b"s"
LIVES: Final = 600
"""Seconds that the session lives while it is detached."""


class Life:
    """A session at one end, through all its attachments."""

    def __init__(self, us: Speaker) -> None:
        self.us: Final = us
        self.session: Session | None = None
        self.connection = self._open()
        self._pointed = False
        self._said = 0  # commands of the other end

    def _open(self) -> ClientConnection | ServerConnection:
        link = Link(ClientConnection(ClientConfig()), ServerConnection(ServerConfig()), strict=None)
        link.run()
        self._pointed = False
        return link.client if self.us == "client" else link.server

    @property
    def state(self) -> str:
        """The state of our session."""
        return "detached" if self.session is None else self.session.state

    def say(self, word: Word, ends: bool) -> bool:
        """Plays a word of one of the ends, or of the transport; `ends`: the session ends with this attachment.

        Returns whether our end is in the state to which the row leads.
        """
        speaker, _, verb = word.partition(":")
        who = "own" if speaker == self.us else "other" if speaker != rows.TRANSPORT else speaker
        after = rows.ENDPOINT[self.us].moves.get((self.state, speaker, verb))
        if after is None:
            return False
        try:
            _WORDS[who, verb](self, ends)
        except AmqpError:
            return False
        list(self.connection.events())
        self.connection.data_to_send()
        return self.state == after

    def _hear(self, said: Control | Command) -> None:
        channel = None if self.session is None else self.session._channel
        number = 1 if channel is None else channel.number
        layout = AMQP_0_10.codec
        if isinstance(said, Command):
            if not self._pointed:
                self._pointed = True
                self._hear(controls.CommandPoint(self._said, 0))
            self._said += 1
            octets = b"".join(frame_command(number, layout.encode_command(said, False), None, None, 65535))
        else:
            octets = frame_control(number, layout.encode_control(said))
        self.connection.receive_data(octets)
        if not isinstance(said, controls.Attach):  # answered before the next event
            list(self.connection.events())

    # --- the words ------------------------------------------------------------------------------------------------------------

    def attach(self, ends: bool) -> None:
        """Our client requests its session."""
        assert isinstance(self.connection, ClientConnection), "our server never asks"
        if self.session is None:
            self.session = self.connection.session(NAME, timeout=LIVES)
        elif self.state == "detached":
            self.session = self.connection.resume(self.session)
        else:
            self.session.attach(force=True)
        self._lives(ends)

    def attached(self, ends: bool) -> None:
        """Our server attaches the session that the other end requested."""
        assert isinstance(self.connection, ServerConnection), "our client is never asked"
        self._hear(controls.Attach(NAME))
        self.connection.next_event()
        self.session = self.connection.accept(NAME, resume=self.session, timeout=LIVES)
        self._lives(ends)

    def _lives(self, ends: bool) -> None:
        assert self.session is not None
        self.session._timeout = 0 if ends else LIVES

    def over(self, ends: bool) -> None:
        """Loses the connection; a session whose attach was unanswered is refused, and a detached one expires."""
        if self.session is not None and self.state == "detached":
            self.session.tick(0.0)
            self.session.tick(LIVES + 1.0)
        elif ends and self.state == "attaching":
            self._hear(controls.Detached(NAME, DetachCode.SESSION_BUSY))
        else:
            self.connection.receive_eof()
        list(self.connection.events())
        if not ends:
            self.connection = self._open()

    def expected(self, ends: bool) -> None:
        """The other end has received everything that we sent."""
        assert self.session is not None
        self._hear(controls.Expected(RangeSet.of(self.session._outbound.next_id)))

    def speaks(self) -> Session:
        """Returns our session, which is about to send something."""
        assert self.session is not None
        return self.session


_WORDS: Final[dict[tuple[str, str], Callable[[Life, bool], object]]] = {
    ("own", ATTACH): Life.attach,
    ("own", ATTACHED): Life.attached,
    ("own", rows.ATTACHED_AGAIN): Life.attached,
    ("own", DETACH): lambda life, _: life.speaks().detach(),
    ("own", rows.ANY_COMMAND): lambda life, _: life.speaks().send(execution.Sync()),
    ("own", rows.EXCEPTION): lambda life, _: life.speaks().fail(None, ErrorCode.INTERNAL_ERROR, ""),
    ("other", ATTACHED): lambda life, _: life._hear(controls.Attached(NAME)),
    ("other", rows.ATTACHED_AGAIN): lambda life, _: life._hear(controls.Attached(NAME)),
    ("other", rows.ANY_COMMAND): lambda life, _: life._hear(execution.Sync()),
    ("other", rows.EXCEPTION): lambda life, _: life._hear(execution.Exception_(ErrorCode.INTERNAL_ERROR)),
    ("other", EXPECTED): Life.expected,
    (rows.TRANSPORT, rows.KEPT): Life.over,
    (rows.TRANSPORT, rows.OVER): Life.over,
}


NEVER: Final[dict[Speaker, tuple[str, ...]]] = {
    "client": (f"client:{ATTACHED}", f"client:{rows.ATTACHED_AGAIN}"),
    "server": (f"server:{ATTACH}",),
}
"""Words that an end never says because of its role: one end requests a session, the other grants it."""


def conversations(us: Speaker, lengths: Iterable[int], seed: int) -> Iterator[Conversation]:
    """Yields generated conversations, each from the beginning and after a first attachment, so that it can be resumed.

    That attachment ends by itself or while our end detaches, which the grammar treats as one state.
    """
    them = "server" if us == "client" else "client"
    first = (f"{us}:{ATTACH}", f"{them}:{ATTACHED}") if us == "client" else (f"{us}:{ATTACHED}",)
    for said in generated(without(endpoint(us, them), *NEVER[us]), lengths, Random(seed)):
        yield said
        yield (*first, f"{rows.TRANSPORT}:{rows.KEPT}", *said)
        yield (*first, f"{us}:{DETACH}", f"{rows.TRANSPORT}:{rows.KEPT}", *said)


def live(us: Speaker, said: Conversation) -> tuple[Word, ...]:
    """Returns the words of a conversation as far as our end goes along."""
    life = Life(us)
    for at, word in enumerate(said):
        ending = next((each for each in said[at:] if each.startswith(rows.TRANSPORT)), "")
        if not life.say(word, ending == f"{rows.TRANSPORT}:{rows.OVER}"):
            return said[:at]
    return said
