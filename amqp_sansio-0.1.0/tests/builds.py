"""What differs between the two builds, the pure one and the compiled one, in the eyes of a test."""

from __future__ import annotations

from types import GetSetDescriptorType
from typing import Any

import pytest

from amqp_sansio.errors import EncodeError
from amqp_sansio.kernel.build import COMPILED


def wrong_type(what: str = "") -> pytest.RaisesExc[Exception]:
    """An argument of a wrong type: an EncodeError that names `what`; compiled, a TypeError at the call."""
    return pytest.raises(TypeError) if COMPILED else pytest.raises(EncodeError, match=what or None)


def attributes(thing: object) -> dict[str, Any]:
    """The attributes of an object, by name; compiled, what can be read stands for the `__dict__` that there is not."""
    if not COMPILED:
        return dict(vars(thing))
    found: dict[str, Any] = {}
    for kind in type(thing).__mro__:
        for name, what in vars(kind).items():
            if isinstance(what, GetSetDescriptorType):
                try:
                    found[name] = getattr(thing, name)
                except (AttributeError, AssertionError):
                    continue  # nothing has been assigned to it
    return found
