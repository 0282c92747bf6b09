"""Password verifiers: they tell right from wrong and hold nothing that lets one in."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from amqp_sansio import ClientConfig, ClientConnection, ServerConfig, ServerConnection
from amqp_sansio.adapters import access_files as module
from amqp_sansio.adapters.access_files import (
    Verifier,
    VerifierError,
    Verifiers,
    groups_of,
    read,
    read_rules,
    scram_keys,
    write,
    write_groups,
)
from amqp_sansio.broker import Kind, Request, Verb
from amqp_sansio.broker.access import RulesError
from amqp_sansio.config import Challenge
from amqp_sansio.engine.sasl import Scram, ScramServer, scram_secret
from amqp_sansio.events import Authenticated, ConnectionOpened, Event
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS, RULES_OCTETS

CHEAP = 16


def cheap(password: str) -> Verifier:
    return Verifier.make(password, n=CHEAP, iterations=4096)


def test_right_and_wrong(tmp_path: Path) -> None:
    path = str(tmp_path / "users")
    write(path, "alice", cheap("one"))
    write(path, "bjørn", cheap("smørrebrød"))
    found = Verifiers(path)
    for _ in range(2):  # asked again, it is remembered
        assert found.verify("alice", "one")
        assert found.verify("bjørn", "smørrebrød")
        assert not found.verify("alice", "two")
        assert not found.verify("alice", "")
        assert not found.verify("bob", "one")
        assert not found.verify("alice", "\udc80")
    assert not found.all_scram
    assert (found.scram("bjørn"), found.scram("bob")) == (None, None)


def test_no_password_is_in_the_file_nor_shown(tmp_path: Path) -> None:
    path = tmp_path / "users"
    verifier = cheap("verysecret")
    write(str(path), "alice", verifier)
    assert b"verysecret" not in path.read_bytes()
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    for secret in (verifier.salt, verifier.key, *(verifier.scram or ())[:3]):
        assert repr(secret) not in repr(verifier)
    assert "key" not in repr(verifier)
    assert repr(Verifiers(path)) == f"<Verifiers of 1 users in {str(path)!r}>"
    assert cheap("verysecret").key != verifier.key  # salted


def test_the_keys_of_scram_are_those_of_the_library() -> None:
    salt = bytes(range(16))
    assert scram_keys("pencil", salt, 4096) == scram_secret("pencil", salt=salt)
    assert scram_keys("smørrebrød", salt, 4096) is None
    assert scram_keys("tab\t", salt, 4096) is None


def test_scram_lets_in_clients_that_know_the_password(tmp_path: Path) -> None:
    path = str(tmp_path / "users")
    write(path, "alice", cheap("one"))
    found = Verifiers(path)
    for password, right in (("one", True), ("two", False)):
        client = ClientConnection(ClientConfig(mechanisms=(Scram("alice", password),)))
        server = ServerConnection(ServerConfig(mechanisms=(ScramServer(found.scram),)))
        heard: list[Event] = []
        for _ in range(10):
            server.receive_data(client.data_to_send())
            heard += server.events()
            client.receive_data(server.data_to_send())
            list(client.events())
        assert [event.identity for event in heard if isinstance(event, Authenticated)] == (["alice"] if right else [])


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    path = str(tmp_path / "users")
    write(path, "alice", cheap("one"))
    found = Verifiers(path)
    assert found.verify("alice", "one")
    write(path, "alice", cheap("two"))
    assert (found.verify("alice", "one"), found.verify("alice", "two")) == (False, True)
    write(path, "bob", cheap("three"))
    assert sorted(found.users) == ["alice", "bob"]
    os.unlink(path)
    assert found.verify("bob", "three")  # what was read stays, and that is told
    assert "cannot be read" in found.complaint
    write(path, "alice", cheap("one"))
    assert (sorted(found.users), found.complaint) == (["alice"], "")


def test_logins_are_remembered_and_failed_ones_push_out_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "users")
    write(path, "alice", cheap("one"))
    found = Verifiers(path)
    monkeypatch.setattr(module, "REMEMBERED", 3)
    asked = []

    def verify(self: Verifier, password: str) -> bool:
        asked.append(password)
        return password == "one"

    monkeypatch.setattr(Verifier, "verify", verify)
    for password in ("one", "a", "one", "b", "one", "c", "one", "a", "one"):
        assert found.verify("alice", password) == (password == "one")
    assert asked == ["one", "a", "b", "c", "a"]
    assert len(found._logins) == 1
    for password in "1234":  # each is right, now
        monkeypatch.setattr(Verifier, "verify", lambda self, said: True)
        assert found.verify("alice", password)
    assert len(found._logins) == 3


def test_remembered_verdicts_come_at_once_as_long_as_the_file_is_the_same(tmp_path: Path) -> None:
    path = str(tmp_path / "users")
    write(path, "alice", cheap("one"))
    found = Verifiers(path)
    assert not found.remembers("alice", "one"), "nobody has found out"
    assert found.verify("alice", "one")
    assert found.remembers("alice", "one")
    assert not any(found.remembers(*said) for said in (("alice", "two"), ("bob", "one"), ("alice", "\ud800")))
    write(path, "bob", cheap("three"))
    assert not found.remembers("alice", "one")


def test_the_login_that_is_pushed_out_is_the_one_that_was_not_used_for_longest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "users")
    for name in "abc":
        write(path, name, cheap(name))
    found = Verifiers(path)
    monkeypatch.setattr(module, "REMEMBERED", 2)
    asked = []

    def verify(self: Verifier, password: str) -> bool:
        asked.append(password)
        return True

    monkeypatch.setattr(Verifier, "verify", verify)
    for name in "abacab":
        assert found.verify(name, name)
    assert asked == ["a", "b", "c", "b"]


def test_a_login_is_not_remembered_when_the_file_changes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a password that was changed while it was checked would go on letting in."""
    path = str(tmp_path / "users")
    write(path, "alice", cheap("old"))
    found = Verifiers(path)
    real = Verifier.verify

    def verify(self: Verifier, password: str) -> bool:
        verdict = real(self, password)
        if password == "old" and "bob" not in found.users:
            write(path, "alice", cheap("new"))
            write(path, "bob", cheap("other"))
            assert "bob" in found.users
        return verdict

    monkeypatch.setattr(Verifier, "verify", verify)
    assert found.verify("alice", "old")  # when it was asked, it was so
    assert not found.verify("alice", "old")


