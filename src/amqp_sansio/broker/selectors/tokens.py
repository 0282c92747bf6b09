"""The words of a selector (JMS 1.1, section 3.8.1.1: literals, identifiers, operators)."""

from __future__ import annotations

import re
from typing import Final, NamedTuple, TypeAlias

from amqp_sansio.broker.selectors.errors import SelectorError

KEYWORDS: Final = frozenset(["NULL", "TRUE", "FALSE", "NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE"])
"""Reserved in any case; identifiers are case-sensitive."""
NAME: Final = "identifier"
TEXT: Final = "string"
NUMBER: Final = "number"
END: Final = "end"
TOP: Final = 2**63
"""Exact numbers are Java's long: -TOP to TOP - 1.  The sign is an operator: the parser judges whether TOP itself has one."""

Literal: TypeAlias = str | int | float | None

_TOKEN: Final = re.compile(
    r"""
      (?P<space>    [ \t\f\r\n]+ )
    | (?P<number>   (?: [0-9]+ (?: \.[0-9]* )? | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )? [lLdDfF]? )
    | (?P<word>     (?: [^\W\d] | \$ ) [\w$.]* )  # the point is qpidd's
    | (?P<string>   ' (?: [^'] | '' )* (?P<close>')? )
    | (?P<symbol>   <> | <= | >= | [=<>(),+\-*/] )
    """,
    re.VERBOSE,
)


class Token(NamedTuple):
    """One word.  `kind`: the text of a keyword or symbol, else `identifier`, `string`, `number` or `end`; `at`: its place."""

    kind: str
    value: Literal
    at: int

    @property
    def shown(self) -> str:
        """The token as an error names it."""
        return named(self.kind) if self.value is None else f"{self.kind} {self.value!r}"


def named(kind: str) -> str:
    """A kind of token as an error names it."""
    return "the end" if kind == END else kind if kind in (NAME, TEXT, NUMBER) else repr(kind)


def tokens_of(text: str) -> list[Token]:
    """The words of a selector, with one of kind `end` behind them.  SelectorError for what is no word of the language."""
    tokens: list[Token] = []
    at, size = 0, len(text)
    while at < size:
        found = _TOKEN.match(text, at)
        if found is None:
            raise SelectorError(f"unexpected character {text[at]!r}", at)
        kind, words = found.lastgroup, found.group()
        if kind == "symbol":
            tokens.append(Token(words, None, at))
        elif kind == "word":
            upper = words.upper()
            tokens.append(Token(upper, None, at) if upper in KEYWORDS else Token(NAME, words, at))
        elif kind == "number":
            tokens.append(Token(NUMBER, _number(words, at), at))
            if found.end() < size and (text[found.end()].isalnum() or text[found.end()] in "_$."):
                raise SelectorError(f"unexpected character {text[found.end()]!r} in a number", found.end())
        elif kind is not None and kind != "space":  # a string, whose closing quote is the last group where there is one
            if found.group("close") is None:
                raise SelectorError("a string without a closing quote", at)
            tokens.append(Token(TEXT, words[1:-1].replace("''", "'"), at))
        at = found.end()
    tokens.append(Token(END, None, size))
    return tokens


def _number(words: str, at: int) -> int | float:
    digits = words.rstrip("lLdDfF")
    suffix = words[len(digits) :].upper()
    if suffix in ("", "L") and digits.isdigit():
        digits = digits.lstrip("0") or "0"
        exact = int(digits) if len(digits) < 64 else TOP + 1  # int() of many digits is not linear
        if exact > TOP:
            raise SelectorError("an exact number beyond 64 bits", at)
        return exact
    if suffix == "L":
        raise SelectorError("an exact number with a point or an exponent", at)
    value = float(digits)
    if value == float("inf"):
        raise SelectorError("an approximate number beyond the range of a double", at)
    return value
