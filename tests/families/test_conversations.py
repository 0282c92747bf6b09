"""Conversations that are legal, and ones that are not: what an observer says of them, and what `check` and `decode` do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.captures import build
from tests.families.channels import broken, observe
from tests.families.conversations import Conversation, conversations

from amqp_sansio.cli.check import check
from amqp_sansio.cli.decode import decode
from amqp_sansio.events import Violation
from amqp_sansio.limits import Limits
from amqp_sansio.wire.method_frames import CONTENT_HEADER, METHOD, frame_head

LEGAL, ILLEGAL = conversations()
MODES = [False, True]


def test_there_are_twenty_of_each_in_each_dialect() -> None:
    for found in (LEGAL, ILLEGAL):
        for dialect in ("0-8", "0-9", "0-9-1"):
            assert sum(each.name.endswith(f", {dialect}") for each in found) >= 20


@pytest.mark.parametrize("strict", MODES)
@pytest.mark.parametrize("talk", LEGAL, ids=lambda talk: talk.name)
def test_what_is_legal_is_no_violation(talk: Conversation, strict: bool) -> None:
    assert broken(observe(talk.said, strict)) == []


# The other side may have read what we cannot: it is held to nothing that this may mean.
@pytest.mark.parametrize("talk", LEGAL, ids=lambda talk: talk.name)
def test_of_a_method_with_an_octet_too_many_its_speaker_alone_is_accused(talk: Conversation) -> None:
    for at, (who, octets) in enumerate(talk.said):
        kind, _, size = frame_head(octets, 0)
        if kind != METHOD or len(octets) < 12:
            continue
        longer = octets[:3] + (size + 1).to_bytes(4, "big") + octets[7:-1] + b"\0\xce"
        for strict in MODES:
            found = observe([*talk.said[:at], (who, longer), *talk.said[at + 1 :]], strict)
            offset = sum([len(each) for speaker, each in talk.said[:at] if speaker == who])
            wrong = [(event.speaker, event.rule, event.offset) for *_, event in found if isinstance(event, Violation)]
            assert wrong == [(who, "method.arguments-long", offset)]


@pytest.mark.parametrize("strict", MODES)
@pytest.mark.parametrize("talk", LEGAL, ids=lambda talk: talk.name)
def test_only_the_sender_of_a_content_beyond_our_limits_gets_the_error(talk: Conversation, strict: bool) -> None:
    found = broken(observe(talk.said, strict, limits=Limits(header_octets=8)))
    assert found == [f"{who} limits.header_octets" for who, octets in talk.said if octets[0] == CONTENT_HEADER]


# Whole, and octet by octet where it is strict.
@pytest.mark.parametrize("strict", MODES)
@pytest.mark.parametrize("talk", ILLEGAL, ids=lambda talk: talk.name)
def test_a_verdict_names_the_side_the_word_the_place_and_the_code(talk: Conversation, strict: bool) -> None:
    found = [event for *_, event in observe(talk.said, strict, 1 if strict else 0) if isinstance(event, Violation)]
    if talk.letter and not strict:
        assert not found
        return
    first = found[0]
    assert (first.speaker, first.offset) == (talk.speaker, talk.octet)
    assert (first.rule, first.code or None, first.channel) == (talk.rule, talk.code, talk.channel)
    assert first.said


@pytest.mark.parametrize("strict", MODES)
def test_check_and_decode_of_all_of_them_in_one_file(strict: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segments: list[build.Segment] = []
    expected: dict[int, object] = {}
    for port, talk in enumerate(ILLEGAL, 20_000):
        made = build.Talk(replace(build.Segment(True, 0), client_port=port)).open()
        for who, octets in talk.said:
            made.say(who == "C", octets)
        segments += made.close().segments
        verdict = [talk.speaker, talk.rule, talk.code, talk.channel, talk.octet]
        expected[port] = None if talk.letter and not strict else verdict
    file = build.write(tmp_path / "all.pcap", build.pcap(build.records(segments)))
    assert check([file], as_json=True, ports=(), strict=strict) == 1
    found: dict[int, object] = {}
    for line in capsys.readouterr().out.splitlines():
        row = json.loads(line)
        first = next((each for each in row["findings"] if each["level"] == "violation"), None)
        names = ("speaker", "rule", "code", "channel", "octet")
        found[int(row["connection"].split(">")[0].rpartition(":")[2])] = first and [first[name] for name in names]
    assert found == expected
    assert check([file], as_json=False, ports=(), strict=strict) == 1
    told = capsys.readouterr().out
    assert all(f"{talk.rule}: " in told for talk in ILLEGAL)
    assert decode([file], as_json=True, ports=(), secrets=False) == 0
    assert len({json.loads(line)["connection"] for line in capsys.readouterr().out.splitlines()}) == len(expected)
