"""A file of rules, with the groups of a file of verifiers."""

from __future__ import annotations

from pathlib import Path

import pytest

from amqp_sansio.adapters.rule_file import groups_of, read_rules
from amqp_sansio.adapters.verifiers import Verifier, Verifiers, write, write_groups
from amqp_sansio.broker import Kind, Request, Verb
from amqp_sansio.broker.access.rule_text import RulesError
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS, RULES_OCTETS

STAFF = 'default = "deny"\n[[rule]]\nallow = "@staff"\nqueue = "*"\n'


def test_groups_come_from_the_users(tmp_path: Path) -> None:
    users, file = str(tmp_path / "users"), tmp_path / "rules.toml"
    for name in ("alice", "bob"):
        write(users, name, Verifier.make("secret", n=2, iterations=1))
    write_groups(users, "alice", ("staff", "ops"))
    file.write_text(STAFF)
    assert groups_of(Verifiers(users)) == {"staff": frozenset(["alice"]), "ops": frozenset(["alice"])}
    for verifiers, expected in ((Verifiers(users), {"alice"}), (None, set())):
        rules = read_rules(str(file), verifiers)
        requests = [Request(name, Verb.CONSUME, Kind.QUEUE, "q") for name in ("alice", "bob")]
        assert {each.identity for each in requests if rules.decide(each).allow} == expected


def test_what_cannot_be_read_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    with pytest.raises(RulesError, match="cannot be read: No such file"):
        read_rules(str(file))
    file.write_bytes(b'default = "deny"\n# \xff')
    with pytest.raises(RulesError, match="line 2: is not UTF-8"):
        read_rules(str(file))


def test_a_file_has_limits(tmp_path: Path) -> None:
    file, head = tmp_path / "rules.toml", b'default = "deny"\n#'
    for size in (RULES_OCTETS - 1, RULES_OCTETS):
        file.write_bytes(head.ljust(size, b"x"))
        assert read_rules(str(file)).rules == ()
    file.write_bytes(head.ljust(RULES_OCTETS + 1, b"x"))
    with pytest.raises(RulesError, match="more than 1048576 octets"):
        read_rules(str(file))
    names = ", ".join([f'"{number}"' for number in range(DEFAULT_BROKER_LIMITS.rules)])
    file.write_text(f'default = "deny"\n[[rule]]\nallow = [{names}]\nqueue = "q"\n')
    assert len(read_rules(str(file)).rules) == DEFAULT_BROKER_LIMITS.rules
    file.write_text(f'default = "deny"\n[[rule]]\nallow = [{names}]\nqueue = "q"\n[[rule]]\nallow = "x"\nqueue = "q"\n')
    with pytest.raises(RulesError, match="line 5: here is one more than 4096 rules"):
        read_rules(str(file))
