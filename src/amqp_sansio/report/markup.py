"""HTML in which only our own texts can become tags: everything else is escaped, made visible and shortened.  Numbers, times and
codes as the page shows them."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from html import escape
from typing import Final

from amqp_sansio.errors.core import many
from amqp_sansio.spec.codes import CloseCode, ErrorCode
from amqp_sansio.spec.reply_codes import ReplyCode

WHO: Final = {"C": "client", "S": "server"}
"""What the page calls a speaker."""
MOST: Final = 240
"""The most characters of one text from a table; what is cut is counted."""
_HIDDEN: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))


class Markup(str):
    """Text that is already markup."""

    __slots__ = ()


Content = str | int | Markup | None


def visible(text: str, most: int = MOST) -> str:
    """Makes hidden characters visible: those that control, reorder or join others are written as their numbers."""
    cut = text[:most]
    if not (cut.isascii() and cut.isprintable()):
        cut = "".join([each if unicodedata.category(each) not in _HIDDEN else _number(each) for each in cut])
    return cut if len(text) <= most else f"{cut}… (+{len(text) - most})"


def _number(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def text(value: Content, most: int = MOST) -> Markup:
    """Converts a value to markup: escaped unless it already is markup."""
    if isinstance(value, Markup):
        return value
    return Markup("" if value is None else escape(visible(str(value), most), quote=True))


def tag(name: str, *content: Content, most: int = MOST, **attributes: Content) -> Markup:
    """Returns an element.  In attribute names a trailing _ is dropped, other _ become -; None omits the attribute."""
    words = [
        f' {key.rstrip("_").replace("_", "-")}="{escape(visible(str(value), 4000), quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    ]
    return Markup(f"<{name}{''.join(words)}>{''.join([text(each, most) for each in content])}</{name}>")


def joined(*parts: Content) -> Markup:
    """Joins parts."""
    return Markup("".join([text(each) for each in parts]))


def card(*content: Content) -> Markup:
    """Returns a framed part of the page."""
    return tag("div", *content, class_="card")


def small(*content: Content, most: int = MOST) -> Markup:
    """Returns a remark in small print."""
    return tag("p", *content, most=most, class_="small")


def label(name: Content) -> Markup:
    """Returns a name as it is in the captures."""
    return tag("span", name, class_="name")


ABSENT: Final = tag("p", "The tables that this part is made from are missing.", class_="none")

_HINT: Final = Markup('<p class="hint" aria-hidden="true">scroll for more \N{RIGHTWARDS ARROW}</p>')
"""Follows what may be wider than the page; visible only then."""


def table(head: tuple[str, ...], rows: list[tuple[Content, ...]], *numbers: int) -> Markup:
    """Returns a table; the columns `numbers` are right-aligned."""
    if not rows:
        return tag("p", "none", class_="none")
    marks = ["n" if place in numbers else None for place in range(len(head))]
    top = tag("tr", *[tag("th", each, class_=mark, scope="col") for each, mark in zip(head, marks, strict=True)])
    body = [tag("tr", *[tag("td", each, class_=mark) for each, mark in zip(row, marks, strict=True)]) for row in rows]
    return joined(tag("div", tag("table", tag("thead", top), tag("tbody", *body)), class_="wide"), _HINT)


def listed(title: Content, head: tuple[str, ...], rows: list[tuple[Content, ...]], *numbers: int) -> list[Markup]:
    """Returns a heading and a table below it; the columns `numbers` are right-aligned."""
    return [tag("h3", title), table(head, rows, *numbers)]


def count(number: int) -> str:
    """Formats a number: 12,345."""
    return f"{number:,}"


def often(number: int) -> str:
    """Formats how often something happened: once, 2 times."""
    return "once" if number == 1 else many(number, "time")


def octets(number: int) -> str:
    """Formats octets, in powers of 1000."""
    amount = float(number)
    for unit in ("octets", "kB", "MB", "GB", "TB"):
        if amount < 999.5 or unit == "TB":
            return f"{amount:.0f} {unit}" if unit == "octets" else f"{amount:.3g} {unit}"
        amount /= 1000
    return ""  # never reached: the loop ends with "TB"


def duration(ns: int) -> str:
    """Formats a time in ns, with three digits: 12.3 ms."""
    size = abs(ns)
    if size < 1000:
        return f"{ns} ns"
    for unit, per, most in (("µs", 1e3, 999.5e3), ("ms", 1e6, 999.5e6), ("s", 1e9, 120e9), ("min", 60e9, 120 * 60e9)):
        if size < most:
            return f"{ns / per:.3g} {unit}"
    return f"{ns / 3600e9:.3g} h"


def named(code: int) -> str:
    """Formats a code as "404 not-found", of any version; 0 means that none was given."""
    if not code:
        return "no code"
    for kind in (ErrorCode, CloseCode, ReplyCode):
        if code in (known := kind._value2member_map_):
            member = known[code]
            return f"{code} {member.name.lower().replace('_', '-')}"
    return str(code)


def explained(code: int, text: str | None) -> str:
    """Formats a code with its name and the text sent with it, which often begins with the name."""
    name, said = named(code), text or ""
    if not said:
        return name
    return f"{code} {said}" if said.lower().startswith(name.partition(" ")[2]) else f"{name}: {said}"


_NS: Final = 1_000_000_000


def moment(ns: int | None) -> str:
    """Formats a time in ns since 1970 as UTC, to the microsecond; "" for None, the number itself beyond the calendar."""
    if ns is None:
        return ""
    try:
        at = datetime.fromtimestamp(ns // _NS, UTC)
    except (OverflowError, OSError, ValueError):
        return f"{ns} ns"
    return f"{at:%Y-%m-%d}\N{NO-BREAK SPACE}{at:%H:%M:%S}.{ns % _NS // 1000:06d}"
