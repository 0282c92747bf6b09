"""Checks whether tshark finds in a capture what we find: every frame, and every field of every control, command and header.

A field agrees when tshark shows one of its name, at its position, with its octets, and with its value if it shows one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import attrs

from amqp_sansio.captures.conversation import LocatedEvent, observers
from amqp_sansio.captures.flows import AmqpFlow, Listener
from amqp_sansio.captures.reader import read_packets
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.events.observed import CommandSeen, ControlSeen, FrameSeen
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.spec.message import ReplyTo
from amqp_sansio.spec.values import Map, UnknownStruct
from amqp_sansio.wire.encoding import encode_map
from amqp_sansio.wire.layouts.fields import FIELDS
from amqp_sansio.wire.layouts.structs import write_message_reply_to
from tools.interop.tshark import Shown, Tshark, TsharkFrame

LAYOUT: Final = AMQP_0_10.codec
FRAME_OCTETS: Final = 12
WHOLE: Final = 0x03
"""Flags of a frame that is a complete segment."""
BITS: Final = "bit"
NO_WORDS: Final[Mapping[tuple[str, str], str]] = MappingProxyType({})
NESTED: Final = ("amqp.struct32.class", "amqp.struct32.struct", "amqp.struct32.padding")
"""What tshark shows of a struct besides its fields."""
FRONT: Final = {
    "map": 4, "texts": 4, "array": 4, "vbin32": 4, "vbin16": 2, "str16": 2, "vbin8": 1, "str8": 1,
    "struct32": 4, "dtx.xid": 4, "message.reply-to": 2,
}  # fmt: skip
"""Octets of the length prefix of each type, which tshark shows as part of it or separately."""


INSIDE: Final = {"dtx.xid": 8, "message.reply-to": 4}
"""Octets of structs that are fields, before their first field: size, codes if any, flags."""


@attrs.frozen
class Difference:
    """A field on which we disagree: its command or struct, its name, and how."""

    verb: str
    field: str
    what: str


@attrs.define
class Comparison:
    """The result for a capture: how much was compared, and where we differ."""

    frames: int = 0
    verbs: set[str] = attrs.field(factory=set)
    """The verbs that were sent."""
    fields: set[tuple[str, str]] = attrs.field(factory=set)
    """The fields with a value, whether we agree on it or not; for maps: ("map", type code)."""
    differences: list[Difference] = attrs.field(factory=list)

    def differing(self) -> set[tuple[str, str]]:
        """The fields on which we differ."""
        return {(each.verb, each.field) for each in self.differences}


@attrs.frozen
class _Said:
    """A field that was sent: its place in the frame, and its octets."""

    name: str
    kind: str
    value: object
    start: int
    octets: bytes


@attrs.define
class _Direction:
    """What one side of one connection sent, as we decode it."""

    frames: list[tuple[int, int, FrameSeen]] = attrs.field(factory=list)
    things: dict[int, ControlSeen | CommandSeen] = attrs.field(factory=dict)


def compare(capture: Path, tshark: Tshark, words: Mapping[tuple[str, str], str] = NO_WORDS) -> Comparison:
    """Compares everything that both find in a capture.  `words` are tshark's other names, also for structs (field "")."""
    ours = _heard(capture)
    theirs: dict[tuple[int, bool], list[TsharkFrame]] = {}
    for frame in tshark.frames(capture):
        theirs.setdefault((frame.stream, frame.from_client), []).append(frame)
    comparer = _Comparer(words)
    if set(theirs) != set(ours):
        comparer.differ("", "", f"connections {sorted(ours)}, tshark: {sorted(theirs)}")
    for key in sorted(set(ours) & set(theirs)):
        comparer.direction(ours[key], theirs[key])
    return comparer.comparison


def _heard(capture: Path) -> dict[tuple[int, bool], _Direction]:
    """Returns what we hear, by number of the connection and whether it is the client."""
    found: dict[tuple[int, bool], _Direction] = {}

    def tell(talk: AmqpFlow, heard: LocatedEvent) -> None:
        number = talk.begun[0]  # its first packet
        said = heard.said
        if isinstance(said, FrameSeen | ControlSeen | CommandSeen):
            direction = found.setdefault((number, heard.speaker == "C"), _Direction())
            if isinstance(said, FrameSeen):
                direction.frames.append((heard.start, heard.end, said))
            else:
                direction.things[heard.start] = said

    listener = Listener(observers(frames=True), tell, lambda talk: None, (), lambda text: None)
    for packet in read_packets(str(capture), lambda text: None):
        listener.hear(packet)
    listener.finish()
    order = {first: index for index, first in enumerate(sorted({number for number, _ in found}))}
    return {(order[number], client): direction for (number, client), direction in found.items()}


