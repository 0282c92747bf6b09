"""The protocol header and the versions that it names."""

from __future__ import annotations

import pickle

import pytest

from amqp_sansio.dialects import HEADERS
from amqp_sansio.protocol import ProtocolHeader, mismatch


@pytest.mark.parametrize("version", ["0-8", "0-9", "0-9-1", "0-10", "99-0", "1.0"])
def test_every_version_names_itself(version: str) -> None:
    header = ProtocolHeader(HEADERS[version])
    assert header.version == version
    assert header.amqp
    assert header.name == f"AMQP {version}"


def test_0_10_octets() -> None:
    assert HEADERS["0-10"] == bytes.fromhex("414d51500101000a")


@pytest.mark.parametrize(
    ("octets", "version"),
    [("414d515001010901", "0-8"), ("414d51500101005b", "0-9-1"), ("414d515003010000", "1.0"), ("414d515002010000", "1.0")],
)
def test_other_spellings_of_a_version(octets: str, version: str) -> None:
    assert ProtocolHeader(bytes.fromhex(octets)).version == version


@pytest.mark.parametrize(
    ("octets", "strange"),
    [
        (b"\x8f\x03\x81\x10\xff\0\x07\x0c", True),
        (b"\x8f", True),
        (b"", False),
        (b"AM", False),
        (b"AMQX\x01\x01\x00\x0a", True),
        (b"AMQP\x07\x07\x07\x07", False),
        (b"GET / HT", False),
        (b"SSH-2.0-", False),
        (b"\x16\x03\x01\x00\x20\x01\x00\x00", False),
    ],
)
def test_octets_that_no_protocol_begins_with_are_strange(octets: bytes, strange: bool) -> None:
    assert ProtocolHeader(octets).strange is strange


@pytest.mark.parametrize(
    ("octets", "name"),
    [
        (b"GET / HT", "HTTP"),
        (b"HTTP/1.1", "HTTP"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", "TLS"),
        (b"AMQP\x01\x02\x00\x0a", "AMQP 1.2.0.10"),
        (b"AMQ", "nothing known"),
        (b"", "nothing known"),
        (b"\0" * 8, "nothing known"),
    ],
)
def test_another_protocol_is_named(octets: bytes, name: str) -> None:
    header = ProtocolHeader(octets)
    assert header.version is None
    assert header.name == name


def test_mismatch_says_both_versions() -> None:
    assert mismatch(HEADERS["0-10"], ProtocolHeader(HEADERS["0-9-1"])) == (
        "this side speaks AMQP 0-10, the other one AMQP 0-9-1 (41 4d 51 50 00 00 09 01)"
    )


def test_a_plain_value() -> None:
    header = ProtocolHeader(HEADERS["0-10"])
    assert pickle.loads(pickle.dumps(header)) == header
    assert hash(header) == hash(ProtocolHeader(HEADERS["0-10"]))
    assert header != ProtocolHeader(HEADERS["0-9"])
