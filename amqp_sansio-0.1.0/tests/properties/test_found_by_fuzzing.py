"""Inputs that `make fuzz` once found, made small; each name says what was wrong."""

from __future__ import annotations

from fuzz.targets import breach


def test_the_first_edition_reads_an_xid_that_stands_alone_as_the_errata_write_it() -> None:
    # Found by a guided fuzzer: it is read in a header, and cannot be written there again.
    said = (("client", bytes.fromhex("f7000000000000000c060407000007000000000700")),)
    assert breach("decoder", said) == ""


START = "414d51500101000a0f000010000000000000000001010000"
START_OK = "0f00001b000000000000000001020600064e4f5355434800000000"
OPEN = "0f000010000000000000000001070000"


def test_where_a_security_layer_begins_does_not_depend_on_how_octets_are_cut() -> None:
    # A command whose assembly is still open, then a frame that cannot be cut: all at hand at once, or one after the other.
    said = (
        ("client", bytes.fromhex("414d51500101000a")),
        ("server", bytes.fromhex(START)),
        ("client", bytes.fromhex(START_OK)),
        ("client", bytes.fromhex(OPEN)),
        ("client", bytes.fromhex("0b0100130001000100000000" + "04010100000000" + "0100000100000000000000000000000000")),
    )
    assert breach("observer", said) == ""


def test_a_broker_accepts_what_was_published_as_not_acquired() -> None:
    # The acquire-mode of a publish means nothing; the broker could not accept it, and stopped.
    transfer = "0b0100150001000100000000" + "040101000700000001"
    header = (
        "0702003c0001000100000000"
        + "0000000e040120020000000000000005017100000"
        + "01a03010100000000000000030000000a00000001016b9000017916"
    )
    said = (("client", bytes.fromhex(transfer + header)),)
    assert breach("broker", said) == ""
