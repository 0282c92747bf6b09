"""Records of all tables travel in envelopes and come out as they went in."""

from __future__ import annotations

from tests.spark.rows import violations

from amqp_sansio.captures.columns.replay import TableRecords
from amqp_sansio.spark.envelope import (
    SCHEMA,
    Sealer,
    arrow_schema,
    as_batch,
    envelopes_in,
    seal,
    unseal,
)


def test_what_is_sealed_comes_out_the_same() -> None:
    batch = violations(3)
    envelope = seal("violations", batch)
    assert envelope.table == "violations"
    assert unseal(envelope.table, envelope.data) == batch
    assert unseal(envelope.table, envelope.data).schema == arrow_schema("violations")


def test_envelopes_are_rows_of_a_frame() -> None:
    sealed = [seal("violations", violations(count)) for count in (1, 0, 5)]
    batch = as_batch(sealed)
    assert batch.schema == SCHEMA
    assert list(envelopes_in([batch, as_batch([])])) == sealed


def test_small_batches_share_an_envelope_and_a_full_one_goes_at_once() -> None:
    small = violations(10)
    sealer = Sealer(full=2 * small.nbytes + 1)
    assert list(sealer.add([TableRecords("violations", small), TableRecords("violations", small)])) == []
    (full,) = sealer.add([TableRecords("violations", small)])
    assert unseal(*full).num_rows == 30
    assert list(sealer.add([TableRecords("violations", small)])) == []
    assert [unseal(*each).num_rows for each in sealer.rest()] == [10]
    assert list(sealer.rest()) == []
