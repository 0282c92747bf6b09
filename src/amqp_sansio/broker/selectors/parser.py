"""The grammar of selectors (JMS 1.1, section 3.8.1.1), read by recursive descent.

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

from typing import Final

from amqp_sansio.broker.selectors.errors import SelectorError
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
    Positive,
)
from amqp_sansio.broker.selectors.like import Pattern
from amqp_sansio.broker.selectors.properties import named as named_property
from amqp_sansio.broker.selectors.tokens import END, NAME, NUMBER, TEXT, TOP, Token, named, tokens_of
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS, BrokerLimits

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
        first = self._product()
        others: list[tuple[str, Expression]] = []
        while operator := self._take("+", "-"):
            others.append((operator.kind, self._product()))
        return Arithmetic(first, tuple(others)) if others else first

    def _product(self) -> Expression:
        first = self._signed()
        others: list[tuple[str, Expression]] = []
        while operator := self._take("*", "/"):
            others.append((operator.kind, self._signed()))
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
