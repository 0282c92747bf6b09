"""What a journal or a snapshot is as octets."""

from __future__ import annotations

import struct
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.test_journal import SAMPLES
from tests.wire.strategies import maps, values

from amqp_sansio.broker import encoding
from amqp_sansio.broker.encoding import ENTRY, SNAPSHOT, decode_entry, encode_entry, operation_of, pack, plain, unpack
from amqp_sansio.broker.journal import BranchPrepared, Enqueued, Entry, MessageStored, Operation, QueueDeclared
from amqp_sansio.errors import RestoreError
from amqp_sansio.spec.values import List, Map, Uint8, Value

ONE = encode_entry(Entry(7, SAMPLES))
HEAD = 18


def resealed(octets: bytes) -> bytes:
    """The same with a checksum that is right."""
    return octets[:14] + struct.pack(">I", zlib.crc32(octets[HEAD:], zlib.crc32(octets[:14]))) + octets[HEAD:]


def test_an_entry_comes_back_from_its_octets() -> None:
    assert decode_entry(ONE) == Entry(7, SAMPLES)


@pytest.mark.parametrize("operation", SAMPLES, ids=lambda operation: type(operation).__name__)
def test_an_operation_comes_back_with_its_types(operation: Operation) -> None:
    again = operation_of(decode_list_of(plain(operation)))
    assert again == operation
    assert [type(value) for value in again.values()] == [type(value) for value in operation.values()]


def decode_list_of(value: List) -> Value:
    return unpack(SNAPSHOT, "test", pack(SNAPSHOT, {"x": value}))["x"]


@given(maps(values()))
def test_arguments_keep_their_wire_types(arguments: Map) -> None:
    """Whatever a client may put into arguments comes back from the journal as it was."""
    entry = Entry(1, [QueueDeclared("", "q", arguments=arguments)])
    assert encode_entry(decode_entry(encode_entry(entry))) == encode_entry(entry)


def test_arguments_nested_as_deeply_as_the_wire_allows_fit_into_an_entry() -> None:
    value: Value = Uint8(1)
    for _ in range(40):
        value = Map({"in": value})
    entry = Entry(1, [QueueDeclared("", "q", arguments={"deep": value})])
    assert decode_entry(encode_entry(entry)) == entry


def test_a_body_may_be_large_and_a_moment_a_fraction() -> None:
    stored = MessageStored("h", 2**40, b"", bytes(1_000_000), 0.1)
    assert decode_entry(encode_entry(Entry(2**50, [stored]))) == Entry(2**50, [stored])


@given(st.data())
def test_damaged_octets_are_reported(data: st.DataObject) -> None:
    """Whichever octets of an entry are changed, and however, decoding it raises RestoreError and nothing else."""
    octets = bytearray(ONE)
    for at in data.draw(st.lists(st.integers(0, len(octets) - 1), min_size=1, max_size=3, unique=True)):
        octets[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(RestoreError):
        decode_entry(bytes(octets))


@given(st.integers(0, len(ONE) - 1))
def test_an_entry_cut_short_is_reported(length: int) -> None:
    """An entry of which only the beginning was stored is no entry."""
    with pytest.raises(RestoreError):
        decode_entry(ONE[:length])


@given(st.data())
def test_octets_that_are_wrong_in_spite_of_their_checksum_are_reported(data: st.DataObject) -> None:
    """Octets that claim to be whole are an entry or raise RestoreError: nothing else is ever raised."""
    octets = bytearray(ONE)
    for at in data.draw(st.lists(st.integers(HEAD, len(octets) - 1), min_size=1, max_size=3)):
        octets[at] = data.draw(st.integers(0, 255))
    with suppress(RestoreError):
        decode_entry(resealed(bytes(octets)))


@pytest.mark.parametrize(
    ("octets", "words"),
    [
        (ONE + b"\0", "octets, not"),
        (b"SNAP" + ONE[4:], "must begin with b'ENTR', not b'SNAP'"),
        (resealed(ONE[:4] + b"\x00\x04" + ONE[6:]), "reads versions 1 to 3, not 4"),
        (b"", "its envelope has 18 octets; there are only 0"),
        (ONE[:-1] + bytes([ONE[-1] ^ 1]), "checksum"),
        ("text", "it must be bytes, not str"),
        (pack(ENTRY, {"number": 0, "operations": List()}), "not the number of an entry"),
        (pack(ENTRY, {"operations": List()}), "KeyError"),
        (pack(ENTRY, {"number": 1, "operations": List([List([99])])}), "no operation has code 99"),
        (pack(ENTRY, {"number": 1, "operations": List([List([7, "h"])])}), "Enqueued has 4 fields, not 1"),
        (pack(ENTRY, {"number": 1, "operations": List([List([7, "h", "q", "5", False])])}), "str where int belongs"),
        (pack(ENTRY, {"number": 1, "operations": List([List([11, "h", List([1, b""])])])}), "2 values where 3 belong"),
    ],
)
def test_what_is_wrong_is_reported(octets: bytes, words: str) -> None:
    with pytest.raises(RestoreError, match=words):
        decode_entry(octets)


def test_the_envelope_of_this_version_stays_as_it_is() -> None:
    """Entries that adapters have stored must stay readable; a change of form takes a new version."""
    octets = encode_entry(Entry(1, [Enqueued("h", "q", 5)]))
    assert encoding.VERSION == 3
    assert octets.hex() == (
        "454e545200030000000000000051b4c71deb0000004d00000002066e756d6265723100000000000000010a6f706572617469"
        "6f6e73a90000002900000001a9000000200000000531000000000000000795000168950001713100000000000000050800"
    )


def test_entries_of_the_former_version_are_read() -> None:
    """There a message said nothing of its form, for there was one family."""
    octets = encode_entry(Entry(1, [MessageStored("h", 5, b"head", b"body", None, "sessions")]))
    fields = List([6, "h", 5, b"head", b"body", None])
    former = pack(ENTRY, {"number": 1, "operations": List([fields])})
    former = resealed(former[:4] + b"\x00\x01" + former[6:])
    assert former != octets
    assert decode_entry(former) == decode_entry(octets)


def test_a_branch_of_a_former_version_belongs_to_nobody() -> None:
    entry = Entry(1, [BranchPrepared("h", (1, b"g", b""), [], [], 60, "alice")])
    assert decode_entry(encode_entry(entry)) == entry
    operation = plain(entry.operations[0])
    former = pack(ENTRY, {"number": 1, "operations": List([List(operation[:-1])])})
    (read,) = decode_entry(resealed(former[:4] + b"\x00\x02" + former[6:])).operations
    assert read == BranchPrepared("h", (1, b"g", b""), [], [], 60, None)


def test_the_form_of_a_message_is_kept() -> None:
    entry = Entry(1, [MessageStored("h", 5, b"head", b"body", None, "another")])
    assert decode_entry(encode_entry(entry)) == entry
