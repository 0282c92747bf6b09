"""`amqp-sansio serve`: from its first line to its end, and everything for which it does not begin."""

from __future__ import annotations

import asyncio
import io
import os
import re
import resource
import signal
import socket
import ssl
import stat
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import pytest
import trustme
from tests.cli.serving import Serving, run
from tests.waiting import awaited

from amqp_sansio import ClientConfig, ClientConnection
from amqp_sansio.adapters.access_files import Verifier, VerifierError, write
from amqp_sansio.adapters.asyncio.broker_server import BrokerServer
from amqp_sansio.adapters.store import FILE, Store, StoreError
from amqp_sansio.adapters.store_files import TAG
from amqp_sansio.adapters.sync import connect
from amqp_sansio.broker import Broker, BrokerConfig, encode_entry
from amqp_sansio.cli import serve as verb
from amqp_sansio.cli.serve import (
    BESIDES,
    LONGEST,
    Conversations,
    ServeError,
    ServeOptions,
    configuration,
    context,
    resolve,
    restore,
    serve,
)
from amqp_sansio.errors import ConnectFailed, ConnectionLost, SessionFailed, SessionLost
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS, DEFAULT_LIMITS, Limits, ServerLimits
from amqp_sansio.spec import message
from amqp_sansio.spec.values import Map


def users(tmp_path: Path) -> str:
    path = str(tmp_path / "users")
    write(path, "alice", Verifier.make("secret"))
    return path


def test_it_says_where_it_is_serves_and_ends_on_a_signal() -> None:
    for how in (signal.SIGTERM, signal.SIGINT):
        with Serving() as serving:
            assert serving.first.startswith("amqp-sansio: listening on amqp://127.0.0.1:")
            with connect(serving.url) as connection, connection.session() as session:
                session.declare_queue("q")
                session.publish("", "q", b"hello", persistent=True)
                with session.subscribe("q") as messages:
                    message = messages.receive(20)
                    assert message.body == b"hello"
                    message.accept()
            assert serving.stop(how) == 0
            assert serving.errors == ""


def test_its_clients_learn_that_it_ends() -> None:
    with Serving() as serving, connect(serving.url) as connection:
        session = connection.session()
        session.__enter__()
        assert serving.stop() == 0
        with pytest.raises((SessionLost, ConnectionLost), match=r"closed the connection \(320\): the broker is stopped"):
            session.sync()


def test_a_client_that_does_not_answer_holds_nothing_up_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    with Serving() as serving, socket.create_connection(("127.0.0.1", serving.port)):
        assert serving.stop() == 0


def test_without_a_data_dir_nothing_touches_the_disk(tmp_path: Path) -> None:
    with Serving(cwd=tmp_path) as serving:
        assert run("send", serving.url, "--queue", "q", "--create", "hello").returncode == 0
        assert serving.stop() == 0
    assert list(tmp_path.iterdir()) == []


def test_what_is_durable_is_there_again(tmp_path: Path) -> None:
    data = str(tmp_path / "a" / "b")
    with Serving("--data-dir", data) as serving:
        assert run("send", serving.url, "--queue", "q", "--create", "kept", "too").returncode == 0
        assert run("send", serving.url, "--queue", "q", "--transient", "lost").returncode == 0
        assert serving.stop() == 0
    assert sorted(os.listdir(data)) == ["broker.lock", "broker.mark", FILE, TAG]
    assert stat.S_IMODE(os.stat(data).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(Path(data) / FILE).st_mode) == 0o600
    with Serving("--data-dir", data) as serving:
        done = run("receive", serving.url, "q", "--timeout", "0.5", "--json")
        assert (done.returncode, done.stderr) == (0, b"")
        lines = done.stdout.decode().splitlines()
        assert ['"kept"' in lines[0], '"too"' in lines[1], len(lines)] == [True, True, 2]
        assert '"redelivered": false' in lines[0]  # it was stopped cleanly
        assert serving.stop() == 0


