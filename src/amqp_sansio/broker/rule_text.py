"""Rules written as TOML: a default, and tables `[[rule]]` in the order in which they count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, Final

from amqp_sansio.broker.access import EVERYBODY, LEGAL, Kind, Rule, Rules, Verb
from amqp_sansio.errors import AmqpError, EncodeError

_HEADER: Final = re.compile(r"\s*\[\[\s*(['\"]?)rule\1\s*\]\]")
_AT: Final = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")
_NAMES: Final = ("allow", "deny", "verb", "exchange", "queue", "key", "host")
_SPOKEN: Final = {"allow": True, "deny": False}


class RulesError(AmqpError, ValueError):
    """Rules that cannot be parsed: `source` is their origin, `why` the fault, `line` its line, from 1, or None."""

    def __init__(self, source: str, line: int | None, why: str) -> None:
        super().__init__(f"{source}: {'' if line is None else f'line {line}: '}{why}", made=(source, line, why))
        self.source: Final = source
        self.line: Final = line
        self.why: Final = why


def parse_rules(text: str, source: str = "rules", groups: Mapping[str, Iterable[str]] | None = None) -> Rules:
    """Parses rules.  Raises RulesError, with the line, for invalid ones.

    `default` is "allow" or "deny".  A rule has `allow` or `deny`, with a name, "@group", "*" or a list of them; `verb`, one or
    a list (absent: all); and its objects: `exchange`, `queue`, `key` (at all exchanges, or with `exchange` at those) or `host`,
    each a pattern or a list of patterns.  `host` beside another one limits the rule to those virtual hosts.
    """
    return _Reading(text, source).rules(groups)


class _Reading:
    """A text being parsed.  The TOML parser gives no line numbers, so they are searched for when an error needs one."""

    def __init__(self, text: str, source: str) -> None:
        self._lines: Final = text.splitlines()
        self._source: Final = source
        self._headers: Final = [number for number, line in enumerate(self._lines, 1) if _HEADER.match(line)]
        import tomllib  # imported here: without a file of rules it is not needed

        try:
            self._found: Final[dict[str, Any]] = tomllib.loads(text)  # Any: the values are checked below
        except tomllib.TOMLDecodeError as error:
            at = _AT.search(str(error))
            line = int(at[1]) if at is not None and at[1] else len(self._lines) or 1
            raise RulesError(source, line, _AT.sub("", str(error)).strip()) from None

    def rules(self, groups: Mapping[str, Iterable[str]] | None) -> Rules:
        """Returns all rules."""
        for name in self._found:
            if name not in ("default", "rule"):
                raise self._wrong(self._line_of(name, 0), f"there is no {name!r}; there are default and [[rule]]")
        default = self._found.get("default")
        if default not in ("allow", "deny"):
            given = "it is missing" if default is None else f"not {default!r}"
            raise self._wrong(self._line_of("default", 0), f'default is "allow" or "deny": {given}')
        tables = self._found.get("rule", [])
        if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
            raise self._wrong(self._line_of("rule", 0), "rules are tables [[rule]]")
        made = [rule for number, table in enumerate(tables) for rule in self._rules_of(table, number)]
        return Rules(made, default=_SPOKEN[default], groups=groups)

    def _rules_of(self, table: dict[str, Any], number: int) -> list[Rule]:
        start = self._headers[number] if number < len(self._headers) else None
        for name in table:
            if name not in _NAMES:
                raise self._wrong(self._line_of(name, start), f"a rule has no {name!r}; it has {', '.join(_NAMES)}")
        texts = {name: self._texts(name, value, start) for name, value in table.items()}
        spoken = [name for name in ("allow", "deny") if name in texts]
        if len(spoken) != 1:
            raise self._wrong(start, "a rule has either allow or deny")
        kinds = [kind for kind in (Kind.QUEUE, Kind.KEY, Kind.EXCHANGE, Kind.HOST) if kind in texts]
        if not kinds:
            raise self._wrong(start, f"a rule names what it is about: {', '.join(Kind)}")
        kind = kinds[0]
        if kind is Kind.QUEUE and any(other in texts for other in (Kind.KEY, Kind.EXCHANGE)):
            raise self._wrong(start, "a rule is about a queue, or about exchanges and keys: write two")
        verbs = self._verbs(texts.get("verb"), kind, start)
        exchanges = texts.get("exchange", ["*"]) if kind is Kind.KEY else ["*"]
        hosts = texts.get("host", ["*"]) if kind is not Kind.HOST else ["*"]
        try:
            return [
                Rule(allow=_SPOKEN[spoken[0]], who=who, verbs=verbs, kind=kind, pattern=pattern, exchange=exchange, host=host,
                     line=start)
                for who, pattern, exchange, host in product(texts[spoken[0]], texts[kind], exchanges, hosts)
            ]  # fmt: skip
        except EncodeError as error:
            raise self._wrong(start, str(error)) from None

    def _texts(self, name: str, value: object, start: int | None) -> list[str]:
        values: list[object] = value if isinstance(value, list) else [value]
        texts = [each for each in values if isinstance(each, str)]
        if not texts or len(texts) < len(values):
            raise self._wrong(self._line_of(name, start), f"{name} is a text, or a list of texts")
        return texts

    def _verbs(self, texts: list[str] | None, kind: Kind, start: int | None) -> frozenset[Verb] | None:
        if texts is None or texts == [EVERYBODY]:
            return None
        for text in texts:
            if text not in LEGAL[kind]:
                legal = ", ".join(LEGAL[kind])
                raise self._wrong(self._line_of("verb", start), f"{text!r} is not a verb for {kind}: use one of {legal}")
        return frozenset([Verb(text) for text in texts])

    def _line_of(self, name: str, start: int | None) -> int | None:
        """Returns the first line from `start` on with that name; `start` when there is none."""
        if start is None:
            return None
        said = re.compile(rf"\s*(\[*\s*)?['\"]?{re.escape(name)}['\"]?\s*[=\].]")
        for number, line in enumerate(self._lines[start:], start + 1):
            if start and _HEADER.match(line):
                break
            if said.match(line):
                return number
        return start or None

    def _wrong(self, line: int | None, why: str) -> RulesError:
        return RulesError(self._source, line, why)