def test_a_file_is_on_the_disk_before_it_takes_the_place_of_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    sync, replace = os.fsync, os.replace

    def synced(handle: int) -> None:
        steps.append("sync")
        sync(handle)

    def replaced(old: str, new: str) -> None:
        steps.append("replace")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    write(str(tmp_path / "users"), "alice", cheap("one"))
    assert steps == ["sync", "replace"]


def test_the_salt_of_a_name_that_nobody_has_is_always_the_same_and_lets_nobody_in(tmp_path: Path) -> None:
    """Also after a restart, and after users came and went: nobody learns who is in the file."""
    path = str(tmp_path / "users")
    write(path, "alice", cheap("one"))

    def salt(user: str) -> bytes:
        exchange = Verifiers(path).scram_server().start()
        first = exchange.step(f"n,,n={user},r=abc".encode())
        assert isinstance(first, Challenge)
        return first.octets.partition(b",s=")[2]

    before = salt("nobody"), salt("somebody"), salt("alice")
    write(path, "bob", cheap("two"))
    write(path, "alice", None)
    write(path, "alice", cheap("one"))
    assert (salt("nobody"), salt("somebody")) == before[:2]
    assert len({*before}) == 3
    assert len({len(each) for each in before}) == 1  # with the same number of iterations
    client = ClientConnection(ClientConfig(mechanisms=(Scram("nobody", "one"),)))
    server = ServerConnection(ServerConfig(mechanisms=(Verifiers(path).scram_server(),)))
    for _ in range(4):
        server.receive_data(client.data_to_send())
        assert not any(isinstance(event, Authenticated) for event in server.events())
        client.receive_data(server.data_to_send())
        assert not any(isinstance(event, ConnectionOpened) for event in client.events())
    assert server.closed_cause == "authentication failed: wrong name or password, or a SCRAM message that is not valid"


def test_a_stranger_costs_as_much_as_a_wrong_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "users")
    write(path, "alice", Verifier.make("one"))
    found = Verifiers(path)
    costs = []
    real = module._scrypt

    def cheaper(password: bytes, salt: bytes, n: int, r: int, p: int) -> bytes:
        costs.append((n, r, p))
        return real(password, salt, 2, r, p)

    monkeypatch.setattr(module, "_scrypt", cheaper)
    assert not found.verify("alice", "two")
    assert not found.verify("nobody", "two")
    assert costs[0] == costs[1]


