"""Decodes and encodes the methods of one dialect: class and method as two octets each, then the arguments.

Methods on hot paths have straight-line code in their layout, which fails without a reason; all others use the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NoReturn, TypeAlias

from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.kernel.value import Value
from amqp_sansio.spec.base import Control, Method
from amqp_sansio.spec.values import Map
from amqp_sansio.wire.field_interpreter import UNWRITABLE, unwritable
from amqp_sansio.wire.field_tables import Profile
from amqp_sansio.wire.interpreter import ArgumentTable, read_arguments, write_arguments
from amqp_sansio.wire.primitives import put_u32, u32
from amqp_sansio.wire.reading import DEFAULT_READING, Reading
from amqp_sansio.wire.types import BAD

MethodReader: TypeAlias = Callable[[bytes, int, int, Reading], Method | None]
MethodWriter: TypeAlias = Callable[..., bytes]
TableReader: TypeAlias = Callable[[bytes, int, int, Reading, int], tuple[Map, int]]
"""(octets, offset, end, reading, depth) -> the field table at that offset, and its end."""
FlatReader: TypeAlias = Callable[[bytes, int, int], tuple[Map, int] | None]
"""The same for a flat table; returns None, or raises one of `types.BAD`, for others."""


class Methods:
    """The methods of one dialect.

    `profile` defines the letters of its field tables; None when it has no tables.  `codes` maps each method to class and method
    number as one number of four octets, `arguments` to its arguments in order; `contents` names the verbs that carry a content.
    Methods of class connection are controls, the same in all families.  `readers` and `writers` are straight-line code,
    possibly for methods that a variant lacks.
    """

    __slots__ = (
        "_codes", "_readers", "_writers", "arguments", "contents", "kinds", "name", "profile", "read_table", "write_flat",
        "write_table",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        codes: dict[type[Method] | type[Control], int],
        arguments: dict[type[Method] | type[Control], ArgumentTable],
        contents: frozenset[str],
        profile: Profile | None = None,
        readers: Mapping[int, MethodReader] | None = None,
        writers: Mapping[type[Method] | type[Control], MethodWriter] | None = None,
    ) -> None:
        self.name: Final = name
        self.contents: Final = contents
        self.profile: Final = profile
        read: TableReader = _no_table
        write: Callable[[object], bytes] = _no_table
        write_flat: Callable[[Mapping[str, object]], bytes] = _no_table
        if profile is not None:
            read, write, write_flat = profile.read, profile.write, profile.write_flat
        self.read_table: Final = read
        """Decodes a field table by the dialect's profile; see `Profile.read`."""
        self.write_table: Final = write
        """Encodes a field table; see `Profile.write`."""
        self.write_flat: Final = write_flat
        """Encodes a dict as a field table on the fast path; see `Profile.write_flat`."""
        self._codes: Final = codes
        self.arguments: Final = arguments
        self.kinds: Final[dict[int, type[Method] | type[Control]]] = {code: kind for kind, code in codes.items()}
        """The methods by class and method number, as one number of four octets."""
        self._readers: Final = {code: quick for code, quick in (readers or {}).items() if code in self.kinds}
        self._writers: Final = {kind: quick for kind, quick in (writers or {}).items() if kind in codes}

    def read_flat(self, reading: Reading) -> FlatReader:
        """Returns the reader of flat field tables; see `FlatTables.read`."""
        return _no_flat if self.profile is None or reading.nesting < 1 else self.profile.read_flat

    def decode(self, b: bytes, start: int, end: int, reading: Reading = DEFAULT_READING) -> Method | Control:
        """Decodes the method between `start`, its class, and `end`.

        Raises DecodeError, which names verb, argument and offset: 502 for arguments, 503 for an unknown class or method.
        """
        if end - start < 4:
            raise DecodeError("method", start, f"class and method take 4 octets, {end - start} came", 502)
        code = u32(b, start)[0]
        quick = self._readers.get(code)
        if quick is not None:
            try:
                method = quick(b, start + 4, end, reading)
            except BAD:
                method = None
            if method is not None:
                return method
        kind = self.kinds.get(code)
        if kind is None:
            raise DecodeError(f"method {code >> 16}.{code & 0xFFFF}", start, "no method has this class and number", 503)
        arguments = self.arguments[kind]
        made: Value = read_arguments(kind, kind.VERB, arguments, b, start + 4, end, reading, self.read_table)
        assert isinstance(made, Method | Control)
        return made

    def encode(self, method: Method | Control) -> bytes:
        """Encodes a method with class and method number.  Raises EncodeError, which names the argument."""
        kind = type(method)
        quick = self._writers.get(kind)
        if quick is not None:
            try:
                return quick(method)
            except UNWRITABLE:
                pass  # the interpreter names the cause
        code = self._codes.get(kind)
        if code is None:
            raise EncodeError(kind.VERB or kind.__name__, f"is not a method of {self.name}")
        arguments = self.arguments[kind]
        try:
            return put_u32(code) + write_arguments(kind.VERB, method, arguments, self.write_table)
        except UNWRITABLE as why:
            said = tuple([(name, of) for name, of, send in arguments if send is None])
            raise unwritable(kind.VERB, method, said, {}, why) from None

    def __repr__(self) -> str:
        return f"Methods({self.name!r})"


def _no_table(*_: object) -> NoReturn:
    raise AssertionError("a dialect with tables has a profile")


def _no_flat(b: bytes, p: int, end: int) -> None:
    """The reader of flat tables for a dialect without tables."""