def _said(thing: Control | Command | Struct, start: int, sync: bool) -> Iterator[_Said]:
    """Yields the fields that are present, in order, from the octet after the flags on."""
    kind = type(thing)
    values = [getattr(thing, name) for name in kind.FIELDS]
    encoded = [_encoded(kind(*values[:count]), sync) for count in range(len(values) + 1)]
    for index, (name, wire_type) in enumerate(FIELDS[kind]):
        value = values[index]
        before, behind = encoded[index], encoded[index + 1]
        octets = behind[len(before) :]
        if wire_type == BITS:
            if value:
                yield _Said(name.rstrip("_"), wire_type, True, start - 2 + index // 8, b"")
        elif value is not None:
            yield _Said(name.rstrip("_"), wire_type, value, start + len(before) - len(encoded[0]), octets)


def _encoded(thing: Control | Command | Struct, sync: bool) -> bytes:
    if isinstance(thing, Control):
        return LAYOUT.encode_control(thing)
    if isinstance(thing, ReplyTo):
        return write_message_reply_to(thing)
    return LAYOUT.encode_command(thing, sync) if isinstance(thing, Command) else LAYOUT.encode_struct32(thing)


def plain(label: str) -> str:
    """Returns a label as a name of ours: "Alternate-Exchange" becomes "alternate_exchange"."""
    return re.sub(r"\W+", "_", re.sub(r" \([^()]*\)$| \[.*\]$", "", label)).strip("_").lower()


class _Comparer:
    """Compares our observations with tshark's."""

    def __init__(self, words: Mapping[tuple[str, str], str]) -> None:
        self.words: Final = words
        self.comparison: Final = Comparison()

    def differ(self, verb: str, field: str, what: str) -> None:
        self.comparison.differences.append(Difference(verb, field, what))

    def direction(self, ours: _Direction, theirs: list[TsharkFrame]) -> None:
        """Compares one side of a connection, frame by frame."""
        if len(ours.frames) != len(theirs):
            self.differ("", "", f"{len(ours.frames)} frames, tshark: {len(theirs)}")
        begun: dict[int, int] = {}  # by channel, where the command of the following segments began
        for (start, end, frame), seen in zip(ours.frames, theirs, strict=False):
            self.comparison.frames += 1
            if frame.kind <= 1 and frame.flags & 0x02:
                begun[frame.channel] = start
            if frame.verb:
                self.comparison.verbs.add(frame.verb)
            told = (frame.kind, frame.flags, end - start, frame.channel, frame.verb or "")
            shown = (seen.kind, seen.flags, seen.size, seen.channel, seen.verb)
            if told != shown:
                self.differ(frame.verb or "", "", f"frame {told}, tshark: {shown}")
                continue
            thing = ours.things.get(begun.get(frame.channel, -1))
            if thing is not None and frame.flags & WHOLE == WHOLE:
                self._segment(thing, frame.kind, seen)

    def _segment(self, thing: ControlSeen | CommandSeen, kind: int, seen: TsharkFrame) -> None:
        if isinstance(thing, ControlSeen):
            if kind == 0 and thing.control is not None:
                self._fields(_said(thing.control, FRAME_OCTETS + 4, False), seen.fields, thing.verb)
        elif kind == 1 and thing.command is not None:
            sync = [each.value for each in seen.fields if each.name == "amqp.session.header.sync"]
            if (sync == ["1"]) is not thing.sync:
                self.differ(thing.verb, "sync", f"{thing.sync}, tshark: {sync}")
            shown = tuple(each for each in seen.fields if not each.name.startswith("amqp.session.header"))
            self._fields(_said(thing.command, FRAME_OCTETS + 6, thing.sync), shown, thing.verb)
        elif kind == 2:
            boxes = [each for each in seen.fields if each.name == "amqp.struct32"]
            structs = [struct for struct in thing.structs if not isinstance(struct, UnknownStruct)]
            if len(boxes) != len(structs):
                self.differ(thing.verb, "header", f"{len(structs)} structs, tshark: {len(boxes)}")
            for struct, box in zip(structs, boxes, strict=False):
                self._struct(struct, box)

    def _struct(self, struct: Struct, box: Shown) -> None:
        """Compares a coded struct with the box in which tshark shows it."""
        name = box.text.partition(" ")[0]
        if name != self.words.get((struct.NAME, ""), struct.NAME):
            self.differ(struct.NAME, "", f"tshark: {box.text}")
            return
        inner = tuple(each for each in box.inner if each.name not in NESTED)
        self._fields(_said(struct, box.start + 4, False), inner, struct.NAME)

    def _fields(self, said: Iterator[_Said], shown: tuple[Shown, ...], verb: str) -> None:
        left = [each for each in shown if each.label != "Size" or not each.name.endswith(("size", "Size"))]
        for field in said:
            key = (verb, field.name)
            self.comparison.fields.add(key)
            name = self.words.get(key, field.name)
            found = next((each for each in left if plain(each.label) == name and _place(field, each)), None)
            if found is None:
                labels = [(each.label, each.start) for each in left]
                self.differ(*key, f"at octet {field.start} nothing of that name; tshark: {labels}")
                continue
            left.remove(found)
            if wrong := self._wrong(field, found):
                self.differ(*key, wrong)
        for each in left:
            if each.value != "0" or each.text.lower() not in ("false", "no", "not set"):
                self.differ(verb, plain(each.label), f"tshark alone: {each.label}: {each.text}")

    def _wrong(self, field: _Said, found: Shown) -> str:
        """Returns what tshark shows differently; "" when it agrees."""
        value = field.value
        if field.kind == BITS:
            return "" if found.value in ("1", "True") else f"it is set, tshark: {found.value}"
        front = found.start - field.start
        if found.size + front != len(field.octets):
            return f"{len(field.octets)} octets, tshark: {found.size + front}"
        if isinstance(value, Map):
            return self._map(value, found)
        if field.kind == "struct32" and isinstance(value, Struct):
            self._struct(value, found)
            return ""
        if isinstance(value, Struct):
            self._fields(_said(value, field.start + INSIDE[field.kind], False), found.inner, value.NAME)
            return ""
        if isinstance(value, RangeSet):
            shown = re.findall(r"\((\d+), (\d+)\)", found.label + found.text)
            ranges = [(int(low), int(high)) for low, high in shown]
            return "" if ranges == list(value.ranges) else f"{value}, tshark: {ranges}"
        if isinstance(value, tuple):
            texts = tuple(each.value for each in found.inner if each.name == "amqp.array.string")
            return "" if texts == value else f"{value}, tshark: {texts}"
        if found.octets and found.octets != field.octets[front:]:
            return f"{field.octets.hex()}, tshark: {found.octets.hex()}"
        if isinstance(value, str):
            return "" if found.value == value else f"{value!r}, tshark: {found.value!r}"
        if isinstance(value, int) and field.kind != "datetime":  # tshark shows it as a date
            return "" if _number(found.value) == value else f"{value}, tshark: {found.value!r}"
        return ""

    def _map(self, value: Map, found: Shown) -> str:
        """Compares entries, whose types count by themselves, in whichever map they are."""
        entries = re.search(r"\((\d+) entr", found.label)
        if entries is None or int(entries[1]) != len(value):
            return f"{len(value)} entries, tshark: {entries and entries[1]}"
        place, code = found.inner[0].start if found.inner else 0, ""
        for (name, each), shown in zip(value.items(), found.inner, strict=False):
            if shown.start != place:
                self.differ("map", code, f"an entry that ends at octet {place}, tshark: {shown.start}")
                return ""
            entry = encode_map({name: each})[8:]
            place += len(entry)
            code = f"{entry[1 + entry[0]]:02x}"
            self.comparison.fields.add(("map", code))
            label, _, kind = shown.label.rpartition(" (")
            if label != name:
                self.differ("map", code, f"{name!r}, tshark: {shown.label!r}")
            elif not _same(each, shown.text):
                self.differ("map", code, f"{each!r}, tshark: {kind.rstrip(')')} {shown.text!r}")
        if len(found.inner) != len(value):
            self.differ("map", code, f"one of {len(value)} entries, tshark: of {len(found.inner)}")
        return ""


def _same(value: object, text: str) -> bool:
    """Returns whether tshark's text shows a value of a map."""
    if isinstance(value, bool):
        return text == str(value).lower()
    if isinstance(value, int):
        return _number(text) == value
    if isinstance(value, float):
        return text == f"{value:g}"
    if isinstance(value, bytes):
        return text == value.hex()
    return isinstance(value, str) and text == value


def _place(field: _Said, found: Shown) -> bool:
    """Returns whether it is at our position, or after the length prefix if it has one."""
    return found.start in (field.start, field.start + FRONT.get(field.kind, 0))


def _number(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None
