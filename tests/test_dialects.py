"""The two dialects of 0-10."""

from amqp_sansio.dialects import AMQP_0_10, AMQP_0_10_FINAL


def test_both_begin_alike() -> None:
    """The errata did not change the protocol header."""
    assert AMQP_0_10.header == AMQP_0_10_FINAL.header == bytes.fromhex("414d51500101000a")
    assert (AMQP_0_10.name, AMQP_0_10_FINAL.name) == ("0-10", "0-10 final")
    assert (AMQP_0_10.codec.name, AMQP_0_10_FINAL.codec.name) == ("0-10 errata", "0-10 final")
