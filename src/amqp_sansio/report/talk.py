"""The conversation around a violation: the words before and after it on its connection, from the existing tables.

It is drawn in SVG: two lifelines with the words between them from top to bottom, and the violation marked.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from amqp_sansio.errors.core import many
from amqp_sansio.report.folder import Folder
from amqp_sansio.report.markup import WHO, Markup, duration, joined, tag, visible

BEFORE: Final = 8
"""Words shown before a violation."""
AFTER: Final = 6


class DiagramLine(NamedTuple):
    """A word, or a note about the connection."""

    ts_ns: int
    direction: str
    stream_offset: int
    kind: str
    """control, command, violation or note."""
    verb: str
    detail: str
    channel: int | None
    command_id: int | None

    @property
    def place(self) -> tuple[int, str, int]:
        """Its position in the order of a connection."""
        return self.ts_ns, self.direction, self.stream_offset

    @property
    def order(self) -> tuple[Any, ...]:
        """The same, with tie-breakers."""
        numbers = [-1 if each is None else each for each in (self.channel, self.command_id)]
        return *self.place, self.kind, self.verb, self.detail, *numbers


class Surroundings:
    """The surroundings of one violation."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.row: Final = row
        self.rows: Final = [row]
        """All violations at the same position; `row` is the first."""
        self.name = ""
        """Name of the connection."""
        self.place: Final = (row["ts_ns"] or 0, row["direction"] or "", row["stream_offset"] or 0)
        self.earlier = 0
        """Earlier words that are not shown."""
        self.later = 0
        self.notes: Final[list[DiagramLine]] = []
        """Findings on the same connection near it."""
        self._before: list[DiagramLine] = []
        self._after: list[DiagramLine] = []

    def add(self, said: DiagramLine) -> None:
        """Adds a word on its connection."""
        if said.kind == "note" or said.kind == "violation":
            self.notes.append(said)
            if len(self.notes) > 400:
                self.notes.sort(key=lambda each: (abs(each.ts_ns - self.place[0]), each.order))
                del self.notes[100:]
            return
        same = (said.direction, said.stream_offset) == self.place[1:]
        words = self._before if not same and said.place < self.place else self._after
        words.append(said)
        if len(words) > 256:
            self._trim()

    def _trim(self) -> None:
        """Keeps only the nearest words."""
        self._before.sort(key=lambda each: each.order)
        surplus = max(0, len(self._before) - BEFORE)
        self.earlier += surplus
        del self._before[:surplus]
        self._after.sort(key=lambda each: ((each.direction, each.stream_offset) != self.place[1:], each.order))
        surplus = max(0, len(self._after) - AFTER - 1)
        self.later += surplus
        if surplus:
            del self._after[-surplus:]

    def lines(self) -> list[tuple[DiagramLine, tuple[DiagramLine, ...]]]:
        """Returns what to draw, in order; each with the findings about it."""
        self._trim()
        shown = sorted([*self._before, *self._after], key=lambda each: each.order)
        found: dict[tuple[str, int], list[DiagramLine]] = {}
        low = shown[0].ts_ns if self.earlier and shown else 0
        high = shown[-1].ts_ns if self.later and shown else 2**63
        said = {(each.direction, each.stream_offset) for each in shown}
        for note in sorted(set(self.notes), key=lambda each: (each.kind != "violation", each.order)):
            key = note.direction, note.stream_offset
            if not (low <= note.ts_ns <= high):
                continue
            if key not in said:
                shown.append(note)
                said.add(key)
                if note.kind != "violation":
                    continue
            found.setdefault(key, []).append(note)
        shown.sort(key=lambda each: each.order)
        return [(each, tuple(found.get((each.direction, each.stream_offset), ()))) for each in shown]


def talks(folder: Folder, violations: list[dict[str, Any]]) -> list[Surroundings]:
    """Returns the surroundings of these rows of violations; those at one position share theirs."""
    places: dict[tuple[Any, ...], Surroundings] = {}
    for row in violations:
        place = row["connection"], row["ts_ns"], row["direction"], row["stream_offset"]
        if place in places:
            places[place].rows.append(row)
        else:
            places[place] = Surroundings(row)
    found: Final = list(places.values())
    of: Final[dict[int, list[Surroundings]]] = {}
    for talk in found:
        of.setdefault(talk.row["connection"], []).append(talk)
    if not of:
        return found
    for connection, said in _everything(folder, of):
        for talk in of[connection]:
            talk.add(said)
    names = names_of(folder, of)
    for talk in found:
        talk.name = names.get(talk.row["connection"], "")
    return found


