"""`amqp-sansio rules check`, and `serve --allow`."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from tests.adapters.conditions import eventually
from tests.cli.serving import Serving, run

from amqp_sansio.adapters.access_files import Verifier, write, write_groups
from amqp_sansio.adapters.sync import Connection, connect
from amqp_sansio.cli.main import main
from amqp_sansio.cli.rules import RequestError, RulesOptions, check
from amqp_sansio.errors import SessionFailed

RULES = """\
default = "deny"

[[rule]]
allow = "*"
verb = "open"
host = "*"

[[rule]]
deny = "bob"
queue = "secret"

[[rule]]
allow = "@staff"
queue = "*"

[[rule]]
allow = "*"
verb = "publish"
exchange = "amq.*"
key = "new.*"
"""


@pytest.fixture
def users(tmp_path: Path) -> str:
    path = str(tmp_path / "users")
    for name in ("alice", "bob"):
        write(path, name, Verifier.make("secret"))
        write_groups(path, name, ("staff",))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rules.toml"
    path.write_text(RULES)
    return path


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ([], 0, "{file}: 4 rules, else deny"),
        (["--as", "alice", "consume", "queue", "x"], 0, "allowed by the rule in line 12: allow @staff: anything, queue '*'"),
        (["--as", "bob", "consume", "queue", "secret"], 1, "denied by the rule in line 8: deny bob: anything, queue 'secret'"),
        (["--as", "carol", "consume", "queue", "orders"], 1, "denied by default: no rule matches"),
        (["--as", "carol", "publish", "exchange", "amq.topic", "--key", "new.eu"], 0,
         "allowed by the rule in line 16: allow *: publish, key 'new.*' at exchange 'amq.*'"),
        (["--as", "carol", "publish", "exchange", "amq.topic", "--key", "old"], 1, "denied by default: no rule matches"),
        (["--as", "", "open", "host", "x"], 0, "allowed by the rule in line 3: allow *: open, host '*'"),
        (["--as", "alice", "manage", "host", "x"], 1, "denied by default: no rule matches"),
    ],
)  # fmt: skip
def test_the_rule_that_decides_is_reported(
    words: list[str], status: int, said: str, file: Path, users: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rules", "check", str(file), "--auth", users, *words]) == status
    assert capsys.readouterr().out == said.format(file=file) + "\n"
    assert main(["rules", "check", str(file), "--auth", users, "--json", *words]) == status
    told = json.loads(capsys.readouterr().out)
    assert told == {"file": str(file), "rules": 4, "default": "deny"} if not words else told["allowed"] is (status == 0)


@pytest.mark.parametrize(
    ("identity", "words", "key", "wrong"),
    [
        ("x", ("consume", "queue"), None, "--as NAME VERB KIND NAME"),
        (None, ("consume", "queue", "q"), None, "--as NAME VERB KIND NAME"),
        ("x", ("consume", "key", "q"), None, "'key' is not a kind"),
        ("x", ("consume", "exchange", "q"), None, "'consume' is not a verb for exchange: use one of create"),
        ("x", ("consume", "queue", "q"), "k", "--key goes with publish, bind or unbind"),
    ],
)
def test_what_is_no_request_is_refused(
    identity: str | None, words: tuple[str, ...], key: str | None, wrong: str, file: Path
) -> None:
    with pytest.raises(RequestError, match=wrong):
        check(RulesOptions(file=str(file), identity=identity, words=words, key=key))


def test_a_file_that_is_wrong_is_reported_with_its_line_before_anything_begins(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text('default = "deny"\n[[rule]]\nallow = "x"\nquue = "q"\n')
    said = f"amqp-sansio: {path}: line 4: a rule has no 'quue'; it has allow, deny, verb, exchange, queue, key, host\n"
    for words in (("rules", "check", str(path)), ("serve", "--port", "0", "--allow", str(path))):
        done = run(*words)
        assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", said)


def test_without_rules_a_server_says_so_in_one_line() -> None:
    with Serving() as serving:
        assert serving.stop() == 0
        assert serving.out.read() == b"amqp-sansio: every user may do everything (see --allow)\n"


def test_rules_are_read_again_on_sighup_and_wrong_ones_change_nothing(file: Path, users: str) -> None:
    with Serving("--auth", users, "--allow", str(file)) as serving:
        url = serving.url.replace("//", "//bob:secret@")
        with connect(url) as connection:
            with pytest.raises(SessionFailed) as refused, connection.session() as session:
                session.declare_queue("secret")
            assert (refused.value.code, refused.value.text) == (403, "'bob' may not create queue 'secret'")
            with pytest.raises(SessionFailed) as revoked:
                until_revoked(connection, serving, file)
            assert (revoked.value.code, revoked.value.text) == (403, "'bob' may not consume queue 'open'")
        assert serving.stop() == 0
        wrong, again = serving.errors.splitlines()
        wrong_line = 'line 1: default is "allow" or "deny": not 7'
        assert wrong == f"amqp-sansio: {file}: {wrong_line}; the server keeps the previous rules"
        assert again == f"amqp-sansio: {file}: the rules were read again"


def until_revoked(connection: Connection, serving: Serving, file: Path) -> None:
    with connection.session() as session:
        session.declare_queue("open")
        with session.subscribe("open") as messages:
            file.write_text("default = 7\n")
            serving.process.send_signal(signal.SIGHUP)
            eventually(lambda: "the server keeps the previous rules" in serving.errors)
            session.declare_queue("another")
            file.write_text('default = "deny"\n')
            serving.process.send_signal(signal.SIGHUP)
            messages.receive(20)


def test_names_that_nobody_proves_are_warned_of(file: Path) -> None:
    with Serving("--allow", str(file)) as serving:
        assert serving.stop() == 0
        assert serving.errors == (
            f"amqp-sansio: warning: {file}: line 12: nobody is in group 'staff'\n"
            "amqp-sansio: warning: with --auth none the rules of --allow hold for whatever name a client gives itself\n"
        )


def test_a_group_in_which_nobody_is_is_warned_of(file: Path, users: str, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(file.read_text().replace("@staff", "@staf"))
    for words, more in ((["--auth", users], ""), ([], " (without --auth no group is known)")):
        assert main(["rules", "check", str(file), *words]) == 0
        assert capsys.readouterr().err == f"amqp-sansio: warning: {file}: line 12: nobody is in group 'staf'{more}\n"
    with Serving("--auth", users, "--allow", str(file)) as serving:
        warning = f"amqp-sansio: warning: {file}: line 12: nobody is in group 'staf'"
        eventually(lambda: serving.errors.splitlines() == [warning])
        serving.process.send_signal(signal.SIGHUP)
        eventually(lambda: serving.errors.splitlines() == [warning, f"amqp-sansio: {file}: the rules were read again", warning])
        assert serving.stop() == 0
