"""Connections by options: TLS, mechanisms, and what is said when there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
import trustme
from tests.adapters.served import Served
from tests.spark.live.stage import declare
from tests.spark.live.test_spooler import without_dtx

from amqp_sansio.config import ServerConfig
from amqp_sansio.engine.sasl import AnonymousServer, CramMd5Server, PlainServer
from amqp_sansio.errors import ConnectFailed
from amqp_sansio.spark.errors import LiveError, LiveSetupError
from amqp_sansio.spark.live.broker_link import BrokerLink, cannot_connect
from amqp_sansio.spark.live.identity import SOURCE, branch, new_owner
from amqp_sansio.spark.live.options import BrokerAccess, source_options

USERS = ServerConfig(mechanisms=(
    PlainServer(lambda name, password: (name, password) == ("me", "geheim")),
    CramMd5Server(lambda name: "geheim" if name == "me" else None, lambda: b"<1@here>"),
))  # fmt: skip


def access(url: str, **more: str) -> BrokerAccess:
    return source_options({"url": url, "queue": "q", **more}).access


@pytest.mark.parametrize("mechanism", ["", "PLAIN", "cram-md5"])
def test_a_link_logs_in_by_url_option_or_password_file(mechanism: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("geheim\n")
    with Served(USERS) as served:
        url = served.url.replace("localhost", "127.0.0.1")
        for given in ({"url": url.replace("//", "//me:geheim@")}, {"url": url, "username": "me", "password": "geheim"},
                      {"url": url, "username": "me", "passwordFile": str(tmp_path / "secret")}):  # fmt: skip
            with BrokerLink(access(**given, **({"mechanism": mechanism} if mechanism else {}))) as link:
                assert link.queue("q") is None
        with (
            pytest.raises(LiveSetupError, match=r"amqp://me:\*\*\*@") as told,
            BrokerLink(access(url.replace("//", "//me:falsch@"))),
        ):
            pass
        assert "falsch" not in str(told.value)
        if mechanism == "PLAIN":  # "localhost" is a name, not a loopback address
            with (
                pytest.raises(LiveSetupError, match=r"insecure_plain=1 .*\(option url\)"),
                BrokerLink(access(served.url, username="me", password="geheim")),
            ):
                pass


def test_what_waiting_does_not_heal_is_reported_with_its_options() -> None:
    with Served() as served:
        for url, more, told in (
            (served.url, {"username": "me", "password": "geheim", "mechanism": "SCRAM-SHA-256"}, "no mechanism .*mechanism"),
            (served.url.replace("amqp:", "amqps:"), {}, r"does not seem to speak TLS \(option url"),
        ):
            with pytest.raises(LiveSetupError, match=told) as raised, BrokerLink(access(url, **more)):
                pass
            assert "geheim" not in str(raised.value)


@pytest.mark.parametrize(
    ("said", "lasts"),
    [
        ("the other side closed it (320): Authentication failed", True),
        ("the other side closed it (320): Virtual host 'default' is not active", False),
        ("the other side closed it (402): Unknown virtualhost 'x'", True),
        ("connection refused: nobody listens there", False),
    ],
)
def test_a_broker_that_begins_is_waited_for(said: str, lasts: bool) -> None:
    told = cannot_connect(access("amqp://here"), ConnectFailed("here", said))
    assert isinstance(told, LiveSetupError) is lasts
    assert said in str(told)


def test_tls(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    with Served(ServerConfig(mechanisms=(AnonymousServer(),)), tls=context) as served:
        with BrokerLink(access(served.url, tlsCa=str(tmp_path / "ca.pem"))) as link:
            assert link.has_exchange("amq.topic")
        with (
            pytest.raises(LiveSetupError, match=r"certificate is not accepted.*\(option tlsCa\)"),
            BrokerLink(access(served.url)),
        ):
            pass
        with pytest.raises(LiveSetupError, match="no certificates can be read"):
            BrokerLink(access(served.url, tlsCa=str(tmp_path / "none.pem")))


def test_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with Served() as served:
        declare(served.url, "q")
        with BrokerLink(access(served.url)) as link:
            assert (link.queue("q"), link.queue("nowhere")) == (0, None)
            assert (link.has_exchange("amq.direct"), link.has_exchange("nowhere")) == (True, False)
            unknown = branch(new_owner(), SOURCE, 1)
            assert (link.has_dtx(), link.in_doubt(), link.knows(unknown)) == (True, (), False)
            assert link.commit([unknown]) == []
            link.rollback([unknown])
            served.cut()
            with pytest.raises(LiveError, match=r"localhost"):
                link.in_doubt()
            link.close()
        without_dtx(monkeypatch)
        with BrokerLink(access(served.url)) as link:
            assert not link.has_dtx()
            assert link.queue("q") == 0
