"""Reads access rules from a file, with the groups that a file of verifiers defines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from amqp_sansio.adapters.verifiers import Verifiers
from amqp_sansio.broker import Rules
from amqp_sansio.broker.access.rule_text import RulesError, parse_rules
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS, RULES_OCTETS


def read_rules(path: str, verifiers: Verifiers | None = None) -> Rules:
    """Returns the rules of a file, in the syntax of `parse_rules`.

    Raises RulesError, with the line, when the file cannot be read or is not valid.  `verifiers` has the members of groups;
    without it all groups are empty.
    """
    try:
        with Path(path).open("rb") as file:
            octets = file.read(RULES_OCTETS + 1)
    except OSError as error:
        raise RulesError(path, None, f"cannot be read: {error.strerror}") from None
    if len(octets) > RULES_OCTETS:
        raise RulesError(path, None, f"has more than {RULES_OCTETS} octets (RULES_OCTETS)")
    try:
        text = octets.decode()
    except UnicodeDecodeError as error:
        raise RulesError(path, octets.count(b"\n", 0, error.start) + 1, "is not UTF-8") from None
    rules = parse_rules(text, path, groups_of(verifiers))
    most = DEFAULT_BROKER_LIMITS.rules
    if len(rules.rules) > most:
        raise RulesError(path, rules.rules[most].line, f"here is one more than {most} rules (limit rules)")
    return rules


def warnings(path: str, rules: Rules) -> list[str]:
    """Returns one warning for each line of a file of rules that names a group without members."""
    lines = {(rule.line, rule.who[1:]): None for rule in rules.idle}
    return [f"warning: {path}: line {line}: nobody is in group {name!r}" for line, name in lines]


def groups_of(verifiers: Verifiers | None) -> Mapping[str, frozenset[str]]:
    """Returns the members of each group."""
    groups: dict[str, set[str]] = {}
    for name, verifier in ({} if verifiers is None else verifiers.users).items():
        for group in verifier.groups:
            groups.setdefault(group, set()).add(name)
    return {group: frozenset(names) for group, names in groups.items()}
