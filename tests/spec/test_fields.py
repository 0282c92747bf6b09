"""Tests of amqp_sansio.spec.fields."""

from __future__ import annotations

import pickle

from amqp_sansio.spec.fields import Field


def test_a_field_is_a_plain_value() -> None:
    assert Field("B", 5) == Field("B", 5) != Field("b", 5)
    assert pickle.loads(pickle.dumps(Field("B", 5))) == Field("B", 5)
    assert repr(Field("B", 5)) == "Field(letter='B', value=5)"
