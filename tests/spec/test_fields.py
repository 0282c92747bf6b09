"""Tests of amqp_sansio.spec.fields."""

from __future__ import annotations

import pickle

from amqp_sansio.spec.fields import Field, as_fields
from amqp_sansio.spec.values import Map


def test_a_field_is_a_plain_value() -> None:
    assert Field("B", 5) == Field("B", 5) != Field("b", 5)
    assert pickle.loads(pickle.dumps(Field("B", 5))) == Field("B", 5)
    assert repr(Field("B", 5)) == "Field(letter='B', value=5)"


def test_an_argument_keeps_a_map() -> None:
    """Made from any mapping, with fields in it; nothing stays nothing."""
    given = {"a": Field("B", 5)}
    kept = as_fields(given)
    given.clear()
    assert type(kept) is Map
    assert kept == {"a": Field("B", 5)}
    assert as_fields(kept) is kept
    assert as_fields(None) is None
