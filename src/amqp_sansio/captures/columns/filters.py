"""Conditions on packets, tested before whole rows are made."""

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
"""The operators of conditions."""

FILTERED: Final = ("capture", "file_id", "offset", "ts_ns", "connection", "src", "dst", "sport", "dport", "flags", "note")
"""The columns that can be tested: the cheap ones."""


class Filter(NamedTuple):
    """A column, an operator of OPERATORS and a value (several for "in"); `negated`: it must not hold.  null matches only
    "null"."""

    column: str
    operator: str
    value: Any = None
    negated: bool = False


def chosen(filters: Sequence[Filter], column: Callable[[str], pa.Array]) -> NDArray[np.bool_]:
    """Returns which rows satisfy all filters; `column` returns a column by name."""
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
