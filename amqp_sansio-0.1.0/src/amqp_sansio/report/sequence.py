"""A sequence diagram in SVG: two life-lines, what was said between them from top to bottom, the violation marked."""

from __future__ import annotations

from typing import Final

from amqp_sansio.report.markup import Markup, duration, tag, visible
from amqp_sansio.report.talk import Said, Talk

WIDTH: Final = 900
_CLIENT: Final = 150
_SERVER: Final = 850
_ROW: Final = 34
_NOTE: Final = 18
_TOP: Final = 52
_LONGEST: Final = 84
"""Characters of what is written over an arrow."""


def sequence(talk: Talk) -> Markup:
    """The diagram of a violation's surroundings."""
    lines = talk.lines()
    drawn: list[Markup] = []
    y = _TOP
    if talk.earlier:
        drawn.append(_dots(y, f"{talk.earlier} earlier"))
        y += _NOTE
    for said, notes in lines:
        if said.kind == "note":
            y += _NOTE
            drawn.append(_remark(y, said, "note"))
            y += 6
            continue
        y += _ROW
        guilty = said.kind == "violation" or any(each.kind == "violation" for each in notes)
        here = guilty and (said.direction, said.stream_offset) == talk.place[1:]
        drawn.append(_arrow(y, said, talk.place[0], guilty, here))
        for note in notes:
            y += _NOTE
            drawn.append(_remark(y, note, "bad" if note.kind == "violation" else "note"))
    if talk.later:
        y += _NOTE
        drawn.append(_dots(y, f"{talk.later} later"))
    y += 22
    heads = [
        tag("line", x1=x, y1=34, x2=x, y2=y, class_="life") + _box(x, name)
        for x, name in ((_CLIENT, "client"), (_SERVER, "server"))
    ]
    title = f"What was said around {visible(str(talk.row['rule']))}"
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
    return tag("rect", x=x - 45, y=8, width=90, height=26, rx=5, class_="who") + _text(x, 26, name, "who")  # type: ignore[return-value]


def _text(x: int, y: int, words: str, mark: str | None = None, anchor: str = "middle") -> Markup:
    return tag("text", words, x=x, y=y, class_=mark, text_anchor=anchor)


def _arrow(y: int, said: Said, zero: int, guilty: bool, here: bool) -> Markup:
    start, end = (_CLIENT, _SERVER) if said.direction == "C" else (_SERVER, _CLIENT)
    back = -9 if end > start else 9
    mark = "bad" if guilty else said.kind
    number = "" if said.command_id is None else f" #{said.command_id}"
    lead = f"[{said.channel}] " if said.channel is not None else ""
    words = f"{lead}{visible(said.verb, _LONGEST)}{number}"
    room = _LONGEST - len(words) - 2
    detail = visible(said.detail, 400) if said.kind != "violation" else ""
    if len(detail) > room:
        detail = detail[: max(0, room - 1)] + "…" if room > 4 else ""
    parts = [
        tag("line", x1=start, y1=y, x2=end, y2=y, class_="arrow"),
        tag("path", d=f"M{end} {y}l{back} -5v10z", class_="tip"),
        tag(
            "text",
            tag("tspan", words, class_="verb"),
            tag("tspan", f"  {detail}" if detail else "", class_="detail"),
            x=(_CLIENT + _SERVER) // 2,
            y=y - 7,
            text_anchor="middle",
        ),
        _text(_CLIENT - 60, y + 4, _apart(said.ts_ns - zero), "time", "end")
        if not here
        else _text(90, y + 4, "here ▸", "time", "end"),
    ]
    if here:
        parts.insert(0, tag("rect", x=_CLIENT + 2, y=y - 23, width=_SERVER - _CLIENT - 4, height=_ROW - 4, rx=4, class_="here"))
    return tag("g", *parts, class_=mark)


def _apart(ns: int) -> str:
    sign = "+" if ns >= 0 else "\N{MINUS SIGN}"
    return sign + duration(abs(ns))


def _remark(y: int, note: Said, mark: str) -> Markup:
    who = {"C": "client", "S": "server"}.get(note.direction, "")
    words = (
        f"{'✗' if mark == 'bad' else 'note:'} {note.detail}: {note.verb}" if mark == "bad" else f"{who or 'note'}: {note.verb}"
    )
    words = visible(words, 400)
    if len(words) > 110:
        words = words[:109] + "…"
    return tag("g", _text((_CLIENT + _SERVER) // 2, y, words, "remark"), class_=mark)


def _dots(y: int, words: str) -> Markup:
    return tag("g", _text((_CLIENT + _SERVER) // 2, y + 10, f"⋮ {words}", "remark"), class_="dots")
