"""Encodes words of the older grammars as frames of one connection, with consistent arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias

from amqp_sansio.dialects import HEADERS, ChannelDialect
from amqp_sansio.grammar.automaton import Word
from amqp_sansio.spec.base import BodyContent
from amqp_sansio.wire.method_frames import CONTENT_BODY, CONTENT_HEADER, HEARTBEAT, METHOD, put_frame

Side: TypeAlias = Literal["C", "S"]
SIDES: Final[dict[str, Side]] = {"client": "C", "server": "S"}

ABLE: Final = ("publisher_confirms", "exchange_exchange_bindings", "basic.nack", "consumer_cancel_notify", "connection.blocked")
"""The capabilities that both sides announce."""
TAG: Final = "t"
"""The consumer that settles its deliveries."""
FREE: Final = "free"
"""The consumer whose deliveries need no settling."""
NAME: Final = b"r"
"""The name of the reference."""
_OPENING: Final = (
    *("client:protocol-header", "server:connection.start", "client:connection.start-ok", "server:connection.tune"),
    *("client:connection.tune-ok", "client:connection.open", "server:connection.open-ok"),
)
_CONTENT: Final = {"client": "basic.publish", "server": "basic.return"}


class Spoken(NamedTuple):
    """What one side sends: the word of the grammar ("" for none), and the octets."""

    side: Side
    word: Word
    octets: bytes


class ChannelVoice:
    """Speaks for both sides of one connection; methods of a channel are on channel 1."""

    __slots__ = ("_channels", "_confirmed", "_delivered", "_dialect", "_kinds", "_publishes")

    def __init__(self, dialect: ChannelDialect, publishes: bool = False) -> None:
        """`publishes`: send a message wherever the server confirms one."""
        self._publishes: Final = publishes
        self._dialect: Final = dialect
        self._kinds: Final = {kind.VERB: (code, kind) for code, kind in dialect.codec.methods.kinds.items()}
        self._channels = 0
        self._delivered = 0
        self._confirmed = 0

    def opening(self, *words: Word) -> list[Spoken]:
        """Returns a connection up to its use, and these words."""
        return [each for word in (*_OPENING, *words) for each in self.say(word)]

    def say(self, word: Word, ahead: Sequence[Word] = ()) -> list[Spoken]:
        """Returns a word, and what must come before it; `ahead`: the words that follow, which determine a content's size."""
        speaker, _, said = word.partition(":")
        found: list[Spoken] = []
        if self._publishes and word in ("server:basic.ack", "server:basic.nack"):
            found += self.say("client:basic.publish")  # otherwise nothing could be confirmed
        return [*found, Spoken(SIDES[speaker], word, self._octets(speaker, said, ahead))]

    def _octets(self, speaker: str, said: str, ahead: Sequence[Word]) -> bytes:
        if said == "protocol-header":
            return self._dialect.header
        if said == "other-protocol-header":
            return HEADERS["1.0"]
        if said == "connection.heartbeat":
            return put_frame(HEARTBEAT, 0, b"")
        if said == "session-traffic" and speaker == "client":
            self._channels += 1
            return self.method("channel.open", channel=self._channels)
        if said in ("session-traffic", "method"):
            return self.method("channel.flow")
        if said == "work":
            return self.method(_CONTENT[speaker]) + self.header(_CONTENT[speaker], 0)
        if said == "method with content":
            return self.method(_CONTENT[speaker])
        if said.endswith("header"):
            return self.header("basic.publish", 0 if said.startswith("empty") else _size(speaker, ahead))
        if said.endswith("body"):
            return put_frame(CONTENT_BODY, 1, b"m")
        verb, _, how = said.partition(" ")
        octets = self.method(verb, self._arguments(speaker, verb, how))
        return octets + self.header(verb, 0) if verb in self._dialect.codec.methods.contents else octets

    def _arguments(self, speaker: str, verb: str, how: str) -> dict[str, object]:
        if verb == "connection.start":
            able = {"capabilities": dict.fromkeys(ABLE, True)}
            return {"mechanisms": ("PLAIN",), "locales": ("en_US",), "server_properties": able}
        if verb == "connection.start-ok":
            return {"mechanism": "PLAIN", "client_properties": {"capabilities": dict.fromkeys(ABLE, True)}}
        if how == "by reference":
            return {"body": BodyContent(NAME, True)}
        told: dict[str, object] = {"reference": NAME, "consumer_tag": FREE if how in ("free", "no-ack") else TAG}
        told["no_ack"] = how == "free"
        told["nowait"] = told["no_wait"] = how == "nowait"
        told["multiple"] = how == "multiple"
        if verb.endswith(".deliver"):
            self._delivered += 1
            told["delivery_tag"] = self._delivered
        elif speaker == "server":
            self._confirmed += verb in ("basic.ack", "basic.nack")
            told["delivery_tag"] = self._confirmed
        else:
            told["delivery_tag"] = 1
        fields = self._kinds[verb][1].FIELDS
        return {name: value for name, value in told.items() if name in fields}

    def method(self, verb: str, said: Mapping[str, object] = MappingProxyType({}), channel: int = 1) -> bytes:
        """Returns the frame of a method; arguments default to 0, empty or false; those of class connection use channel 0."""
        kind = self._kinds[verb][1]
        payload = self._dialect.codec.methods.encode(kind(**said))
        return put_frame(METHOD, 0 if verb.startswith("connection.") else channel, payload)

    def header(self, verb: str, size: int) -> bytes:
        """Returns the content header after a method."""
        class_code = self._kinds[verb][0] >> 16
        return put_frame(CONTENT_HEADER, 1, class_code.to_bytes(2, "big") + b"\0\0" + size.to_bytes(8, "big") + b"\0\0")


def _size(speaker: str, ahead: Sequence[Word]) -> int:
    """Returns the octets of the bodies that follow, one each; one more when the last one is not among them."""
    count = 0
    for word in ahead:
        if word == f"{speaker}:last body":
            return count + 1
        count += word == f"{speaker}:body"
    return count + 2
