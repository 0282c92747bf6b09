"""Reads and writes the methods of one dialect: class and method as two octets each, then the arguments, by the interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.spec.base import Method
from amqp_sansio.wire.explain import UNWRITABLE, unwritable
from amqp_sansio.wire.field_tables import Profile
from amqp_sansio.wire.interpreter import ArgumentTable, read_arguments, write_arguments
from amqp_sansio.wire.octets import put_u32, u32
from amqp_sansio.wire.reading import DEFAULT_READING, Reading


class Methods:
    """The methods of one dialect.

    `profile` says what the letters of its field tables mean; None for one without any.  `codes` gives class and
    method of each as one number of four octets, `arguments` its arguments in order; `contents` names
    the verbs behind which a content comes.
    """

    __slots__ = ("_arguments", "_codes", "_kinds", "contents", "name", "profile")

    def __init__(
        self,
        name: str,
        codes: dict[type[Method], int],
        arguments: dict[type[Method], ArgumentTable],
        contents: frozenset[str],
        profile: Profile | None = None,
    ) -> None:
        self.name: Final = name
        self.contents: Final = contents
        self.profile: Final = profile
        self._codes: Final = codes
        self._arguments: Final = arguments
        self._kinds: Final = {code: kind for kind, code in codes.items()}

    def decode(self, b: bytes, start: int, end: int, reading: Reading = DEFAULT_READING) -> Method:
        """The method that lies from `start`, its class, up to `end`.

        DecodeError names verb, argument and octet: 502 for arguments, 503 for a class and method that it does not have.
        """
        if end - start < 4:
            raise DecodeError("method", start, f"class and method take 4 octets, {end - start} came", 502)
        code = u32(b, start)[0]
        kind = self._kinds.get(code)
        if kind is None:
            raise DecodeError(f"method {code >> 16}.{code & 0xFFFF}", start, "no method has this class and number", 503)
        return read_arguments(kind, kind.VERB, self._arguments[kind], b, start + 4, end, reading, self._read_table)

    def encode(self, method: Method) -> bytes:
        """Its octets, class and method included.  EncodeError names the argument that cannot be written."""
        kind = type(method)
        code = self._codes.get(kind)
        if code is None:
            raise EncodeError(kind.VERB or kind.__name__, f"is no method of {self.name}")
        arguments = self._arguments[kind]
        try:
            return put_u32(code) + write_arguments(kind.VERB, method, arguments, self._write_table)
        except UNWRITABLE as why:
            said = tuple([(name, of) for name, of, send in arguments if send is None])
            raise unwritable(kind.VERB, method, said, {}, why) from None

    def _read_table(self, b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[object, int]:
        assert self.profile is not None, "a dialect with tables has a profile"
        return self.profile.read(b, p, end, reading)

    def _write_table(self, value: object) -> bytes:
        assert self.profile is not None, "a dialect with tables has a profile"
        if not isinstance(value, Mapping):
            raise EncodeError("table", f"takes a mapping, not {type(value).__name__}")
        return self.profile.write(value)

    def __repr__(self) -> str:
        return f"Methods({self.name!r})"
