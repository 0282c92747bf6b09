"""A sequence diagram in SVG: two lifelines with the words between them from top to bottom, and the violation marked."""

from __future__ import annotations

import textwrap
from typing import Final

from amqp_sansio.report.markup import Markup, duration, joined, tag, visible
from amqp_sansio.report.talk import Said, Talk

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


def sequence(talk: Talk) -> Markup:
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
        for x, name in ((_CLIENT, "client"), (_SERVER, "server"))
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


def _arrow(y: int, said: Said, zero: int, guilty: bool, here: bool) -> Markup:
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


def _remark(y: int, note: Said, mark: str) -> tuple[Markup, int]:
    """Draws the remarks about an arrow; returns how many lines that takes."""
    who = {"C": "client", "S": "server"}.get(note.direction, "")
    words = f"✗ {note.detail}: {note.verb}" if mark == "bad" else f"{who or 'note'}: {note.verb}"
    lines = textwrap.wrap(visible(words, 400), _REMARK) or [""]
    if len(lines) > _REMARKS:
        lines[_REMARKS - 1] = f"{lines[_REMARKS - 1][: _REMARK - 1]}…"
        del lines[_REMARKS:]
    middle = (_CLIENT + _SERVER) // 2
    spans = [tag("tspan", line, x=middle, dy=_NOTE if at else 0) for at, line in enumerate(lines)]
    return tag("g", tag("text", *spans, x=middle, y=y, class_="remark", text_anchor="middle"), class_=mark), len(lines)


def _dots(y: int, words: str) -> Markup:
    return tag("g", _text((_CLIENT + _SERVER) // 2, y + 10, f"⋮ {words}", "remark"), class_="dots")
