"""Access rules: which users may, or may not, do what with which exchanges, queues, routing keys and virtual hosts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from itertools import product
from typing import Any, Final, NamedTuple, TypeAlias

import attrs

from amqp_sansio.broker.conditions import ACCESS_DENIED, Refused
from amqp_sansio.broker.model.exchange import ALIASES
from amqp_sansio.broker.selectors.expressions import Pattern
from amqp_sansio.errors import AmqpError, EncodeError
from amqp_sansio.limits import PATTERN_OCTETS

EVERYBODY: Final = "*"
GROUP: Final = "@"
"""The prefix of a group's name in a rule."""
USER: Final = "{user}"
"""In a pattern: the name of the user."""


class Verb(StrEnum):
    """The action of a request."""

    CREATE = "create"
    DELETE = "delete"
    PURGE = "purge"
    BIND = "bind"
    UNBIND = "unbind"
    PUBLISH = "publish"
    CONSUME = "consume"
    """Remove messages from a queue: an acquiring or exclusive subscription, message.acquire."""
    BROWSE = "browse"
    """See messages of a queue without taking them."""
    QUERY = "query"
    """Query the existence and state of something: the queries, exchange.bound, declare with `passive`."""
    OPEN = "open"
    """Open a virtual host with a connection."""
    MANAGE = "manage"
    """Settle and list branches of distributed transactions that another identity began."""


class Kind(StrEnum):
    """The kind of object of a request."""

    EXCHANGE = "exchange"
    QUEUE = "queue"
    KEY = "key"
    """A routing key (publish) or binding key (bind, unbind) at some exchange."""
    HOST = "host"
    """A virtual host."""


_KEYED: Final = (Verb.BIND, Verb.UNBIND, Verb.PUBLISH)
LEGAL: Final[dict[Kind, tuple[Verb, ...]]] = {
    Kind.EXCHANGE: (Verb.CREATE, Verb.DELETE, *_KEYED, Verb.QUERY),
    Kind.QUEUE: (Verb.CREATE, Verb.DELETE, Verb.PURGE, *_KEYED, Verb.CONSUME, Verb.BROWSE, Verb.QUERY),
    Kind.KEY: _KEYED,
    Kind.HOST: (Verb.OPEN, Verb.MANAGE),
}
"""The verbs for each kind.  Publishing to a queue is publishing to the default exchange with its name as the key."""


@attrs.frozen
class Request:
    """A client's request, as rules and the application's function judge it."""

    identity: str
    """The client's authenticated identity; "" when it is anonymous."""
    verb: Verb
    kind: Kind
    """EXCHANGE, QUEUE or HOST; a key comes with its exchange."""
    name: str
    """The name of the object; an alias of an exchange counts as its common name, so that rules about it cannot be bypassed."""
    key: str | None = None
    """The routing or binding key, where the verb has one.

    None also for the alternate exchange of a new object, which gets messages with any key.
    """
    host: str = ""
    """The virtual host of the object."""

    def __attrs_post_init__(self) -> None:
        if self.kind is Kind.EXCHANGE and self.name in ALIASES:
            object.__setattr__(self, "name", ALIASES[self.name])

    def __str__(self) -> str:
        who = repr(self.identity) if self.identity else "anonymous"
        key = "" if self.key is None or self.kind is not Kind.EXCHANGE else f" with key {self.key!r}"
        return f"{who} may not {self.verb} {self.kind} {self.name!r}{key}"


def _text(instance: object, attribute: attrs.Attribute[str], value: object) -> None:
    if type(value) is not str or len(value.encode("utf-8", "surrogatepass")) > PATTERN_OCTETS:
        raise EncodeError(f"Rule.{attribute.name}", f"text of at most {PATTERN_OCTETS} octets (PATTERN_OCTETS), not {value!r}")


def _verbs(given: Iterable[Verb] | None) -> frozenset[Verb] | None:
    return None if given is None else frozenset(given)


