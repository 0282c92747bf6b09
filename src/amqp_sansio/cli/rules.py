"""`amqp-sansio rules check`: evaluates a file of rules for one request, with the reason."""

from __future__ import annotations

import json

import attrs

from amqp_sansio.adapters.access_files import Verifiers, read_rules, warnings
from amqp_sansio.broker import Kind, Request, Verb
from amqp_sansio.broker.access import LEGAL
from amqp_sansio.cli.output import complain
from amqp_sansio.errors import AmqpError
from amqp_sansio.errors.core import many


class RequestError(AmqpError):
    """The arguments are not a valid request."""


@attrs.frozen(kw_only=True)
class RulesOptions:
    """The arguments."""

    file: str
    identity: str | None = None
    words: tuple[str, ...] = ()
    """VERB KIND NAME."""
    key: str | None = None
    host: str = ""
    auth: str | None = None
    json: bool = False


def check(asked: RulesOptions) -> int:
    """Prints the decision.  Returns 0 if allowed, 1 if denied; without a request only checks the file: 0.

    Raises RulesError or RequestError.
    """
    rules = read_rules(asked.file, None if asked.auth is None else Verifiers(asked.auth))
    for text in warnings(asked.file, rules):
        complain(text if asked.auth is not None else f"{text} (without --auth no group is known)")
    if asked.identity is None and not asked.words:
        default = "allow" if rules.default else "deny"
        said: dict[str, object] = {"file": asked.file, "rules": len(rules.rules), "default": default}
        print(json.dumps(said) if asked.json else f"{asked.file}: {many(len(rules.rules), 'rule')}, else {default}")
        return 0
    request = _request(asked)
    decision = rules.decide(request)
    if asked.json:
        rule = decision.rule
        print(json.dumps({
            "allowed": decision.allow,
            "line": None if rule is None else rule.line,
            "rule": None if rule is None else str(rule),
        }))  # fmt: skip
    else:
        print(decision)
    return 0 if decision.allow else 1


def _request(asked: RulesOptions) -> Request:
    if asked.identity is None or len(asked.words) != 3:
        raise RequestError("a request is --as NAME VERB KIND NAME: --as alice consume queue orders")
    verb, kind, name = asked.words
    if kind not in (Kind.EXCHANGE, Kind.QUEUE, Kind.HOST):
        raise RequestError(f"{kind!r} is not a kind: exchange, queue or host; give a routing key with --key")
    if verb not in LEGAL[Kind(kind)]:
        raise RequestError(f"{verb!r} is not a verb for {kind}: use one of {', '.join(LEGAL[Kind(kind)])}")
    host = name if kind == Kind.HOST else asked.host
    keyed = kind == Kind.EXCHANGE and verb in LEGAL[Kind.KEY]
    if asked.key is not None and not keyed:
        raise RequestError("--key goes with publish, bind or unbind and an exchange")
    return Request(asked.identity, Verb(verb), Kind(kind), name, (asked.key or "") if keyed else None, host)
