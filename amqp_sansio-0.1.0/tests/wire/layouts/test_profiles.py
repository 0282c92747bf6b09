"""Tests of amqp_sansio.wire.layouts.profiles; what profiles do is in tests/wire/test_field_tables.py."""

from __future__ import annotations

from amqp_sansio.wire.layouts.profiles import PROFILES


def test_each_profile_has_the_letters_of_its_document() -> None:
    """As printed; at RabbitMQ as it reads them."""
    letters = {name: "".join(sorted(profile.letters)) for name, profile in PROFILES.items()}
    assert letters == {
        "0-8": "DFIST",
        "0-9": "DFIST",
        "0-9-1": "ABDFILSTUVbdfilstu",
        "rabbitmq": "ABDFILSTVbdfilstux",
    }


def test_natives_are_written_under_letters_that_are_there() -> None:
    for profile in PROFILES.values():
        assert set("".join(profile.written.values())) <= set(profile.letters)
