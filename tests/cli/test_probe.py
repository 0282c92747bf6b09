"""`amqp-sansio probe` of a broker that runs, and of nobody."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
import trustme
from tests.adapters import strangers
from tests.adapters.served import Served
from tests.cli.serving import Serving, run

from amqp_sansio.adapters.sync.server import serve
from amqp_sansio.broker import Broker
from amqp_sansio.cli import output
from amqp_sansio.cli.main import main
from amqp_sansio.cli.probe import SocketTransport
from amqp_sansio.cli.serve import context
from amqp_sansio.config import ServerConfig
from amqp_sansio.engine.sasl import PlainServer
from amqp_sansio.testing.probe import ProbeError


def free() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def test_serve_keeps_all_rules() -> None:
    with Serving() as serving:
        done = run("probe", f"127.0.0.1:{serving.port}", "--conversations", "60", "--seed", "5", "--json")
        row = json.loads(done.stdout)
        assert (done.returncode, row["broken"], row["conversations"]) == (0, 0, 60), done.stderr
        assert main(["probe", f"127.0.0.1:{serving.port}", "--section", "session", "--conversations", "40"]) == 0


def test_a_transcript_can_be_had_again(capsys: pytest.CaptureFixture[str]) -> None:
    with Serving() as serving:
        address = f"127.0.0.1:{serving.port}"
        assert main(["probe", address, "--section", "tx", "--conversations", "12", "--only", "2", "--verbose"]) == 0
        told = capsys.readouterr().out
        assert "client [1] tx.select()" in told
        assert f"again: amqp-sansio probe {address} --conversations 12 --seed 0 --section tx" in told


def test_a_server_behind_tls_is_probed_by_its_url(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    authority = trustme.CA()
    both, ca = str(tmp_path / "both"), str(tmp_path / "ca")
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(both)
    authority.cert_pem.write_to_path(ca)
    logins: set[tuple[str, str]] = set()

    def verify(user: str, password: str) -> bool:
        logins.add((user, password))
        return password == "secret"

    config = ServerConfig(mechanisms=(PlainServer(verify),))
    broker = Broker()
    options = ["--section", "tx", "--conversations", "2"]
    with serve(broker, lambda: broker.connect(config), port=0, tls=context(both, both)) as server:
        place = f"127.0.0.1:{server.address[1]}"
        assert main(["probe", f"amqps://alice:secret@{place}/store", "--ca", ca, *options]) == 0
        assert f"The same again: amqp-sansio probe amqps://{place} --conversations 2" in capsys.readouterr().out
        assert main(["probe", f"amqps://alice:secret@{place}", *options]) == 2
        assert capsys.readouterr().err == (
            f"amqp-sansio: {place}: its certificate is not accepted: unable to get local issuer certificate\n"
        )
        assert main(["probe", f"amqps://alice:secret@{place}", "--ca", ca, "--password", "other", *options]) == 2
    assert logins == {("alice", "secret"), ("alice", "other")}


def test_progress_of_many_conversations_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(output, "ELSEWHERE", 0.0)
    with Serving() as serving:
        assert main(["probe", f"127.0.0.1:{serving.port}", "--section", "tx", "--conversations", "2"]) == 0
    told = [line.partition(",")[0] for line in capsys.readouterr().err.splitlines()]
    assert told == ["amqp-sansio: 1 of 2 conversations", "amqp-sansio: 2 of 2 conversations"]


def test_nobody_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", f"127.0.0.1:{free()}"]) == 2
    assert "does not answer: Connection refused" in capsys.readouterr().err
    with pytest.raises(ProbeError, match="does not answer"):
        SocketTransport("127.0.0.1", free(), 1.0)


def test_a_peer_that_sends_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        assert main(["probe", f"127.0.0.1:{port}", "--timeout", "0.05", "--section", "tx"]) == 2
    assert "no AMQP 0-10 is spoken there: it does not answer" in capsys.readouterr().err


@pytest.mark.parametrize("section", [[], ["--section", "connection"]])
def test_a_server_without_amqp_or_that_refuses_the_login_is_not_probed(
    section: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with strangers.someone(b"") as url:
        address = url.removeprefix("amqp://").partition("/")[0]
        assert main(["probe", address, *section]) == 2
    assert capsys.readouterr() == ("", "amqp-sansio: no AMQP 0-10 is spoken there: it hung up\n")
    config = ServerConfig(mechanisms=(PlainServer(lambda user, password: False),))
    with Served(config) as served:
        assert main(["probe", f"127.0.0.1:{served.port}", *section]) == 2
    assert capsys.readouterr().err.startswith("amqp-sansio: the server does not let us in (PLAIN): server [0] connection.close")


@pytest.mark.parametrize(
    "wrong",
    [["ampq://host"], ["one,two"], ["::1:5672"], ["host:0"], ["host:1", "--conversations", "0"], ["host:1", "--timeout", "0"]],
)
def test_wrong_arguments(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["probe", *wrong])
    assert ended.value.code == 2
    assert capsys.readouterr().err


def test_a_section_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "127.0.0.1:1", "--section", "nonsense"]) == 2
    assert "there are connection, session" in capsys.readouterr().err
