"""Conversations in 0-8, 0-9 and 0-9-1, legal ones and others, written from the documents without a look at the rows.

They stand in conversations.txt: name, dialects and, for one that breaks a rule, the rule, code and channel of the verdict, and
"letter" where only `--strict` says so.  Below it is what is said, one frame behind the other: who, on which channel, and a
method with arguments, of which those that are left out are 0, empty or false; or `header CLASS SIZE`, `body OCTETS`,
`heartbeat`, `frame TYPE PAYLOAD`, `octets OCTETS`.  What is in capitals stands for what is below.  `!` marks the frame that
breaks the rule.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from tests.families.channels import EIGHT, NINE, ONE, Said, content

from amqp_sansio.dialects import Dialect
from amqp_sansio.spec.base import BodyContent
from amqp_sansio.wire.method_codec import MethodCodec
from amqp_sansio.wire.method_frames import put_frame

DIALECTS: Final = {"0-8": EIGHT, "0-9": NINE, "0-9-1": ONE}
CAPABILITIES: Final = (
    "publisher_confirms", "exchange_exchange_bindings", "basic.nack", "consumer_cancel_notify", "connection.blocked",
)  # fmt: skip

_OPEN: Final = (
    "C 0 protocol-header",
    "S 0 connection.start CAPABLE mechanisms=PLAIN locales=en_US",
    "C 0 connection.start-ok mechanism=PLAIN locale=en_US CAPABLE",
    "S 0 connection.tune channel-max=10 max-frame-size=8192 heartbeat-max=10",
    "C 0 connection.tune-ok channel-max=10 max-frame-size=8192 heartbeat=10",
    "C 0 connection.open virtual-host=/",
    "S 0 connection.open-ok",
)
_CHANNEL: Final = (*_OPEN, "C 1 channel.open", "S 1 channel.open-ok")
_SHORT: Final = {
    "OPEN": _OPEN,
    **{f"OPEN {count}": _OPEN[:count] for count in range(1, len(_OPEN))},
    "CHANNEL": _CHANNEL,
    "TWO CHANNELS": (*_CHANNEL, "C 2 channel.open", "S 2 channel.open-ok"),
    "CONSUMING": (*_CHANNEL, "C 1 basic.consume queue=q consumer-tag=a", "S 1 basic.consume-ok consumer-tag=a"),
    "PUBLISH": ("C 1 basic.publish routing-key=q", "C 1 header 60 3", "C 1 body 3"),
    "BYE": ("C 0 connection.close reply-code=200", "S 0 connection.close-ok"),
}


class Conversation(NamedTuple):
    """One of them.  `octet`: where what is marked begins in what its `speaker` says."""

    name: str
    said: list[Said]
    rule: str = ""
    code: int | None = None
    channel: int | None = None
    letter: bool = False
    speaker: str = ""
    octet: int = 0


def conversations() -> tuple[list[Conversation], list[Conversation]]:
    """The legal ones, and the others, each in each of its dialects."""
    legal: list[Conversation] = []
    illegal: list[Conversation] = []
    text = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
    for block in text.split("\n\n"):
        head, *lines = block.strip().splitlines()
        if not lines:
            continue
        name, names, *verdict = head.split(" | ")
        frames = [frame for each in " ".join([line.strip() for line in lines]).split("; ") for frame in _whole(each)]
        for dialect in names.split():
            found = Conversation(f"{name}, {dialect}", [_said(DIALECTS[dialect], each) for each in frames])
            if not verdict:
                legal.append(found)
                continue
            rule, code, channel, *letter = verdict
            at = next(at for at, each in enumerate(frames) if each.startswith("!"))
            speaker = frames[at][1]
            octet = sum([len(octets) for who, octets in found.said[:at] if who == speaker])
            illegal.append(Conversation(*found[:2], rule, _number(code), _number(channel), bool(letter), speaker, octet))
    return legal, illegal


def _number(text: str) -> int | None:
    return None if text == "-" else int(text)


def _whole(said: str) -> tuple[str, ...]:
    """What an abbreviation stands for."""
    word, *rest = said.split(" ")
    if word != "DELIVER":
        return _SHORT.get(said, (said,))
    tag, consumer, channel = [*rest, *("1", "a", "1")[len(rest) :]]
    method = f"basic.deliver consumer-tag={consumer} delivery-tag={tag}"
    return f"S {channel} {method}", f"S {channel} header 60 3", f"S {channel} body 3"


def _said(dialect: Dialect[MethodCodec], frame: str) -> Said:
    side, channel, verb, *words = frame.lstrip("!").split(" ")
    return "C" if side == "C" else "S", _octets(dialect, int(channel), verb, words)


def _octets(dialect: Dialect[MethodCodec], channel: int, verb: str, words: list[str]) -> bytes:
    if verb == "protocol-header":
        return dialect.header
    if verb == "header":
        return content(channel=channel, size=int(words[1]), of=int(words[0]))
    if verb == "body":
        return put_frame(3, channel, b"x" * int(words[0]))
    if verb == "heartbeat":
        return put_frame(8, channel, b"")
    if verb == "frame":
        return put_frame(int(words[0]), channel, bytes.fromhex("".join(words[1:])))
    if verb == "octets":
        return bytes.fromhex(words[0])
    kind = next(kind for kind in dialect.codec.kinds.values() if verb == kind.VERB)
    given: dict[str, object] = {}
    for word in words:
        name, _, value = word.partition("=")
        field = f"{name}_" if name in ("type", "bytes") else name.replace("-", "_")
        if name == "CAPABLE":
            properties = {"capabilities": dict.fromkeys(CAPABILITIES, True)} if dialect is ONE else {}
            given["server_properties" if verb.endswith("start") else "client_properties"] = properties
        elif name == "NOWAIT":
            given["no_wait"] = True
        elif name == "LONG":
            given["response"] = b"r" * 5000
        elif name in ("INLINE", "REFERENCE"):
            given["body"] = BodyContent(value.encode(), name == "REFERENCE")
        else:
            given[field] = _value(getattr(kind(), field), field, value)
    return put_frame(1, channel, dialect.codec.encode(kind(**given)))


def _value(default: object, field: str, value: str) -> object:
    if isinstance(default, bool):
        return value == "1"
    if field in ("mechanisms", "locales"):
        return tuple(value.split(","))
    if isinstance(default, bytes) or field in ("response", "challenge", "new_secret"):
        return value.encode()
    return value if isinstance(default, str) or not value.isdigit() else int(value)
