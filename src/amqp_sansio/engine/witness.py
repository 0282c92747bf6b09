"""The witness of one conversation: hears who said what, steps the machines, and says who broke which rule."""

from __future__ import annotations

from typing import Final

from amqp_sansio.engine.contents import is_global
from amqp_sansio.engine.witness_channel import ChannelWitness
from amqp_sansio.engine.witness_connection import WHO, ConnectionWitness
from amqp_sansio.engine.witness_handshake import HandshakeWitness
from amqp_sansio.kernel.machine import Refusal
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.spec.session import Attach, Attached, Detach, Detached
from amqp_sansio.tables.connection import HANDSHAKE, SESSION, ConnectionDialogue

_FRAMING: Final = 501


class Witness(ConnectionWitness):
    """See `ConnectionWitness`: that of a conversation in sessions."""

    __slots__ = ("_channels", "_name_octets", "_sessions", "handshake")

    def __init__(self, strict: bool, limits: Limits, late: bool = False) -> None:
        super().__init__(strict, limits, HANDSHAKE, late)
        self.handshake: Final = HandshakeWitness(self.findings)
        self._channels: dict[int, ChannelWitness] = {}
        self._sessions: dict[bytes, int] = {}
        self._name_octets = 0

    # Controls.

    def connection_control(self, speaker: str, channel: int, control: Control) -> None:
        """A control of class connection."""
        self.findings.channel = None
        if channel:
            text = "controls of the connection go on channel 0"
            self.findings.letter("connection.channel", f"{control.VERB} on channel {channel}", text, ("channel 0",))
        if self._legal(speaker, control.VERB, control.VERB):
            self.handshake.hear(control)

    def session_control(self, speaker: str, channel: int, control: Control) -> None:
        """A control of class session."""
        word = WHO[speaker]
        self.findings.channel = channel
        legal = self._legal(speaker, SESSION, control.VERB) and self._in_range(channel, control.VERB)
        witness = self._channel(channel)
        if not legal:
            witness.refused(word, control)
            return
        if isinstance(control, Attach):
            self._name_octets += len(control.name or b"")
            if self._name_octets > self.findings.limits.buffered_octets:
                self._forget("limits.buffered_octets")
                witness = self._channel(channel)
            witness.attach(word, control, self.shaky, control.name in self._sessions)
        elif isinstance(control, Attached):
            if witness.attach_answered(word, control) and control.name is not None:
                self._one_transport(control.name, channel)
        elif isinstance(control, Detach):
            witness.detach(word, control)
        elif isinstance(control, Detached):
            witness.detached(word, control)
        else:
            witness.control(word, control)

    # Commands.

    def command(
        self, speaker: str, channel: int, verb: str, command: Command | None, octets: int, body: int | None = None
    ) -> tuple[bytes | None, int | None]:
        """A command with so many octets of header and body, and of body alone (None: unknown).

        The session and the id that it has, None where unknown.
        """
        self.findings.channel = channel
        legal = self._legal(speaker, SESSION, verb) and self._in_range(channel, verb)
        witness = self._channel(channel)
        if not legal:
            witness.refused(WHO[speaker], command, octets)
            return None, None
        id = witness.command(WHO[speaker], verb, command, octets, body)
        if command is not None and is_global(command):
            for other in self._channels.values():
                if other is not witness:
                    other.content.close_window()
        return witness.name, id

    def settled(self, speaker: str, channel: int) -> ChannelWitness | None:
        """The witness of a channel if no state changes by a transfer of `speaker`, as long as no control comes but those about
        completion: then `ChannelWitness.transfer` hears the next ones."""
        witness = self._channels.get(channel)
        quiet = witness is not None and channel < self.handshake.channels and witness.quiet(WHO[speaker])
        return witness if quiet and self.dialogue.quiet(WHO[speaker], SESSION) else None

    def books(self, channel: int) -> ChannelWitness | None:
        """The books of the session on a channel, for a second reader; None as long as the channel is unused."""
        return self._channels.get(channel)

    def follows(self, witness: ChannelWitness) -> bool:
        """Whether it is still the witness of its channel."""
        return self._channels.get(witness.number) is witness

    def broken_off(self, speaker: str, channel: int) -> tuple[bytes | None, int | None]:
        """A command that never came whole: the session and the id that it has.  Nobody is held to it."""
        witness = self._channels.get(channel)
        return (None, None) if witness is None else (witness.name, witness.taken(WHO[speaker]))

    def lost(self, speaker: str) -> None:
        self._late = True
        self.dialogue = ConnectionDialogue.unknown()
        for witness in self._channels.values():
            witness.lost(WHO[speaker])

    def unsettle(self) -> None:
        """The next word may be out of turn: the speakers' dialogues may stand anywhere."""
        self.dialogue = ConnectionDialogue.unknown()
        for witness in self._channels.values():
            witness.unsettle()

    def _may_end(self) -> bool:
        return self.dialogue.finished and self.dialogue.state != "closing"  # who closes behind a redirect is answered, too

    def _blame(self, who: str, word: str, verb: str, refusal: Refusal) -> None:
        state = self.dialogue.state
        rule, text = "connection.sequence", f"{verb} while the connection is {state}"
        legal = refusal.legal_for(who)
        if state in ("closing", "closed"):  # python clients answer what crossed their close
            self.findings.divergence(rule, verb, text, legal, _FRAMING, about=verb)
        else:
            self.findings.breach(rule, verb, text, legal, _FRAMING)

    def _in_range(self, channel: int, verb: str) -> bool:
        """Channels 0 to N-1 when N was agreed on; a peer that counts from 1 to N is tolerated."""
        agreed = self.handshake.channels
        if channel < agreed:
            return True
        said = f"{verb} on channel {channel}"
        text = "a channel beyond what was agreed on"
        rule, legal = "connection.tune-ok.channel-max.available-channels", (f"channels 0 to {agreed - 1}",)
        if channel == agreed:
            self.findings.letter(rule, said, text, legal)
        elif channel not in self._channels and self._late:  # the other side may have used it first
            self.findings.note(rule, f"{said}: {text}")
        elif channel not in self._channels:
            self.findings.breach(rule, said, text, legal, _FRAMING)
        return True

    def _channel(self, number: int) -> ChannelWitness:
        witness = self._channels.get(number)
        if witness is None:
            if len(self._channels) >= self.findings.limits.channels:
                self._forget("limits.channels")
            witness = self._channels[number] = ChannelWitness(self.findings, number, self._late)
        return witness

    def _forget(self, limit: str) -> None:
        """One of our limits is reached: the sessions heard so far are not followed any more."""
        self.findings.note(limit, f"more than our limit {limit}: the sessions under way are not followed any more")
        self._channels.clear()
        self._sessions.clear()
        self._name_octets = 0
        self._late = True

    def _one_transport(self, name: bytes, channel: int) -> None:
        before = self._sessions.get(name)
        old = self._channels.get(before) if before is not None and before != channel else None
        if old is not None and old.attached and old.name == name:
            text = f"the session is still attached on channel {before}"
            rule, said = "session.attach.one-transport-per-session", f"session.attached of {name[:80]!r}"
            self.findings.divergence(rule, said, text, (f"session.detached on channel {before}",))
        self._sessions[name] = channel
        if len(self._sessions) > self.findings.limits.sessions:
            del self._sessions[next(iter(self._sessions))]