def names_of(folder: Folder, connections: Iterable[int]) -> dict[int, str]:
    """Returns the names of connections by their numbers."""
    batches = folder.of("connections", ("connection", "name"), connections)
    return {row["connection"]: row["name"] or "" for batch in batches for row in batch.to_pylist()}


def _everything(folder: Folder, connections: Iterable[int]) -> Iterator[tuple[int, DiagramLine]]:
    def rows(table: str, *columns: str) -> Iterator[dict[str, Any]]:
        for batch in folder.of(table, ("connection", "ts_ns", *columns), connections):
            yield from batch.to_pylist()

    for row in rows("commands", "direction", "channel", "command_id", "verb", "arguments", "stream_offset", "octets"):
        detail = (row["arguments"] or (many(row["octets"] or 0, "octet") if row["verb"] == "message.transfer" else "")).strip(
            "{}"
        )
        yield row["connection"], _said(row, "command", row["verb"] or "", detail)
    for row in rows("violations", "direction", "channel", "level", "rule", "said", "stream_offset"):
        if row["level"] != "damage":
            kind = "violation" if row["level"] == "violation" else "note"
            yield row["connection"], _said(row, kind, row["said"] or "", row["rule"] or "")
    if "controls" in folder:
        for row in rows("controls", "direction", "channel", "verb", "arguments", "stream_offset"):
            yield row["connection"], _said(row, "control", row["verb"] or "", (row["arguments"] or "").strip("{}"))
        return
    if "frames" in folder:
        columns = ("direction", "channel", "type", "verb", "stream_offset")
        for row in rows("frames", *columns, "first_frame"):
            if row["type"] == "control" and row["verb"]:
                yield row["connection"], _said(row, "control", row["verb"], "")
        if "commands" not in folder:
            for row in rows("frames", *columns):
                if row["type"] == "command" and row["verb"]:
                    yield row["connection"], _said(row, "command", row["verb"], "")
        return
    # Without the tables of controls and frames there is no row for each; sessions and connections show some of them.
    for row in rows("sessions", "channel", "session", "attached_at", "detach_at", "detach_by"):
        for at, who, verb in (
            (row["ts_ns"], "C", "session.attach"),
            (row["attached_at"], "S", "session.attached"),
            (row["detach_at"], row["detach_by"], "session.detach"),
        ):
            if at is not None and who:
                yield (
                    row["connection"],
                    DiagramLine(at, who, -1 - row["channel"], "control", verb, row["session"] or "", row["channel"], None),
                )
    for row in rows("connections", "opened_at"):
        if row["opened_at"] is not None:
            yield row["connection"], DiagramLine(row["opened_at"], "S", -1, "control", "connection.open-ok", "", 0, None)


def _said(row: dict[str, Any], kind: str, verb: str, detail: str) -> DiagramLine:
    offset = row["stream_offset"]
    return DiagramLine(
        row["ts_ns"] or 0,
        row["direction"] or "",
        -1 if offset is None else offset,
        kind,
        verb,
        detail,
        row["channel"],
        row.get("command_id"),
    )


WIDTH: Final = 500
"""As narrow as is readable on a phone, where it is scaled to the page."""
_CLIENT: Final = 66
_SERVER: Final = 488
_ROW: Final = 44
_NOTE: Final = 16
_TOP: Final = 52
_LONGEST: Final = 52
"""The most characters above an arrow."""
_DETAIL: Final = 58
"""The most characters below it."""
_REMARK: Final = 62
_REMARKS: Final = 3
"""The most characters of a line of a remark, and the most lines."""


