"""Tests of amqp_sansio.spec.fields."""

from __future__ import annotations

import pickle

import pytest

from amqp_sansio.errors import EncodeError
from amqp_sansio.spec.fields import DEEPEST, Field, FieldTable, as_fields
from amqp_sansio.spec.values import List, Map


def test_a_field_is_a_plain_value() -> None:
    assert Field("B", 5) == Field("B", 5) != Field("b", 5)
    assert pickle.loads(pickle.dumps(Field("B", 5))) == Field("B", 5)
    assert repr(Field("B", 5)) == "Field(letter='B', value=5, octets=None)"


def test_a_table_is_a_map_of_plain_values() -> None:
    """Letters are not seen in it, and not compared; of a name that comes twice the last one counts."""
    fields = (("a", Field("B", 5)), ("b", Field("A", (Field("I", 1), Field("A", (Field("V", None),))))), ("a", Field("b", 6)))
    table = FieldTable(fields)
    assert table == {"a": 6, "b": (1, (None,))}
    assert type(table["b"]) is List
    assert table.fields == fields
    assert hash(table) == hash(FieldTable([("a", Field("I", 6)), fields[1]]))
    again = pickle.loads(pickle.dumps(table))
    assert (type(again), again, again.fields) == (FieldTable, table, fields)
    assert repr(table) == "FieldTable({'a': 6, 'b': List([1, List([None])])})"


def test_an_argument_keeps_a_table() -> None:
    """Made from any mapping, all the way down, with fields in it; a map stays as it is, and nothing stays nothing."""
    inner = {"c": [Field("s", 1), 2]}
    given = {"a": Field("B", 5), "b": inner}
    kept = as_fields(given)
    assert isinstance(kept, FieldTable)
    given.clear()
    inner.clear()
    assert kept == {"a": 5, "b": {"c": (1, 2)}}
    assert kept.fields[0] == ("a", Field("B", 5))
    assert isinstance(kept["b"], FieldTable)
    assert kept["b"].fields == (("c", Field("", (Field("s", 1), Field("", 2)))),)
    assert as_fields(kept) is kept
    assert as_fields(None) is None
    read = Map({"x": 1})
    assert as_fields(read) is read


def test_what_no_table_is_made_of() -> None:
    """Values that hold themselves are refused by the limit, not by recursion."""
    with pytest.raises(EncodeError, match="takes a mapping, not list"):
        as_fields([1])  # type: ignore[arg-type]
    holds: list[object] = []
    holds.append(holds)
    mapping: dict[str, object] = {}
    mapping["a"] = mapping
    for given in ({"a": holds}, mapping):
        with pytest.raises(EncodeError, match="nested too deep"):
            as_fields(given)
    value: object = 1
    for _ in range(DEEPEST):
        value = [value]
    as_fields({"k": value})
    with pytest.raises(EncodeError, match="nested too deep"):
        as_fields({"k": [value]})
