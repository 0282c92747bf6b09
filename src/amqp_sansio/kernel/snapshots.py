"""Converts objects to plain values and back, for snapshots that can be stored, sent and compared.

Only the named classes are written or created; nothing else can come out of a snapshot, even a forged one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from amqp_sansio.errors import DecodeError
from amqp_sansio.kernel.machine import Table
from amqp_sansio.kernel.serials import ById

Plain = tuple[object, ...]


def typed(value: Any, *kinds: type) -> Any:  # Any: a value of unknown type
    """Returns the value if its type is exactly one of these.  Raises TypeError otherwise."""
    if type(value) not in kinds:
        raise TypeError(f"{type(value).__name__} where {' or '.join([kind.__name__ for kind in kinds])} belongs")
    return value


_ATOMS: Final = (type(None), bool, int, float, str, bytes)


def _names(kind: type) -> list[str]:
    """Returns the attributes of a slotted class; a compiled class lists them under another name."""
    compiled: Sequence[str] | None = kind.__dict__.get("__mypyc_attrs__")
    if compiled is not None:  # for a generic class it also lists `__dict__`, which its objects lack
        return [name for name in compiled if name != "__dict__"]
    return [name for base in reversed(kind.__mro__) for name in base.__dict__.get("__slots__", ()) if name != "__weakref__"]


class Dumper:
    """Writes objects of `classes`, and tables of `tables` by name.  Omits callables: see `Loader`.

    What is `given` is written by name only; the loader needs it again.
    """

    def __init__(self, classes: Mapping[str, type], given: Mapping[str, object] = MappingProxyType({})) -> None:
        self._classes: Final = {kind: name for name, kind in classes.items()}
        self._given: Final = {id(value): name for name, value in given.items()}
        self._indices: dict[int, int] = {}
        self._records: list[Plain] = []
        self._kept: list[object] = []

    def dump(self, root: object) -> Plain:
        """Writes the root and every object below it, each once."""
        written = self._value(root)
        return (written, tuple(self._records))

    def _value(self, value: object) -> object:
        if isinstance(value, _ATOMS) and type(value) in _ATOMS:
            return value
        if type(value) is tuple:
            return ("tuple", *[self._value(item) for item in value])
        if isinstance(value, list | deque):
            return ("list" if isinstance(value, list) else "deque", *[self._value(item) for item in value])
        if isinstance(value, set | frozenset):
            return ("set", *sorted([self._value(item) for item in value], key=repr))
        if isinstance(value, bytearray):
            return ("bytearray", bytes(value))
        if isinstance(value, dict):
            items = [(self._value(key), self._value(item)) for key, item in value.items()]
            return ("by id" if isinstance(value, ById) else "dict", *items)
        if isinstance(value, Table):
            return ("table", value.name)
        if id(value) in self._given:
            return ("given", self._given[id(value)])
        name = self._classes.get(type(value))
        if name is not None and isinstance(value, tuple):
            return ("named", name, *[self._value(item) for item in value])
        if name is None:
            if callable(value):
                return ("callable",)
            raise TypeError(f"{type(value).__name__} is not a part of a snapshot")
        index = self._indices.get(id(value))
        if index is None:
            index = self._indices[id(value)] = len(self._records)
            self._records.append(())
            self._kept.append(value)
            fields = [(field, self._value(getattr(value, field))) for field in self._fields(value)]
            self._records[index] = (name, *fields)
        return ("object", index)

    @staticmethod
    def _fields(value: object) -> list[str]:
        return _names(type(value)) or list(vars(value))


class Loader:
    """Restores the objects.  Every callable becomes `callable_`.  Raises DecodeError for what no Dumper has written.

    `lacking` are values of attributes that earlier versions of a class lacked, by the names of class and attribute; `renew`
    converts the written objects of earlier versions.
    """

    def __init__(
        self,
        classes: Mapping[str, type],
        tables: Mapping[str, Table],
        callable_: Callable[..., object] | None,
        given: Mapping[str, object] = MappingProxyType({}),
        lacking: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
        renew: Callable[[Plain], Plain] = tuple,
    ) -> None:
        self._renew: Final = renew
        self._given: Final = given
        self._lacking: Final = lacking
        self._classes: Final = classes
        self._tables: Final = tables
        self._callable: Final = callable_
        self._records: Plain = ()
        self._made: dict[int, object] = {}

    def load(self, plain: Plain) -> object:
        """Returns the root."""
        try:
            root, records = plain
            if not isinstance(records, tuple):
                raise TypeError("records")
            self._records = self._renew(records)
            return self._value(root)
        except (TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError) as error:
            raise DecodeError("snapshot", 0, f"not a snapshot of this library: {error!r}") from error

    def _value(self, value: object) -> object:
        if not isinstance(value, tuple):
            if type(value) not in _ATOMS:
                raise TypeError(type(value).__name__)
            return value
        kind, *items = value
        if kind == "object":
            return self._object(items[0])
        if kind == "table":
            return self._tables[items[0]]
        if kind == "callable":
            return self._callable
        if kind == "given":
            return self._given[items[0]]
        if kind in ("dict", "by id"):
            by_key: dict[Any, object] = {} if kind == "dict" else ById()
            for key, item in items:
                by_key[self._value(key)] = self._value(item)
            return by_key
        made = [self._value(item) for item in items]
        if kind == "tuple":
            return tuple(made)
        if kind == "named" and isinstance(made[0], str) and issubclass(self._classes[made[0]], tuple):
            return self._classes[made[0]](*made[1:])  # what a class got later has its default
        if kind == "list":
            return made
        if kind == "deque":
            return deque(made)
        if kind == "set":
            return set(made)
        if kind == "bytearray" and isinstance(made[0], bytes):
            return bytearray(made[0])
        raise ValueError(f"kind {kind!r}")

    def _object(self, index: object) -> object:
        if not isinstance(index, int):
            raise TypeError("index")
        if index in self._made:
            return self._made[index]
        record = self._records[index]
        if not isinstance(record, tuple):
            raise TypeError("record")
        name, *fields = record
        kind = self._classes[name]
        made: object = kind.__new__(kind)  # type: ignore[call-overload]  # object.__new__ is refused by compiled classes
        self._made[index] = made
        if name in self._lacking:
            for field, item in self._lacking[name].items():
                object.__setattr__(made, field, item)
        allowed = set(_names(kind))
        for field, item in fields:
            if allowed and field not in allowed:
                raise KeyError(field)
            object.__setattr__(made, field, self._value(item))
        return made
