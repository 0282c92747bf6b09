"""Patterns of LIKE: `_` is any one character, `%` any sequence of them; the escape character makes the next one literal."""

from __future__ import annotations

from typing import Final

from amqp_sansio.broker.selectors.errors import SelectorError


class Pattern:
    """A pattern.  Matching costs at most the length of the text times the length of the pattern / 64.

    The pattern is split at each `%` into pieces.  The first must match at the start of the text, the last at its end, and each
    of the others at its first occurrence: if the pieces fit at all, they fit that way.
    """

    __slots__ = ("_first", "_last", "_least", "_middle", "by_character")

    def __init__(self, pattern: str, escape: str | None = None, at: int = 0) -> None:
        pieces: list[list[str | None]] = [[]]
        characters = iter(pattern)
        for character in characters:
            if character == escape:
                literal = next(characters, None)
                if literal not in ("%", "_", escape):
                    raise SelectorError("in a pattern only %, _ and the escape character can be escaped", at)
                pieces[-1].append(literal)
            elif character == "%":
                pieces.append([])
            else:
                pieces[-1].append(None if character == "_" else character)
        self._first: Final = _Piece(pieces[0])
        self._last: Final = _Piece(pieces[-1]) if len(pieces) > 1 else None
        """None without any `%`."""
        self._middle: Final = tuple([_Piece(piece) for piece in pieces[1:-1] if piece])
        self._least: Final = sum(map(len, pieces))
        self.by_character: Final = bool([piece for piece in pieces[1:-1] if None in piece])
        """Whether it must look at each character of a text: some `_` is between two `%`."""

    def matches(self, text: str) -> bool:
        """Returns whether the pattern matches the whole text."""
        size, last = len(text), self._last
        if last is None:
            return size == self._least and self._first.stands(text, 0)
        if size < self._least or not self._first.stands(text, 0) or not last.stands(text, size - last.size):
            return False
        at, stop = self._first.size, size - last.size
        for piece in self._middle:
            at = piece.end_of_next(text, at, stop)
            if at < 0:
                return False
        return True


class _Piece:
    """A piece between two `%`: characters, with None for any one."""

    __slots__ = ("_bits", "_fixed", "_holes", "_runs", "size")

    def __init__(self, characters: list[str | None]) -> None:
        self.size: Final = len(characters)
        self._fixed: Final = "".join([each for each in characters if each is not None]) if None not in characters else None
        self._runs: Final = tuple(_runs(characters))
        self._holes: Final = sum([1 << number for number, each in enumerate(characters) if each is None])
        bits: dict[str, int] = {}
        for number, each in enumerate(characters):
            if each is not None:
                bits[each] = bits.get(each, self._holes) | 1 << number
        self._bits: Final = bits

    def stands(self, text: str, at: int) -> bool:
        """Returns whether it matches at `at`; the text must be long enough."""
        return all(text.startswith(run, at + start) for start, run in self._runs)

    def end_of_next(self, text: str, at: int, stop: int) -> int:
        """Returns the end of its next occurrence; -1 when there is none."""
        if self._fixed is not None:
            found = text.find(self._fixed, at, stop)
            return found + self.size if found >= 0 else -1
        # Bit n of the state: the first n + 1 characters of the piece end here (Baeza-Yates and Gonnet's shift-and).
        state, whole, bits, holes = 0, 1 << (self.size - 1), self._bits, self._holes
        for place in range(at, stop):
            state = ((state << 1) | 1) & bits.get(text[place], holes)
            if state & whole:
                return place + 1
        return -1


def _runs(characters: list[str | None]) -> list[tuple[int, str]]:
    """Returns the fixed parts and their positions."""
    runs: list[tuple[int, str]] = []
    start = 0
    for number, each in enumerate([*characters, None]):
        if each is None:
            if number > start:
                runs.append((start, "".join([one for one in characters[start:number] if one is not None])))
            start = number + 1
    return runs
