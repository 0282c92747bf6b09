"""The tokens and the grammar of selectors (JMS 1.1, section 3.8.1.1), read by recursive descent.

    condition   = term { OR term }
    term        = factor { AND factor }
    factor      = { NOT } predicate
    predicate   = sum [ ( = | <> | < | <= | > | >= ) sum
                      | [ NOT ] BETWEEN sum AND sum
                      | [ NOT ] IN "(" string { "," string } ")"
                      | [ NOT ] LIKE string [ ESCAPE string ]
                      | IS [ NOT ] NULL ]
    sum         = product { ( + | - ) product }
    product     = signed { ( * | / ) signed }
    signed      = { + | - } primary
    primary     = number | string | TRUE | FALSE | identifier | "(" condition ")"

Deployed brokers take more than the specification's text has: a value on the left of IN, LIKE and IS may be any sum.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from struct import pack, unpack
from typing import Final, NamedTuple, TypeAlias
from unicodedata import category

from amqp_sansio.broker.selectors.expressions import (
    ORDERED,
    All,
    Any,
    Arithmetic,
    Between,
    Comparison,
    Constant,
    Expression,
    Identifier,
    In,
    IsNull,
    Like,
    Lookup,
    Negative,
    Not,
    Pattern,
    Positive,
    SelectorError,
)
from amqp_sansio.broker.selectors.properties import named as named_property
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS, BrokerLimits

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


_NO_CONDITION: Final = (Arithmetic, Negative, Positive)


class Selector:
    """A parsed selector.  Equal when their texts are."""

    __slots__ = ("condition", "text")

    def __init__(self, text: str, limits: BrokerLimits = DEFAULT_BROKER_LIMITS) -> None:
        """Parses the text; one of spaces only selects every message (section 3.8.1).

        Raises SelectorError, with the position, for an invalid selector, or one beyond a limit (`selector_octets`,
        `selector_depth`).
        """
        self.text: Final = text
        octets = len(text.encode("utf-8", "surrogatepass"))
        if octets > limits.selector_octets:
            raise SelectorError(f"limit selector_octets is {limits.selector_octets}, the selector has {octets}", 0)
        self.condition: Final = _Parser(text, limits).whole()

    def selects(self, lookup: Lookup) -> bool:
        """Returns whether the condition is true (neither false nor unknown) for the message with these properties."""
        return self.condition.value(lookup) is True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Selector) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Selector({self.text!r})"


class _Parser:
    def __init__(self, text: str, limits: BrokerLimits) -> None:
        self._tokens: Final = tokens_of(text)
        self._at = 0
        self._most: Final = limits.selector_depth
        self._characters: Final = limits.like_characters
        self._depth = 0

    # --- tokens -----------------------------------------------------------------------------------------------------------

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self, *kinds: str) -> Token | None:
        """Consumes and returns the next token if it is of one of these kinds."""
        token = self._next
        if token.kind not in kinds:
            return None
        self._at += 1
        return token

    def _need(self, *kinds: str) -> Token:
        token = self._take(*kinds)
        if token is None:
            wanted = " or ".join([named(each) for each in kinds])
            raise SelectorError(f"expected {wanted}, not {self._next.shown}", self._next.at)
        return token

    def _enter(self, token: Token) -> None:
        self._depth += 1
        if self._depth > self._most:
            raise SelectorError(f"limit selector_depth is {self._most}, the selector is deeper", token.at)

    # --- rules ------------------------------------------------------------------------------------------------------------

    def whole(self) -> Expression:
        """Parses the whole selector."""
        if self._take(END):
            return Constant(True)
        at = self._next.at
        condition = self._truth(self._condition(), at)
        self._need(END, "AND", "OR")
        return condition

    def _truth(self, expression: Expression, at: int) -> Expression:
        """Returns the expression, which must be one that can be true."""
        number = isinstance(expression, Constant) and not isinstance(expression.constant, bool)
        if number or isinstance(expression, _NO_CONDITION):
            raise SelectorError("expected a condition, not a value", at)
        return expression

    def _chain(self, word: str, kind: type[All] | type[Any]) -> Expression:
        at = self._next.at
        part = self._term if word == "OR" else self._factor
        first = part()
        if self._next.kind != word:
            return first
        operands = [self._truth(first, at)]
        while self._take(word):
            at = self._next.at
            operands.append(self._truth(part(), at))
        return kind(tuple(operands))

    def _condition(self) -> Expression:
        return self._chain("OR", Any)

    def _term(self) -> Expression:
        return self._chain("AND", All)

    def _factor(self) -> Expression:
        denied = asked = False
        while self._take("NOT"):
            denied, asked = not denied, True
        at = self._next.at
        found = self._predicate()
        if asked:
            found = self._truth(found, at)
        if not denied:
            return Not(Not(found)) if asked else found  # a double NOT of a value that is not a boolean is still unknown
        return Not(found)

    def _predicate(self) -> Expression:
        left_at = self._next.at
        left = self._sum()
        operator = self._take("=", "<>", *ORDERED)
        if operator is not None:
            right_at = self._next.at
            right = self._sum()
            for side, at in ((left, left_at), (right, right_at)):
                if operator.kind in ORDERED and isinstance(side, Constant) and isinstance(side.constant, str | bool):
                    raise SelectorError(f"{operator.kind} compares numbers only", at)
            return Comparison(operator.kind, left, right)
        if self._take("IS"):
            denied = self._take("NOT") is not None
            self._need("NULL")
            return Not(IsNull(left)) if denied else IsNull(left)
        denied = self._take("NOT") is not None
        found: Expression
        if self._take("BETWEEN"):
            low = self._sum()
            self._need("AND")
            return Between(left, low, self._sum(), denied)
        if self._take("IN"):
            found = In(left, self._strings())
        elif self._take("LIKE"):
            found = Like(left, self._pattern(), self._characters)
        elif denied:
            raise SelectorError(f"expected BETWEEN, IN or LIKE, not {self._next.shown}", self._next.at)
        else:
            return left
        return Not(found) if denied else found

    def _strings(self) -> frozenset[str]:
        self._need("(")
        strings = {str(self._need(TEXT).value)}
        while self._need(",", ")").kind == ",":
            strings.add(str(self._need(TEXT).value))
        return frozenset(strings)

    def _pattern(self) -> Pattern:
        pattern = self._need(TEXT)
        if not self._take("ESCAPE"):
            return Pattern(str(pattern.value))
        escape = self._need(TEXT)
        if len(str(escape.value)) != 1:
            raise SelectorError("the escape character is one character", escape.at)
        return Pattern(str(pattern.value), str(escape.value), pattern.at)

    def _sum(self) -> Expression:
        return self._arithmetic(self._product, "+", "-")

    def _product(self) -> Expression:
        return self._arithmetic(self._signed, "*", "/")

    def _arithmetic(self, part: Callable[[], Expression], *operators: str) -> Expression:
        first = part()
        others: list[tuple[str, Expression]] = []
        while operator := self._take(*operators):
            others.append((operator.kind, part()))
        return Arithmetic(first, tuple(others)) if others else first

    def _signed(self) -> Expression:
        sign = self._take("+", "-")
        if sign is None:
            return self._primary()
        negative = sign.kind == "-"
        while more := self._take("+", "-"):
            negative, sign = negative != (more.kind == "-"), more
        number = self._take(NUMBER)
        if number is not None:
            return Constant(self._exact(number, negative))
        found = self._primary()
        return Negative(found) if negative else Positive(found)

    def _exact(self, number: Token, negative: bool) -> int | float:
        value = number.value
        assert isinstance(value, int | float)
        if value == TOP and isinstance(value, int) and not negative:
            raise SelectorError("an exact number beyond 64 bits", number.at)
        return -value if negative else value

    def _primary(self) -> Expression:
        token = self._need(NAME, TEXT, NUMBER, "TRUE", "FALSE", "(")
        if token.kind == NAME:
            return Identifier(named_property(str(token.value)))
        if token.kind == NUMBER:
            return Constant(self._exact(token, False))
        if token.kind == "(":
            self._enter(token)
            found = self._condition()
            self._need(")")
            self._depth -= 1
            return found
        return Constant(token.value if token.kind == TEXT else token.kind == "TRUE")
