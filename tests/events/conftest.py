"""What every event must be: a plain value."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable

import pytest

from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.kernel.value import ValueObject


@pytest.fixture(scope="session")
def plain() -> Callable[[ValueObject, ValueObject], None]:
    """Checks two different values of one class."""

    def check(one: ValueObject, other: ValueObject) -> None:
        cls = type(one)
        again = cls(*one.values())
        assert again == one
        assert hash(again) == hash(one)
        assert one != other
        assert pickle.loads(pickle.dumps(one)) == one
        assert repr(one).startswith(f"{cls.__name__}({cls.FIELDS[0]}=")
        parameters = tuple(inspect.signature(cls).parameters)
        assert parameters == cls.FIELDS or (COMPILED and not parameters)  # not known there where a default is no literal
        assert cls.__match_args__ == cls.FIELDS  # type: ignore[attr-defined]  # every event has them
        assert not hasattr(one, "__dict__")
        assert cls.__doc__ or COMPILED  # which keeps only how classes are called

    return check
