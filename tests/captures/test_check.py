"""«Check this capture», as one call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from amqp_sansio.captures import check
from amqp_sansio.captures.check import CaptureError, check_capture
from amqp_sansio.captures.conversation import MakeWitness, observers
from amqp_sansio.dialects import AMQP_0_10_FINAL, Dialect
from amqp_sansio.errors import AmqpError
from amqp_sansio.wire.codec import Codec

SAMPLES = Path(__file__).resolve().parents[2] / "src" / "amqp_sansio" / "cli" / "samples"


def test_a_verdict_for_each_connection() -> None:
    (good,) = check_capture(str(SAMPLES / "hello.pcap"))
    assert (good.verdict, good.dialect) == ("clean", "0-10")
    found = list(check_capture(str(SAMPLES / "badopen.pcap")))
    assert [each.verdict for each in found] == ["clean", "violations", "violations"]
    assert found[2].findings[0].rule == "connection.start-ok.mechanism.validity"


def test_the_options_reach_the_observer(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[bool, bool]] = []

    def noted(strict: bool, *, dialects: Sequence[Dialect[Codec]]) -> MakeWitness:
        asked.append((strict, AMQP_0_10_FINAL in dialects))
        return observers(strict, dialects=dialects)

    monkeypatch.setattr(check, "observers", noted)
    list(check_capture(SAMPLES / "hello.pcap", strict=True, dialects=["0-10 final"]))
    list(check_capture(str(SAMPLES / "hello.pcap")))
    assert asked == [(True, True), (False, False)]
    with pytest.raises(AmqpError, match="no dialect is called '1-0'"):
        check_capture(str(SAMPLES / "hello.pcap"), dialects=["1-0"])


def test_what_cannot_be_read_raises_after_the_good_verdicts(tmp_path: Path) -> None:
    whole = (SAMPLES / "hello.pcap").read_bytes()
    torn = tmp_path / "torn.pcap"
    torn.write_bytes(whole + b"\xff" * 40)
    verdicts = check_capture(str(torn))
    assert next(verdicts).dialect == "0-10"
    with pytest.raises(CaptureError):
        next(verdicts)
    with pytest.raises(CaptureError):
        next(check_capture(str(tmp_path / "missing")))


def test_check_reports_oddities_on_request(tmp_path: Path) -> None:
    heard: list[str] = []
    (tmp_path / "cut.pcap").write_bytes((SAMPLES / "hello.pcap").read_bytes()[:-3])
    list(check_capture(str(tmp_path / "cut.pcap"), warn=heard.append))
    list(check_capture(str(tmp_path / "cut.pcap")))
    assert heard