@attrs.frozen(kw_only=True)
class Rule:
    """One rule.  Raises EncodeError for one that could never apply: a verb that its kind does not have, an empty name.

    In patterns `*` matches any sequence of characters and `{user}` the user's name; all else matches itself.
    """

    allow: bool
    who: str = attrs.field(default=EVERYBODY, validator=_text)
    """A name, "@" and the name of a group, "*" for everybody, "" for anonymous clients."""
    verbs: frozenset[Verb] | None = attrs.field(default=None, converter=_verbs)
    """The verbs that it covers; None: all of its kind."""
    kind: Kind
    pattern: str = attrs.field(default="*", validator=_text)
    """The pattern of names."""
    exchange: str = attrs.field(default="*", validator=_text)
    """With kind KEY: a pattern of exchanges."""
    host: str = attrs.field(default="*", validator=_text)
    """A pattern of virtual hosts; with kind HOST, `pattern` is used instead."""
    line: int | None = attrs.field(default=None, eq=False)
    """Its line in its file, from 1; None: it is not from a file."""

    def __attrs_post_init__(self) -> None:
        if type(self.allow) is not bool:
            raise EncodeError("Rule.allow", f"True or False, not {self.allow!r}")
        if not isinstance(self.kind, Kind):
            raise EncodeError("Rule.kind", f"one of {', '.join(Kind)}, not {self.kind!r}")
        legal = LEGAL[self.kind]
        for verb in self.verbs or ():
            if verb not in legal:
                raise EncodeError("Rule.verbs", f"{self.kind}: one of {', '.join(legal)}, not {verb}")
        if self.verbs is not None and not self.verbs:
            raise EncodeError("Rule.verbs", "at least one, or None for all")
        if self.exchange != "*" and self.kind is not Kind.KEY:
            raise EncodeError("Rule.exchange", "belongs to a rule of kind key; of kind exchange `pattern` names them")
        if not self.pattern and self.kind in (Kind.EXCHANGE, Kind.QUEUE):
            default = "; what is published to the default exchange is judged as published to the queue: kind queue"
            more = default if self.kind is Kind.EXCHANGE else ""
            raise EncodeError("Rule.pattern", f"is empty, and every {self.kind} has a name{more}")
        if self.host != "*" and self.kind is Kind.HOST:
            raise EncodeError("Rule.host", "of kind host `pattern` names them")

    def __str__(self) -> str:
        verbs = "anything" if self.verbs is None else ", ".join([each for each in Verb if each in self.verbs])
        at = f" at exchange {self.exchange!r}" if self.exchange != "*" else ""
        within = f" in host {self.host!r}" if self.host != "*" else ""
        who = self.who or "anonymous"
        return f"{'allow' if self.allow else 'deny'} {who}: {verbs}, {self.kind} {self.pattern!r}{at}{within}"


class Glob:
    """A pattern of a rule, for one identity.  Matching costs at most the length of the text for each `*` in it."""

    __slots__ = ("_like", "everything")

    def __init__(self, pattern: str, identity: str) -> None:
        self.everything: Final = pattern == "*"
        parts = [_literal(part.replace(USER, identity)) for part in pattern.split("*")]
        self._like: Final = Pattern("%".join(parts), "\\")

    def matches(self, text: str) -> bool:
        """Whether the pattern matches the whole text."""
        return self.everything or self._like.matches(text)


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


CACHED: Final = 16384
"""The most cached decisions; beyond it all are dropped."""
COMPILED: Final = 256
"""The most identities with cached rules; beyond it all are dropped."""


class Decision(NamedTuple):
    """The decision of rules about a request."""

    allow: bool
    rule: Rule | None
    """The deciding rule; None: the default decides."""

    def __str__(self) -> str:
        if self.rule is None:
            return f"{'allowed' if self.allow else 'denied'} by default: no rule matches"
        where = "" if self.rule.line is None else f" in line {self.rule.line}"
        return f"{'allowed' if self.allow else 'denied'} by the rule{where}: {self.rule}"


