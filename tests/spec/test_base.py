"""The bases of the vocabulary are values without fields of their own."""

from __future__ import annotations

import pytest

from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec.base import Command, Control, Struct


@pytest.mark.parametrize("base", [Control, Command, Struct])
def test_a_base_is_a_value_without_a_name(base: type[ValueObject]) -> None:
    assert issubclass(base, ValueObject)
    assert base.FIELDS == ()
    assert getattr(base, "NAME" if base is Struct else "VERB") == ""