def test_what_cannot_be_a_password_or_a_user(tmp_path: Path) -> None:
    for password in ("", "a\0b", "\udc80"):
        with pytest.raises(VerifierError, match=r"the password (is empty|has a character)"):
            cheap(password)
    for user in ("", "a\0b", "x" * 256, "line\nbreak", "\udc80"):
        with pytest.raises(VerifierError, match="the name of a user is"):
            write(str(tmp_path / "users"), user, cheap("one"))
    assert not (tmp_path / "users").exists()


def test_the_file_of_users_replaces_no_link_and_no_device(tmp_path: Path) -> None:
    link, file = tmp_path / "link", tmp_path / "users"
    link.symlink_to(file)
    for _ in range(2):
        write(str(link), "ann", cheap("one"))
        assert (link.is_symlink(), file.is_symlink(), list(read(str(file)))) == (True, False, ["ann"])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(VerifierError, match="pipe: is not a file"):
        write(str(pipe), "ann", None)
    with pytest.raises(VerifierError, match="pipe: is not a file"):
        write_groups(str(pipe), "ann", ("a",))
    assert pipe.is_fifo()


def test_users_are_replaced_and_taken_out(tmp_path: Path) -> None:
    path = str(tmp_path / "users")
    write(path, "alice", cheap("one"))
    write(path, "bob", cheap("two"))
    write(path, "alice", cheap("three"))
    assert list(read(path)) == ["alice", "bob"]
    write(path, "alice", None)
    assert list(read(path)) == ["bob"]
    with pytest.raises(VerifierError, match="no user 'alice'"):
        write(path, "alice", None)
    assert os.listdir(tmp_path) == ["users"]


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(VerifierError, match="cannot be written: No such file"):
        write(str(tmp_path / "no" / "users"), "alice", cheap("one"))
    (tmp_path / "folder").mkdir()
    with pytest.raises(VerifierError, match="cannot be read: Is a directory"):
        write(str(tmp_path / "folder"), "alice", cheap("one"))


def test_lines_that_are_none_are_reported_without_what_is_in_them(tmp_path: Path) -> None:
    path = tmp_path / "users"
    write(str(path), "alice", cheap("one"))
    good = json.loads(path.read_text().splitlines()[-1])
    bad: list[object] = [
        "alice:secret", [], {}, {**good, "user": 1}, {**good, "scrypt": {**good["scrypt"], "n": 3}},
        {**good, "scrypt": {**good["scrypt"], "n": 1 << 30}}, {**good, "scrypt": {**good["scrypt"], "r": 0}},
        {**good, "scrypt": {**good["scrypt"], "key": "?"}}, {**good, "scram-sha-256": {}}, {**good, "scram-sha-256": 7},
        {**good, "scram-sha-256": {**good["scram-sha-256"], "iterations": "many"}},
    ]  # fmt: skip
    for each in bad:
        path.write_text("# users\n\n" + json.dumps(good) + "\n" + json.dumps(each) + "\n")
        with pytest.raises(VerifierError) as caught:
            read(str(path))
        assert str(caught.value) == f"{path}: line 4 is not valid: delete it, and add its user again with `amqp-sansio passwd`"
    path.write_bytes(b"alice:secret\n")
    with pytest.raises(VerifierError, match="line 1 is not valid"):
        Verifiers(path)


def test_a_user_is_in_groups_until_they_are_set_again(tmp_path: Path) -> None:
    path = str(tmp_path / "users")
    write(path, "alice", Verifier.make("secret", n=2, iterations=1))
    assert Verifiers(path).users["alice"].groups == ()
    write_groups(path, "alice", ("staff", "ops"))
    assert Verifiers(path).users["alice"].groups == ("staff", "ops")
    assert Verifiers(path).verify("alice", "secret")
    write(path, "alice", Verifier.make("other", n=2, iterations=1))
    assert Verifiers(path).users["alice"].groups == ("staff", "ops")
    write_groups(path, "alice", ())
    assert Verifiers(path).users["alice"].groups == ()
    for user, groups, words in (
        ("bob", (), "no user 'bob'"),
        ("alice", ("@staff",), "does not begin with @"),
        ("alice", ("",), "1 to 255"),
    ):
        with pytest.raises(VerifierError, match=words):
            write_groups(path, user, groups)
    Path(path).write_text(Path(path).read_text().replace('"scrypt"', '"groups": "staff", "scrypt"'))
    with pytest.raises(VerifierError, match="line 2"):
        Verifiers(path)


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