class _Line(NamedTuple):
    """One rule, resolved for one identity."""

    rule: Rule
    verbs: frozenset[Verb] | None
    name: Glob
    exchange: Glob
    host: Glob


class Rules:
    """Rules in their order, the default for what none of them matches, and the groups that they name.

    The default does not count for MANAGE: branches belong to the identity that began them unless a rule says otherwise.

    A request names one exchange, queue or virtual host; where a command touches several (exchange.bind: an exchange and a
    queue) each is a request of its own, and all must be allowed.  A routing key goes with its exchange: for both together
    the rules of kind exchange and of kind key count, whichever matches first.
    """

    def __init__(
        self, rules: Iterable[Rule] = (), *, default: bool = False, groups: Mapping[str, Iterable[str]] | None = None
    ) -> None:
        self.rules: Final = tuple(rules)
        self.default: Final = default
        """The decision where no rule matches: True allows."""
        self.groups: Final[Mapping[str, frozenset[str]]] = {
            name: frozenset(members) for name, members in (groups or {}).items()
        }
        """The members of each group, by its name without "@"."""
        if type(default) is not bool:
            raise EncodeError("Rules.default", f"True or False, not {default!r}")
        for each in self.rules:
            if not isinstance(each, Rule):
                raise EncodeError("Rules.rules", f"takes rules, not {type(each).__name__}")
        self.keyed: Final = frozenset(
            [verb for verb in Verb for each in self.rules if each.kind is Kind.KEY and _about(each.verbs, verb)]
        )
        """The verbs for which the key may matter."""
        self._decided: dict[tuple[object, ...], Decision] = {}
        self._lines: dict[str, tuple[_Line, ...]] = {}

    @property
    def idle(self) -> tuple[Rule, ...]:
        """The rules about groups without members, which match no request.  Perhaps the group's name is misspelt."""
        return tuple([
            each for each in self.rules if each.who.startswith(GROUP) and not self.groups.get(each.who[1:])
        ])  # fmt: skip

    def decide(self, request: Request) -> Decision:
        """Decides a request; returns the decision and the deciding rule."""
        identity, verb, kind, name, key, host = (
            request.identity, request.verb, request.kind, request.name, request.key, request.host,
        )  # fmt: skip
        asked = (identity, verb, kind, name, key if verb in self.keyed else "", host)
        decided = self._decided.get(asked)
        if decided is None:
            if len(self._decided) >= CACHED:
                self._decided.clear()
            decided = self._decided[asked] = self._decide(request)
        return decided

    def _decide(self, request: Request) -> Decision:
        for line in self._of(request.identity):
            if _about(line.verbs, request.verb) and _matches(line, request):
                return Decision(line.rule.allow, line.rule)
        # Branches belong to their identity unless a rule says otherwise.
        return Decision(self.default and request.verb is not Verb.MANAGE, None)

    def _of(self, identity: str) -> tuple[_Line, ...]:
        """Returns the rules that apply to an identity."""
        lines = self._lines.get(identity)
        if lines is None:
            if len(self._lines) >= COMPILED:
                self._lines.clear()
            lines = self._lines[identity] = tuple([
                _Line(
                    each,
                    each.verbs,
                    Glob(ALIASES.get(each.pattern, each.pattern) if each.kind is Kind.EXCHANGE else each.pattern, identity),
                    Glob(ALIASES.get(each.exchange, each.exchange), identity),
                    Glob(each.host, identity),
                )
                for each in self.rules
                if self._names(each.who, identity)
            ])  # fmt: skip
        return lines

    def _names(self, who: str, identity: str) -> bool:
        if who.startswith(GROUP):
            return identity in self.groups.get(who[1:], ())
        return who in (EVERYBODY, identity)

    def __repr__(self) -> str:
        return f"<Rules: {len(self.rules)}, else {'allow' if self.default else 'deny'}>"