def test_an_argument_that_changes_nothing_is_named_once() -> None:
    with Serving() as serving:
        with connect(serving.url) as connection, connection.session() as session:
            session.declare_queue("q")
            for number in range(3):
                session.execute(message.Subscribe("q", f"{number}", 0, 0, arguments=Map({"qpid.sync_frequency": number})))
        assert serving.stop() == 0
        (line,) = serving.errors.splitlines()
        assert line.startswith("amqp-sansio: message.subscribe: the argument 'qpid.sync_frequency' changes nothing")
        assert line.endswith("; said once")


def test_two_on_one_data_dir(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    with Serving("--data-dir", data) as serving:
        second = run("serve", "--port", "0", "--data-dir", data)
        assert second.returncode == 2
        assert second.stdout == b""
        assert second.stderr.decode() == f"amqp-sansio: {data}: another process has it open\n"
        assert run("send", serving.url, "--queue", "q", "--create", "x").returncode == 0
        assert serving.stop() == 0


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", "--port", str(port))
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.decode() == f"amqp-sansio: 127.0.0.1:{port}: the port is taken by another process\n"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", ""])
def test_everybody_is_let_in_on_loopback_only(host: str) -> None:
    with pytest.raises(
        ServeError, match=r"--auth none lets everybody in, so it listens on loopback only, not on .*--auth FILE"
    ):
        verb.serve(ServeOptions(host=host, port=0))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.9.9.9"])
def test_loopback_has_many_names(host: str) -> None:
    address = resolve(host)
    assert configuration(ServeOptions(host=host), address)().mechanisms[0].name == "ANONYMOUS"


def test_names_that_stand_for_nothing() -> None:
    with pytest.raises(ServeError, match=r"--host no\.such\.name\.invalid: "):
        resolve("no.such.name.invalid")
    with pytest.raises(ServeError, match="--host "):
        resolve("a" * 300)


def test_an_address_of_somebody_else(tmp_path: Path) -> None:
    done = run("serve", "--host", "192.0.2.1", "--port", "0", "--auth", users(tmp_path))
    assert (done.returncode, done.stderr) == (2, b"amqp-sansio: 192.0.2.1:0: this machine has no such address\n")


def test_passwords(tmp_path: Path) -> None:
    with Serving("--auth", users(tmp_path), "--host", "0.0.0.0") as serving:
        port = serving.port
        assert run("send", f"amqp://alice:secret@127.0.0.1:{port}", "--queue", "q", "--create", "x").returncode == 0
        for userinfo in ("alice:wrong@", "bob:secret@", "alice@"):
            with pytest.raises(ConnectFailed, match="authentication failed"), connect(f"amqp://{userinfo}127.0.0.1:{port}"):
                pass
        with pytest.raises(ConnectFailed, match="mechanism"), connect(f"amqp://127.0.0.1:{port}"):
            pass
        write(str(tmp_path / "users"), "bob", Verifier.make("secret"))  # while it runs
        assert run("send", f"amqp://bob:secret@127.0.0.1:{port}", "--queue", "q", "x").returncode == 0
        (tmp_path / "users").write_text("nonsense\n")
        assert run("send", f"amqp://bob:secret@127.0.0.1:{port}", "--queue", "q", "x").returncode == 0
        assert serving.stop() == 0
        assert serving.errors == (
            "amqp-sansio: warning: passwords and messages cross the network to 0.0.0.0 in the clear (see --tls-cert)\n"
            f"amqp-sansio: {tmp_path}/users: line 1 is not valid: delete it, and add its user again with"
            " `amqp-sansio passwd`; the server keeps the previous users\n"
        )


def test_scram_is_offered_where_everybody_can_use_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = users(tmp_path)
    configure = configuration(ServeOptions(auth=path), "0.0.0.0")
    assert [each.name for each in configure().mechanisms] == ["SCRAM-SHA-256", "PLAIN"]
    write(path, "bjørn", Verifier.make("smørrebrød"))
    assert [each.name for each in configure().mechanisms] == ["PLAIN"]
    write(path, "bjørn", None)
    monkeypatch.setattr(verb, "find_spec", lambda name: None)  # a plain installation
    configure = configuration(ServeOptions(auth=path), "0.0.0.0")
    assert [each.name for each in configure().mechanisms] == ["PLAIN"]
    write(path, "alice", None)
    with pytest.raises(VerifierError, match="no user is in it"):
        configuration(ServeOptions(auth=path), "127.0.0.1")
    with pytest.raises(VerifierError, match="cannot be read: No such file"):
        configuration(ServeOptions(auth=str(tmp_path / "none")), "127.0.0.1")


def test_tls(tmp_path: Path) -> None:
    authority = trustme.CA()
    made = authority.issue_cert("localhost", "127.0.0.1")
    certificate, key, trusted = (str(tmp_path / name) for name in ("cert", "key", "ca"))
    made.cert_chain_pems[0].write_to_path(certificate)
    made.private_key_pem.write_to_path(key)
    authority.cert_pem.write_to_path(trusted)
    with Serving("--tls-cert", certificate, "--tls-key", key) as serving:
        assert serving.url.startswith("amqps://127.0.0.1:")
        assert run("send", serving.url, "--ca", trusted, "--queue", "q", "--create", "hello").returncode == 0
        not_trusted = run("send", serving.url, "--queue", "q", "hello")
        assert not_trusted.returncode == 2
        assert b"its certificate is not accepted" in not_trusted.stderr
        plain = run("send", serving.url.replace("amqps", "amqp"), "--queue", "q", "hello")
        assert plain.returncode == 2
        assert run("receive", serving.url, "--ca", trusted, "q", "--count", "1").stdout == b"hello\n"
        assert serving.stop() == 0
        assert serving.errors == ""


def test_certificates_that_are_none(tmp_path: Path) -> None:
    made = trustme.CA().issue_cert("localhost")
    other = trustme.CA().issue_cert("localhost")
    certificate, key, junk = (str(tmp_path / name) for name in ("cert", "key", "junk"))
    made.cert_chain_pems[0].write_to_path(certificate)
    other.private_key_pem.write_to_path(key)
    Path(junk).write_text("junk")
    for cert, of, what in (
        (certificate, None, "--tls-cert and --tls-key belong together"),
        (None, key, "--tls-cert and --tls-key belong together"),
        (certificate, str(tmp_path / "none"), "none: cannot be read: No such file"),
        (certificate, str(tmp_path), "cannot be read: Is a directory"),
        (certificate, key, "are not a certificate and its key: key values mismatch"),
        (junk, junk, "are not a certificate and its key"),
    ):
        with pytest.raises(ServeError, match=what):
            context(cert, of)
    assert context(None, None) is None
    for cert, of, authorities, what in (
        (None, None, junk, "--tls-ca needs --tls-cert and --tls-key"),
        (certificate, str(tmp_path / "its"), junk, "junk: no certificates can be read from it: no certificate"),
        (certificate, str(tmp_path / "its"), str(tmp_path / "none"), "none: cannot be read: No such file"),
    ):
        made.private_key_pem.write_to_path(tmp_path / "its")
        with pytest.raises(ServeError, match=what):
            context(cert, of, authorities)
    locked = tmp_path / "locked"
    locked.write_text("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n")
    with pytest.raises(ServeError):
        context(certificate, str(locked))


def test_a_data_dir_without_a_name_is_refused() -> None:
    with pytest.raises(ServeError, match="names a directory, and is empty"):
        serve(ServeOptions(port=0, data_dir=""))


def test_a_data_dir_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("serve", "--port", "0", "--data-dir", str(tmp_path / "file"))
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith(f"amqp-sansio: {tmp_path}/file: cannot be written: ")
    (tmp_path / FILE).write_text("something else entirely, and long enough to be looked at by whoever reads" * 20)
    done = run("serve", "--port", "0", "--data-dir", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.decode() == f"amqp-sansio: {tmp_path}: the store is damaged: file is not a database\n"
    assert run("serve", "--port", "0", "--data-dir", "/proc/nowhere").returncode == 2


def test_a_broker_has_one_tag_as_long_as_its_store(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = restore(store, 0.0, ServeOptions()).config.federation_tag
    store.close()
    store = Store(tmp_path)
    assert first
    assert restore(store, 0.0, ServeOptions()).config.federation_tag == first
    store.close()
    assert restore(None, 0.0, ServeOptions()).config.federation_tag != restore(None, 0.0, ServeOptions()).config.federation_tag


def test_a_tag_that_cannot_be_kept_is_reported(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (tmp_path / TAG).mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        restore(store, 0.0, ServeOptions())
    store.close()


def test_a_store_with_a_hole_is_reported(tmp_path: Path) -> None:
    store = Store(tmp_path)
    broker = Broker(BrokerConfig(journal=True))
    for name in ("a", "b", "c"):
        broker.host().declare_queue(name, durable=True)
    entries = broker.journal()
    store.append([(each.number, encode_entry(each)) for each in entries if each.number != 2])
    with pytest.raises(StoreError, match="the store is damaged: "):
        restore(store, 0.0, ServeOptions())
    store.close()


def test_the_log_shows_each_command_with_its_sender_but_no_secret_and_no_payload(tmp_path: Path) -> None:
    with Serving("--auth", users(tmp_path), "--log", "conversation") as serving:
        url = serving.url.replace("//", "//alice:secret@")
        assert run("send", url, "--queue", "q", "--create", "the payload").returncode == 0
        assert serving.stop() == 0
        said = serving.out.read().decode()
    assert "[1] connected from 127.0.0.1:" in said
    assert "[1] client: protocol header" in said
    assert "client: [1] queue.declare(queue='q'" in said
    assert "body of 11 octets" in said
    assert re.search(r"response=<\d+ octets>", said)
    assert "server: [0] connection.close-ok()" in said
    assert "secret" not in said
    assert "payload" not in said


def test_full_disks(tmp_path: Path) -> None:
    """The file may not become larger: what does not fit is never confirmed, one sentence says so, and it ends."""

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

    data = str(tmp_path / "data")
    confirmed = 0

    def publish(url: str) -> None:
        nonlocal confirmed
        with connect(url) as connection, connection.session() as session:
            session.declare_queue("q", durable=True)
            for number in range(10_000):
                session.publish("", "q", b"%06d" % number + b"x" * 994, persistent=True)
                confirmed += 1

    with Serving("--data-dir", data, preexec_fn=small) as serving:
        with pytest.raises((SessionLost, ConnectionLost)):
            publish(serving.url)
        assert serving.wait() == 1
        assert serving.errors.startswith(f"amqp-sansio: it stops: {data}: cannot be written: ")
        assert len(serving.errors.splitlines()) == 1
    assert 0 < confirmed < 400
    with Serving("--data-dir", data) as serving:
        done = run("receive", serving.url, "q", "--timeout", "1", "--browse")
        found = [int(line[:6]) for line in done.stdout.splitlines()]
        assert found[:confirmed] == list(range(confirmed))
        assert len(found) <= confirmed + 1
        assert serving.stop() == 0


def test_strangers_that_hold_all_file_descriptors_stop_no_store(tmp_path: Path) -> None:
    """Nobody has logged in yet, and nothing was ever stored."""

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))

    with Serving("--data-dir", str(tmp_path / "data"), preexec_fn=few) as serving, ExitStack() as strangers:
        for _ in range(40):
            strangers.enter_context(socket.create_connection(("127.0.0.1", serving.port)))
        full = "no connection can be accepted: Too many open files\n"
        awaited(lambda: serving.errors.count(full) >= 2, lambda: serving.process.poll() is not None)
        strangers.close()
        with connect(serving.url) as connection, connection.session() as session:
            session.declare_queue("q", durable=True)
        assert serving.stop() == 0
        assert "it stops" not in serving.errors


def test_the_file_limit_is_raised() -> None:
    def few() -> None:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))

    with Serving(preexec_fn=few) as serving:
        limits = Path(f"/proc/{serving.process.pid}/limits").read_text()
        (line,) = [each for each in limits.splitlines() if each.startswith("Max open files")]
        assert int(line.split()[3]) > 64
        assert serving.stop() == 0


