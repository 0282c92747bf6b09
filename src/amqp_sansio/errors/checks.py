"""Checks of what a caller gives: each raises EncodeError, which says what is wrong, where, and what would be legal."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias, TypeVar

import attrs

from amqp_sansio.errors.core import EncodeError

T = TypeVar("T")

SECONDS: Final = (float, int)
"""The classes of a timeout."""

Validator: TypeAlias = Callable[[object, "attrs.Attribute[Any]", object], None]  # Any: attrs' own signature of a validator
Attributes: TypeAlias = "list[attrs.Attribute[Any]]"


def check_timeout(timeout: object) -> None:
    """Raises EncodeError for a timeout of a call that is neither a number of seconds nor None."""
    if timeout is not None and not is_number(timeout):
        raise EncodeError("timeout", f"seconds, or None for no limit, not {timeout!r}")


def check_is(what: str, value: object, kind: type) -> None:
    """Raises EncodeError for a value that is no `kind`."""
    if not isinstance(value, kind):
        raise EncodeError(what, f"takes {kind.__name__}, not {value!r}")


def check_types(kind: type[str] | type[bool], **given: object) -> None:
    """Raises EncodeError for an argument of a call that is not text, or neither True nor False; by the names of arguments."""
    for name, value in given.items():
        if not isinstance(value, kind):
            raise EncodeError(name, f"{'text' if kind is str else 'True or False'}, not {value!r}")


def check_bits(thing: object, fields: Iterable[tuple[object, ...]]) -> None:
    """Raises EncodeError for a command or method with a bit that is neither True nor False; by its table of fields."""
    check_types(bool, **{str(name): getattr(thing, str(name)) for name, of, *_ in fields if of == "bit"})


def is_number(value: object) -> bool:
    """Whether it is a number; True and False are none, and neither is NaN."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


# --- converters and validators of settings ----------------------------------------------------------------------------------


def names(values: Iterable[str]) -> tuple[str, ...]:
    """Converts one name, or several.  What is neither stays as it is, for the validator to refuse."""
    return (values,) if isinstance(values, str) else several(values)


def several(values: Iterable[T]) -> tuple[T, ...]:
    """Converts several values, as `names` does."""
    given: object = values
    return tuple(values) if isinstance(given, Iterable) and not isinstance(given, bytes) else given  # type: ignore[return-value]


def integers(low: int, high: int | None = None) -> Validator:
    """Takes integers from `low` to `high`."""

    def check(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or value < low or (high is not None and value > high):
            raise _refusal(instance, attribute, value, f"an integer of {low}{' or more' if high is None else f'..{high}'}")

    return check


def numbers(low: float, high: float = math.inf, *, above: bool = False) -> Validator:
    """Takes numbers from `low` to `high`; with `above`, not `low` itself."""
    legal = f"a number above {low:g}" if above else f"a number of {low:g}{' or more' if high == math.inf else f' to {high:g}'}"

    def check(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
        fits = isinstance(value, int | float) and is_number(value) and low <= value <= high
        if not fits or (above and value == low):
            raise _refusal(instance, attribute, value, legal)

    return check


def one_of(*legal: object) -> Validator:
    """Takes these values."""

    def check(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if value not in legal:
            raise _refusal(instance, attribute, value, f"one of {', '.join(map(str, legal))}")

    return check


def texts(high: int | None = None, low: int = 0) -> Validator:
    """Takes a text that UTF-8 can carry in `low` to `high` octets, or a tuple of such texts."""
    most = " that UTF-8 can carry" if high is None else f" of {f'{low} to' if low else 'at most'} {high} octets"

    def check(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
        for text in value if isinstance(value, tuple) else (value,):
            try:
                octets = len(text.encode()) if isinstance(text, str) else -1
            except UnicodeEncodeError:
                octets = -1
            if octets < low or (high is not None and octets > high):
                raise _refusal(instance, attribute, text, f"text{most}")

    return check


def checked(least: int = 0) -> Callable[[type, Attributes], Attributes]:
    """Returns a `field_transformer` of attrs: a field without a validator is checked by its annotation.

    Integers are `least` or more; other numbers 0 or more, or above 0 where `least` is 1.  Where the annotation has None, it is
    legal beside what a validator takes.
    """
    kinds = {
        "bool": _flag, "int": integers(least), "float": numbers(0, above=least > 0), "str": texts(),
        "tuple[str, ...]": texts(),
    }  # fmt: skip

    def transform(cls: type, fields: Attributes) -> Attributes:
        own = [field for field in fields if not getattr(field, "inherited", False)]
        plain = [field for field in own if field.validator is None]
        checks: list[Validator] = []

        def by_annotation(instance: object, _last: attrs.Attribute[Any], _value: object) -> None:
            if not checks:  # made with the first instance, and one validator for all: each of its own costs imports
                for field in plain:
                    name = str(field.type).removesuffix(" | None")
                    checks.append(_or_none(field, kinds.get(name) or _of(name, cls.__module__)))
            for field, check in zip(plain, checks, strict=True):
                check(instance, field, getattr(instance, field.name))

        for at, field in enumerate(fields):
            if field in own:
                check = by_annotation if field in plain[-1:] else field.validator and _or_none(field, field.validator)
                if check is not field.validator:
                    fields[at] = field.evolve(validator=check)
        return fields

    return transform


def _or_none(field: attrs.Attribute[Any], check: Validator) -> Validator:
    return attrs.validators.optional(check) if str(field.type).endswith(" | None") else check


def _flag(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, bool):
        raise _refusal(instance, attribute, value, "True or False")


def _of(name: str, module: str) -> Validator:
    """Takes instances of the class with this name in a module, or a tuple of them; or a callable."""
    item = name.removeprefix("tuple[").removesuffix(", ...]")

    def check(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
        kind = vars(sys.modules[module]).get(item.partition("[")[0])
        kind = getattr(kind, "__origin__", kind)  # of an alias
        if kind is Callable:
            if not callable(value):
                raise _refusal(instance, attribute, value, "takes a callable")
        elif not isinstance(kind, type):
            pass  # a name of typing alone
        elif item == name and not isinstance(value, kind):
            raise _refusal(instance, attribute, value, f"takes {kind.__name__}")
        elif item != name and not (isinstance(value, tuple) and all(isinstance(each, kind) for each in value)):
            raise _refusal(instance, attribute, value, f"takes a tuple of {kind.__name__}")

    return check


def _refusal(instance: object, attribute: attrs.Attribute[Any], value: object, legal: str) -> EncodeError:
    """Returns the error of a setting.  It does not show a secret, even one of the wrong type."""
    shown = f", not {value!r}" if attribute.repr else "" if isinstance(value, str) else f", not {type(value).__name__}"
    return EncodeError(f"{type(instance).__name__}.{attribute.name}", f"{legal}{shown}")