def _about(verbs: frozenset[Verb] | None, verb: Verb) -> bool:
    return verbs is None or verb in verbs


def _matches(line: _Line, request: Request) -> bool:
    rule = line.rule
    if rule.kind is Kind.HOST:
        return request.kind is Kind.HOST and line.name.matches(request.name)
    if not line.host.matches(request.host):
        return False
    if rule.kind is not Kind.KEY:
        return request.kind is rule.kind and line.name.matches(request.name)
    if request.kind is not Kind.EXCHANGE or request.verb not in _KEYED:
        return False
    if not line.exchange.matches(request.name):
        return False
    if request.key is None:  # any key: a rule that denies some keys denies it, a rule that allows some keys does not allow it
        return line.name.everything or not rule.allow
    return line.name.matches(request.key)


# --- the broker's guard ---------------------------------------------------------------------------------------------------

Access: TypeAlias = Rules | Callable[[Request], bool]
"""Rules, or the application's function that judges each request.

When the function raises, the broker's `next_event` raises the exception, and the command is not executed.
"""


class Guard:
    """Judges by rules or by a function."""

    def __init__(self, access: Access) -> None:
        if not callable(access) and not isinstance(access, Rules):
            raise EncodeError("access", f"takes Rules or a function, not {type(access).__name__}")
        self._judge: Final[Callable[[Request], bool]] = _by(access) if isinstance(access, Rules) else access

        self._remembers: Final = isinstance(access, Rules)
        self._with_keys: Final = isinstance(access, Rules) and Verb.PUBLISH in access.keyed
        self._publishes: Final[set[tuple[str, str, str, str]]] = set()  # allowed publishes: one lookup for each message

    def may(self, request: Request) -> bool:
        """Returns whether the request is allowed."""
        return self._judge(request)

    def demand(self, request: Request) -> None:
        """Raises Refused unless the request is allowed.

        The text names the user, the verb and the object, but does not reveal what exists.
        """
        if not self._judge(request):
            raise Refused(ACCESS_DENIED, why=str(request))

    def demand_publish(self, identity: str, host: str, exchange: str, key: str) -> None:
        """Raises Refused unless publishing there is allowed.  At the default exchange, "", the key is the name of a queue."""
        asked = (identity, host, exchange, key if self._with_keys or not exchange else "")
        if asked in self._publishes:
            return
        if exchange:
            self.demand(Request(identity, Verb.PUBLISH, Kind.EXCHANGE, exchange, key, host))
        else:
            self.demand(Request(identity, Verb.PUBLISH, Kind.QUEUE, key, None, host))
        if self._remembers:
            if len(self._publishes) >= CACHED:
                self._publishes.clear()
            self._publishes.add(asked)

    def manages(self, identity: str, host: str) -> bool:
        """Returns whether an identity may settle branches that another one began."""
        return self._judge(Request(identity, Verb.MANAGE, Kind.HOST, host, None, host))


def _by(rules: Rules) -> Callable[[Request], bool]:
    def judge(request: Request) -> bool:
        return rules.decide(request).allow

    return judge


# --- rules written as TOML ------------------------------------------------------------------------------------------------

_HEADER: Final = re.compile(r"\s*\[\[\s*(['\"]?)rule\1\s*\]\]")
_AT: Final = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")
_NAMES: Final = ("allow", "deny", "verb", "exchange", "queue", "key", "host")
_SPOKEN: Final = {"allow": True, "deny": False}


class RulesError(AmqpError, ValueError):
    """Rules that cannot be parsed: `source` is their origin, `why` the fault, `line` its line, from 1, or None."""

    source: str
    line: int | None
    why: str

    def _text(self) -> str:
        return f"{self.source}: {'' if self.line is None else f'line {self.line}: '}{self.why}"


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
