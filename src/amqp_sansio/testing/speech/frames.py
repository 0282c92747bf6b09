"""The voice of the assembly level: commands and controls as frames, legal or not."""

from __future__ import annotations

from struct import Struct
from typing import Final

from amqp_sansio.dialects import DEFAULT
from amqp_sansio.grammar.automaton import Word
from amqp_sansio.spec import message
from amqp_sansio.spec.message import DeliveryProperties
from amqp_sansio.spec.session import Flush
from amqp_sansio.testing.speech.commands import BODY, Client
from amqp_sansio.testing.speech.step import Step
from amqp_sansio.testing.speech.word_encoder import Setting, speaker_of
from amqp_sansio.wire.headers import encode_headers

HEAD: Final = Struct(">BBHBBHI")
FLAGS: Final = {"B": 8, "E": 4, "b": 2, "e": 1}
KINDS: Final = ("control", "command", "header", "body")


def frame(channel: int, kind: str, flags: str, payload: bytes) -> bytes:
    """Returns one frame with these flags ("BEbe")."""
    number = KINDS.index(kind)
    bits = sum([FLAGS[flag] for flag in flags if flag in FLAGS])
    return HEAD.pack(bits, number, HEAD.size + len(payload), 0, min(number, 1), channel, 0) + payload


class AssemblyVoice(Client):
    """Frames of message.transfer and of session.flush.

    Of a segment in several frames, the first has all octets but one, the middle ones none, and the last one the rest.
    """

    def __init__(self, setting: Setting | None = None) -> None:
        super().__init__(setting)
        self._rest = b""

    def segment(self, kind: str) -> bytes:
        """Returns the whole segment."""
        layout = DEFAULT.codec
        if kind == "control":
            return layout.encode_control(Flush(completed=True))
        if kind == "command":
            return layout.encode_command(message.Transfer("", 1, 0), False)
        return encode_headers([DeliveryProperties(routing_key=self.setting.named("q"))]) if kind == "header" else BODY

    def say(self, word: Word) -> list[Step]:
        kind, flags = word.partition(":")[2].split(" ")
        whole = self.segment(kind)
        first, last = "b" in flags, "e" in flags
        part = whole if first and last else whole[:-1] if first else whole[-1:] if last else b""
        octets = frame(self.setting.channel, kind, flags, part)
        note = f"frame [{self.setting.channel}] {kind} {flags} of {len(part)} octets"
        return [Step(speaker_of(word), octets, self.setting.channel, word=word, note=note)]