def sequence(talk: Surroundings) -> Markup:
    """Draws the surroundings of a violation."""
    lines = talk.lines()
    drawn: list[Markup] = []
    y = _TOP
    if talk.earlier:
        drawn.append(_dots(y, f"{talk.earlier} earlier"))
        y += _NOTE
    for said, notes in lines:
        if said.kind == "note":
            y += _NOTE
            part, lines_ = _remark(y, said, "note")
            drawn.append(part)
            y += 6 + _NOTE * (lines_ - 1)
            continue
        y += _ROW
        guilty = said.kind == "violation" or any(each.kind == "violation" for each in notes)
        here = guilty and (said.direction, said.stream_offset) == talk.place[1:]
        drawn.append(_arrow(y, said, talk.place[0], guilty, here))
        y += _NOTE - 2
        for note in notes:
            y += _NOTE
            part, lines_ = _remark(y, note, "bad" if note.kind == "violation" else "note")
            drawn.append(part)
            y += _NOTE * (lines_ - 1)
    if talk.later:
        y += _NOTE
        drawn.append(_dots(y, f"{talk.later} later"))
    y += 22
    heads = [
        tag("line", x1=x, y1=34, x2=x, y2=y, class_="life") + _box(x, name)
        for x, name in zip((_CLIENT, _SERVER), WHO.values(), strict=True)
    ]
    title = f"Conversation around {visible(str(talk.row['rule']))}"
    return tag(
        "svg",
        tag("title", title),
        *[Markup(each) for each in heads],
        *drawn,
        class_="sequence",
        viewBox=f"0 0 {WIDTH} {y}",
        role="img",
        width=WIDTH,
        height=y,
    )


def _box(x: int, name: str) -> Markup:
    left = min(x - 32, WIDTH - 66)
    box = tag("rect", x=left, y=8, width=64, height=26, rx=5, class_="who")
    return joined(box, _text(left + 32, 26, name, "who"))


def _text(x: int, y: int, words: str, mark: str | None = None, anchor: str = "middle") -> Markup:
    return tag("text", words, x=x, y=y, class_=mark, text_anchor=anchor)


def _arrow(y: int, said: DiagramLine, zero: int, guilty: bool, here: bool) -> Markup:
    start, end = (_CLIENT, _SERVER) if said.direction == "C" else (_SERVER, _CLIENT)
    back = -9 if end > start else 9
    mark = "bad" if guilty else said.kind
    number = "" if said.command_id is None else f" #{said.command_id}"
    lead = f"[{said.channel}] " if said.channel is not None else ""
    words = visible(f"{lead}{said.verb}{number}", _LONGEST)
    detail = visible(said.detail, 400) if said.kind != "violation" else ""
    if len(detail) > _DETAIL:
        detail = f"{detail[: _DETAIL - 1]}…"
    middle = (_CLIENT + _SERVER) // 2
    parts = [
        tag("line", x1=start, y1=y, x2=end, y2=y, class_="arrow"),
        tag("path", d=f"M{end} {y}l{back} -5v10z", class_="tip"),
        tag(
            "text",
            tag("tspan", words, class_="verb"),
            tag("tspan", detail, x=middle, dy=19, class_="detail") if detail else "",
            x=middle,
            y=y - 6,
            text_anchor="middle",
        ),
        _text(_CLIENT - 6, y + 4, "here ▸" if here else _apart(said.ts_ns - zero), "time", "end"),
    ]
    if here:
        parts.insert(0, tag("rect", x=_CLIENT + 2, y=y - 21, width=_SERVER - _CLIENT - 4, height=40, rx=4, class_="here"))
    return tag("g", *parts, class_=mark)


def _apart(ns: int) -> str:
    sign = "+" if ns >= 0 else "\N{MINUS SIGN}"
    return sign + duration(abs(ns))


def _remark(y: int, note: DiagramLine, mark: str) -> tuple[Markup, int]:
    """Draws the remarks about an arrow; returns how many lines that takes."""
    words = f"✗ {note.detail}: {note.verb}" if mark == "bad" else f"{WHO.get(note.direction, 'note')}: {note.verb}"
    lines = textwrap.wrap(visible(words, 400), _REMARK) or [""]
    if len(lines) > _REMARKS:
        lines[_REMARKS - 1] = f"{lines[_REMARKS - 1][: _REMARK - 1]}…"
        del lines[_REMARKS:]
    middle = (_CLIENT + _SERVER) // 2
    spans = [tag("tspan", line, x=middle, dy=_NOTE if at else 0) for at, line in enumerate(lines)]
    return tag("g", tag("text", *spans, x=middle, y=y, class_="remark", text_anchor="middle"), class_=mark), len(lines)


def _dots(y: int, words: str) -> Markup:
    return tag("g", _text((_CLIENT + _SERVER) // 2, y + 10, f"⋮ {words}", "remark"), class_="dots")
