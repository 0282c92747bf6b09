"""Who is blamed, and what may follow."""

from __future__ import annotations

from amqp_sansio.testing.speech.expected_rule import Watch, blamed, illegal, nearly, spoken
from amqp_sansio.testing.speech.parts import PARTS


def test_the_rule_of_an_illegal_step() -> None:
    found = nearly(PARTS["tx"], ["client:tx.commit"])
    assert found is not None
    said, blame = found
    assert said.breaks == "tx.commit.select-required"
    assert blame.codes == {409, 503}
    assert blame.must
    assert blame.legal


def test_what_deployed_brokers_let_pass() -> None:
    found = nearly(PARTS["tx"], ["client:tx.select", "client:tx.select"])
    assert found is not None
    assert not found[1].must


def test_nobody_is_blamed() -> None:
    assert nearly(PARTS["tx"], ["client:tx.select"]) is None
    assert blamed(spoken(PARTS["tx"], ["client:tx.select"])) is None
    assert "client:tx.commit" in illegal(PARTS["tx"], 0)
    assert illegal(PARTS["tx"], 0, "server") == ()


def test_the_first_of_several_is_reported() -> None:
    said = spoken(PARTS["tx"], ["client:tx.commit", "client:tx.commit"])
    found = blamed(said)
    assert found is not None
    assert found[0] == len(said) - 2


def test_octets_of_nobody_we_know() -> None:
    plain, letter = Watch().hear("client", b"GET / HTTP/1.0\r\n")
    assert plain == letter == [] or plain[0].speaker == "C"