def test_a_fault_is_reported_and_ends_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever we did wrong ourselves: it does not run on."""

    class Broken(Broker):
        def tick(self, now: float) -> float | None:
            asyncio.get_running_loop().call_soon(lambda: 1 / 0)
            return None

    monkeypatch.setattr(verb, "restore", lambda store, now, wishes: Broken())

    connects = []

    class Poked(BrokerServer):
        async def __aenter__(self) -> Self:
            await super().__aenter__()
            connects.append(socket.create_connection(self.address))
            return self

    monkeypatch.setattr(verb, "BrokerServer", Poked)
    assert verb.serve(ServeOptions(port=0)) == 1
    assert "it is broken (ZeroDivisionError: division by zero); please report this" in capsys.readouterr().err
    connects[0].close()


def test_tls_versions_of_old_are_refused() -> None:
    made = trustme.CA().issue_cert("localhost")
    with made.private_key_and_cert_chain_pem.tempfile() as both:
        tls = context(both, both)
    assert tls is not None
    assert tls.minimum_version >= ssl.TLSVersion.TLSv1_2


def test_the_virtual_hosts_that_exist() -> None:
    with Serving("--virtual-host", "", "--virtual-host", "orders") as serving:
        where = serving.url.rstrip("/")
        for name in ("", "orders"):
            with connect(f"{where}/{name}"):
                pass
        with (
            pytest.raises(ConnectFailed, match=r"\(402\): no such virtual host"),
            connect(f"{where}/another"),
        ):
            pass


def test_a_message_of_100_mb_is_taken_when_the_limit_says_so_and_else_refused_with_its_command_id() -> None:
    body = bytes(100_000_000)
    client = ClientConfig(limits=Limits(assembly_octets=2 * len(body)))
    with (
        Serving("--max-message", "100000000") as serving,
        connect(serving.url, config=client) as connection,
        connection.session() as session,
    ):
        session.declare_queue("q")
        session.publish("", "q", body)
        with session.subscribe("q", prefetch=1) as messages:
            message = messages.receive(60)
            assert message.body == body
            message.accept()
    with Serving() as serving, connect(serving.url) as connection:
        with connection.session() as session:
            session.declare_queue("q")
        with pytest.raises(SessionFailed) as told, connection.session() as session:
            session.send("", "q", body).result()
        assert (told.value.code, told.value.command) == (506, "message.transfer")


def test_the_largest_message_is_as_large_as_it_says() -> None:
    """Whatever its header has."""
    with Serving("--max-message", "1000") as serving, connect(serving.url) as connection:
        with connection.session() as session:
            session.declare_queue("q")
            session.publish("", "q", bytes(1000), content_type="t" * 200)
        with pytest.raises(SessionFailed, match="body_octets") as told, connection.session() as session:
            session.send("", "q", bytes(1001)).result()
        assert (told.value.code, told.value.command) == (506, "message.transfer")


def test_the_settings_of_each_option() -> None:
    """At the limit one message of that size fits everywhere; nothing shrinks below its default."""
    default = ServeOptions()
    assert (default.limits, default.broker(journal=False, epoch=0.0, tag="a").limits) == (DEFAULT_LIMITS, DEFAULT_BROKER_LIMITS)
    for most in (1000, 100_000_000, 5_000_000_000):
        wishes = ServeOptions(
            max_message=most, error_codes="spec", login_seconds=3.0, virtual_hosts=("a",), logins_per_address=2
        )
        broker = wishes.broker(journal=True, epoch=0.0, tag="a")
        assert wishes.limits.assembly_octets == most + BESIDES
        assert min(wishes.limits.buffered_octets, wishes.limits.replay_octets) >= most + BESIDES
        assert broker.limits.body_octets == most
        assert min(broker.limits.queue_octets, broker.limits.host_octets, broker.limits.transaction_octets) >= most + BESIDES
        assert broker.limits.queue_octets >= DEFAULT_BROKER_LIMITS.queue_octets
        assert (wishes.limits.handshake_seconds, broker.virtual_hosts, broker.error_codes) == (3.0, ("a",), "spec")
        assert wishes.server_limits == ServerLimits(tls_seconds=3.0, unopened_per_address=2)
        assert configuration(wishes, "127.0.0.1")().profile.error_codes == "spec"


def test_one_address_has_so_many_places_to_log_in() -> None:
    with Serving("--logins-per-address", "1") as serving:
        where = ("127.0.0.1", serving.port)
        with socket.create_connection(where), socket.create_connection(where) as beyond:
            beyond.settimeout(60)
            assert beyond.recv(1) == b""


def test_a_client_that_takes_too_long_to_log_in_is_dropped() -> None:
    with Serving("--login-timeout", "0.1") as serving, socket.create_connection(("127.0.0.1", serving.port)) as connected:
        connected.settimeout(60)
        assert connected.recv(1) == b""


def test_lines_are_numbered_timed_plain_and_cut() -> None:
    out, now = io.StringIO(), [10.0]
    log = Conversations(out, lambda: now[0])
    first, second = log.connection(), log.connection()
    now[0] = 11.5
    first.hear("client", ClientConnection().data_to_send())
    second.note("connected from «there»\n")
    second.note("x" * 1000)
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("    1.500 [1] client: protocol header")
    assert lines[1] == "    1.500 [2] connected from \\xabthere\\xbb\\n"
    assert lines[2] == "    1.500 [2] " + "x" * LONGEST + "..."
    assert out.getvalue().isascii()


def test_secrets_are_shown_as_their_length() -> None:
    out = io.StringIO()
    log = Conversations(out, lambda: 0.0).connection()
    from amqp_sansio import ServerConfig, ServerConnection
    from amqp_sansio.engine.sasl import PlainServer

    client = ClientConnection(ClientConfig(username="alice", password="verysecret"))
    server = ServerConnection(ServerConfig(mechanisms=(PlainServer(lambda username, password: True),)))
    for _ in range(4):
        said = client.data_to_send()
        log.hear("client", said)
        server.receive_data(said)
        list(server.events())
        answer = server.data_to_send()
        log.hear("server", answer)
        client.receive_data(answer)
        list(client.events())
    assert "connection.open-ok" in out.getvalue()
    assert "response=<17 octets>" in out.getvalue()
    assert "verysecret" not in out.getvalue()


def test_octets_that_are_no_conversation_are_survived() -> None:
    out = io.StringIO()
    log = Conversations(out, lambda: 0.0).connection()
    for octets in (b"GET / HTTP/1.1\r\n\r\n", b"\0" * 100, b"\xff" * 100, bytes(range(256)) * 4):
        log.hear("client", octets)
        log.hear("server", octets)
    assert len(out.getvalue()) < 20_000


def test_a_log_that_nobody_reads_ends_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    class Shut(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

    log = Conversations(Shut(), lambda: 0.0)
    log.connection().note("one")
    log.connection().note("two")
    assert capsys.readouterr().err == "amqp-sansio: nobody reads the log any more\n"


def test_a_transcript_that_fails_takes_nothing_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    log = Conversations(out, lambda: 0.0).connection()
    monkeypatch.setattr(log._transcript, "hear", lambda moment, speaker, octets: 1 / 0)
    log.hear("client", b"x")
    log.hear("client", b"x")
    assert out.getvalue() == "    0.000 [1] cannot follow the conversation any more (ZeroDivisionError)\n"
