"""The tokens of a selector (JMS 1.1, section 3.8.1.1: literals, identifiers, operators)."""

from __future__ import annotations

import re
from struct import pack, unpack
from typing import Final, NamedTuple, TypeAlias
from unicodedata import category

from amqp_sansio.broker.selectors.errors import SelectorError

KEYWORDS: Final = frozenset(["NULL", "TRUE", "FALSE", "NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE"])
"""Reserved in upper and lower case; identifiers are case-sensitive."""
NAME: Final = "identifier"
TEXT: Final = "string"
NUMBER: Final = "number"
END: Final = "end"
TOP: Final = 2**63
"""Exact numbers are Java's long: -TOP to TOP - 1.  The sign is an operator, so the parser checks the sign of TOP itself."""

Literal: TypeAlias = str | int | float | None

_TOKEN: Final = re.compile(
    r"""
      (?P<space>    [ \t\f\r\n]+ )
    | (?P<hex>      0[xX] [0-9a-fA-F]+ [lL]? )
    | (?P<number>   (?: [0-9]+ (?: \.[0-9]* )? | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )? [lLdDfF]? )
    | (?P<word>     [A-Za-z_$] [A-Za-z0-9_$.]* )  # the point is qpidd's; what is not ASCII: `_end_of_name`
    | (?P<string>   ' (?: [^'] | '' )* (?P<close>')? )
    | (?P<symbol>   <> | <= | >= | [=<>(),+\-*/] )
    """,
    re.VERBOSE,
)
_OCTAL: Final = re.compile("[0-7]+")
_FIRST: Final = frozenset(["Nl", "Sc", "Pc"])
_LATER: Final = frozenset(["Nd", "Mn", "Mc", "Cf"])
"""The Unicode categories with which Java's identifiers begin (besides letters), and continue."""


class Token(NamedTuple):
    """One token.

    `kind`: the text of a keyword or symbol, else `identifier`, `string`, `number` or `end`; `at`: its position.
    """

    kind: str
    value: Literal
    at: int

    @property
    def shown(self) -> str:
        """The token in the text of an error."""
        return named(self.kind) if self.value is None else f"{self.kind} {self.value!r}"


def named(kind: str) -> str:
    """Returns a kind of token in the text of an error."""
    return "the end" if kind == END else kind if kind in (NAME, TEXT, NUMBER) else repr(kind)


def tokens_of(text: str) -> list[Token]:
    """Splits a selector into tokens (JMS 1.1, section 3.8.1.1: literals, identifiers, operators)."""
    tokens: list[Token] = []
    at, size = 0, len(text)
    while at < size:
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup == "word":
            end = _end_of_name(text, at)
            if end == at:
                raise SelectorError(f"unexpected character {text[at]!r}", at)
            words = text[at:end]
            upper = words.upper() if words.isascii() else ""
            tokens.append(Token(upper, None, at) if upper in KEYWORDS else Token(NAME, words, at))
            at = end
            continue
        kind, words = found.lastgroup, found.group()
        if kind == "symbol":
            tokens.append(Token(words, None, at))
        elif kind in ("number", "hex"):
            tokens.append(Token(NUMBER, _number(words, at) if kind == "number" else _exact(words[2:].rstrip("lL"), 16, at), at))
            if found.end() < size and (text[found.end()] == "." or _in_name(text[found.end()])):
                raise SelectorError(f"unexpected character {text[found.end()]!r} in a number", found.end())
        elif kind is not None and kind != "space":  # a string, whose last group is the closing quote if there is one
            if found.group("close") is None:
                raise SelectorError("a string without a closing quote", at)
            tokens.append(Token(TEXT, words[1:-1].replace("''", "'"), at))
        at = found.end()
    tokens.append(Token(END, None, size))
    return tokens


def _end_of_name(text: str, at: int) -> int:
    """Returns the end of the identifier that begins at `at`, by Java's letters and digits; `at` itself when none begins."""
    if not text[at : at + 1] or not _begins_name(text[at]):
        return at
    end = at + 1
    while end < len(text) and (text[end] == "." or _in_name(text[end])):
        end += 1
    return end


def _begins_name(character: str) -> bool:
    return character in "_$" or character.isalpha() or category(character) in _FIRST


def _in_name(character: str) -> bool:
    return _begins_name(character) or category(character) in _LATER


def _number(words: str, at: int) -> int | float:
    digits = words.rstrip("lLdDfF")
    suffix = words[len(digits) :].upper()
    if suffix in ("", "L") and digits.isdigit():
        return _exact(digits, 8 if digits.startswith("0") else 10, at)
    if suffix == "L":
        raise SelectorError("an exact number with a point or an exponent", at)
    value = float(digits)
    if value == float("inf"):
        raise SelectorError("an approximate number beyond the range of a double", at)
    if suffix == "F":
        try:
            (value,) = unpack(">f", pack(">f", value))
        except OverflowError:
            raise SelectorError("an approximate number beyond the range of a float", at) from None
    return value


def _exact(digits: str, base: int, at: int) -> int:
    """Returns an integer literal as in Java: base 8 with a leading 0, base 16 after 0x."""
    if base == 8 and not _OCTAL.fullmatch(digits):
        raise SelectorError("not a number in base 8", at)
    digits = digits.lstrip("0") or "0"
    exact = int(digits, base) if len(digits) < 64 else TOP + 1  # int() of many digits is not linear
    if exact > TOP:
        raise SelectorError("an exact number beyond 64 bits", at)
    return exact
