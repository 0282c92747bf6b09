"""Conditions on packets that are looked at before a row is made whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "=": pc.equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
    "in": lambda column, values: pc.is_in(column, value_set=pa.array(list(values), column.type)),
    "null": lambda column, _: pc.is_null(column),
}
"""What a column can be asked."""

FILTERED: Final = ("capture", "file_id", "offset", "ts_ns", "connection", "src", "dst", "sport", "dport", "flags", "note")
"""The columns that can be asked: those that cost little."""


class Filter(NamedTuple):
    """A column, an operator of OPERATORS, a value (several for "in"); `negated`: it must not hold.  null is never what is asked
    for but with "null"."""

    column: str
    operator: str
    value: Any = None
    negated: bool = False


def chosen(filters: Sequence[Filter], column: Callable[[str], pa.Array]) -> NDArray[np.bool_]:
    """Which rows all filters hold of; `column` gives a column by name."""
    masks = []
    for each in filters:
        mask = OPERATORS[each.operator](column(each.column), each.value)
        if each.negated:
            mask = pc.invert(mask)
        if each.operator != "null":
            mask = pc.and_(pc.fill_null(mask, False), pc.is_valid(column(each.column)))
        masks.append(mask.to_numpy(zero_copy_only=False))
    found: NDArray[np.bool_] = np.logical_and.reduce(masks)
    return found
