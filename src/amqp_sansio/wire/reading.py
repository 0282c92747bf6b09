"""Options of decoding: the limits for types, and the tolerance."""

from __future__ import annotations

from typing import ClassVar, Final, final

from amqp_sansio.kernel.value import Value
from amqp_sansio.limits import DEFAULT_LIMITS, Limits


@final  # so that a type check is as good as isinstance, and faster
class Reading(Value):
    """What decoding a value may cost, and what it tolerates.  The first three are the limits of the same name.

    Not an attrs class: compiled code does not see an `__eq__` that is made at run time, and would compare by identity.
    """

    __slots__ = ("canonical", "nesting", "ranges", "text", "zero_width_elements")
    FIELDS: ClassVar[tuple[str, ...]] = ("nesting", "zero_width_elements", "ranges", "text", "canonical")

    def __init__(
        self,
        nesting: int = DEFAULT_LIMITS.nesting,
        zero_width_elements: int = DEFAULT_LIMITS.zero_width_elements,
        ranges: int = DEFAULT_LIMITS.ranges,
        text: str = "strict",
        canonical: bool = False,
    ) -> None:
        self.nesting: Final = nesting
        self.zero_width_elements: Final = zero_width_elements
        self.ranges: Final = ranges
        self.text: Final = text
        """How to treat text that is not UTF-8.

        "strict" makes it an error (531); "surrogateescape" keeps each invalid octet as one surrogate, as Python does for file
        names (such text cannot be encoded again).
        """
        self.canonical: Final = canonical
        """Whether a repeated key of a map, and ranges of ids that descend, overlap or touch, are errors.

        Otherwise the last value of the key counts, and the ranges are joined.
        """

    @classmethod
    def of(cls, limits: Limits, lossy: bool = False, canonical: bool = False) -> Reading:
        """Returns the options for these limits."""
        text = "surrogateescape" if lossy else "strict"
        return cls(limits.nesting, limits.zero_width_elements, limits.ranges, text, canonical)


DEFAULT_READING: Final = Reading()
