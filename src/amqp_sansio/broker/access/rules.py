"""The access rules of a broker: the first that matches decides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from amqp_sansio.broker.access.rule import EVERYBODY, GROUP, Glob, Kind, Request, Rule, Verb
from amqp_sansio.broker.routing.exchange import ALIASES
from amqp_sansio.errors import EncodeError

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
    if request.kind is not Kind.EXCHANGE or request.verb not in (Verb.PUBLISH, Verb.BIND, Verb.UNBIND):
        return False
    if not line.exchange.matches(request.name):
        return False
    if request.key is None:  # any key: a rule that denies some keys denies it, a rule that allows some keys does not allow it
        return line.name.everything or not rule.allow
    return line.name.matches(request.key)
