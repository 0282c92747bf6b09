"""Faults that can be injected into a module, found in its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final, NamedTuple

Place = ast.expr | ast.stmt


class Fault(NamedTuple):
    """One fault: `text`, on `line` (from 1) at octets `start` to `end` of the module, becomes `instead`."""

    path: str
    """The path of the module below the tree, with slashes."""
    function: str
    """The names of the enclosing classes and functions; "" at module level."""
    line: int
    kind: str
    start: int
    end: int
    text: str
    instead: str

    @property
    def name(self) -> str:
        """A name without the line, which stays the same when something above it changes."""
        return f"{self.path} {self.function or '(module)'}: {self.kind}: {_short(self.text)} -> {_short(self.instead)}"

    def applied(self, source: bytes) -> bytes:
        """Returns the module with the fault in it.  Raises ValueError when it is not the module of the fault."""
        if source[self.start : self.end] != self.text.encode():
            raise ValueError(f"{self.path}:{self.line} is not what it was")
        return source[: self.start] + self.instead.encode() + source[self.end :]


COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
_SIGNS: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip
PROSE: Final = frozenset({"__repr__", "__str__", "__hash__"})
"""Functions that only produce text, or whose every result is correct."""
KINDS: Final = (
    "dropped row", "redirected row", "flipped comparison", "off by one", "not counted", "dropped call", "dropped assignment",
    "and for or", "dropped not", "guard never", "guard always", "other truth", "least for most",
)  # fmt: skip


def _short(text: str) -> str:
    """Shortens a text to one readable line."""
    line = " ".join(text.split())
    return line if len(line) <= 90 else f"{line[:60]} .. {line[-25:]}"


class Finder:
    """Walks one module and finds every possible fault."""

    def __init__(self, path: str, source: bytes) -> None:
        self.path: Final = path
        self.source: Final = source
        self.tree: Final = ast.parse(source)
        self.starts: Final = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.found: Final[list[Fault]] = []
        self._states = self._next_states()
        self._body(self.tree.body, "")

    # Where a node is.

    def _start(self, node: Place) -> int:
        return self.starts[node.lineno - 1] + node.col_offset

    def _end(self, node: Place) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.starts[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: Place) -> str:
        return self.source[self._start(node) : self._end(node)].decode()

    def _put(self, kind: str, node: Place, instead: str, where: str, start: int = -1, end: int = -1) -> None:
        start, end = (self._start(node), self._end(node)) if start < 0 else (start, end)
        text = self.source[start:end].decode()
        if text != instead:
            self.found.append(Fault(self.path, where, node.lineno, kind, start, end, text, instead))

    # --- statements -----------------------------------------------------------------------------------------------------------

    def _body(self, body: list[ast.stmt], where: str) -> None:
        for node in body:
            self._statement(node, where)

    def _statement(self, node: ast.stmt, where: str) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name not in PROSE:
                self._body(node.body, f"{where}.{node.name}".lstrip("."))
            return
        if isinstance(node, ast.ClassDef):
            self._body(node.body, f"{where}.{node.name}".lstrip("."))
            return
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Assert | ast.Raise | ast.Pass | ast.Global | ast.Nonlocal):
            return  # assertions are for the type checker; the text of an error is prose
        if isinstance(node, ast.If) and _only_types(node.test):
            return
        inside = bool(where) and where[-1:] != "."
        if isinstance(node, ast.Expr):
            if isinstance(node.value, ast.Call) and inside:
                self._put("dropped call", node, "pass", where)
            elif isinstance(node.value, ast.Constant):
                return
        if isinstance(node, ast.AugAssign):
            self._put("not counted", node, "pass", where)
        if isinstance(node, ast.Assign) and inside and not where.endswith("__init__"):
            target = node.targets[0]
            if isinstance(target, ast.Attribute | ast.Subscript):
                self._put("dropped assignment", node, "pass", where)
        if isinstance(node, ast.If | ast.While) and inside:
            if not (isinstance(node, ast.While) and isinstance(node.test, ast.Constant)):
                self._put("guard never", node.test, "False", where)
            if isinstance(node, ast.If):
                self._put("guard always", node.test, "True", where)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, bool):
            self._put("other truth", node.value, str(not node.value.value), where)
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.stmt):
                    self._statement(child, where)
                elif isinstance(child, ast.expr):
                    self._expression(child, where)
                elif isinstance(child, ast.excepthandler | ast.match_case | ast.withitem):
                    for inner in ast.iter_child_nodes(child):
                        if isinstance(inner, ast.stmt):
                            self._statement(inner, where)

    # --- expressions ----------------------------------------------------------------------------------------------------------

    def _expression(self, node: ast.expr, where: str) -> None:
        if isinstance(node, ast.JoinedStr | ast.Lambda):
            return
        if isinstance(node, ast.Compare):
            self._comparison(node, where)
        elif isinstance(node, ast.BoolOp):
            first, second = node.values[:2]
            sign = "or" if isinstance(node.op, ast.And) else "and"
            if len(node.values) == 2:
                instead = f"({self._text(first)} {sign} {self._text(second)})"
                self._put("and for or", node, instead, where)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self._put("dropped not", node, f"bool({self._text(node.operand)})", where)
        elif isinstance(node, ast.BinOp):
            self._arithmetic(node, where)
        elif isinstance(node, ast.Subscript):
            for bound in (node.slice.lower, node.slice.upper) if isinstance(node.slice, ast.Slice) else (node.slice,):
                self._number(bound, where)
        elif isinstance(node, ast.Call):
            self._call(node, where)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._expression(child, where)
            elif isinstance(child, ast.comprehension):
                for part in (child.iter, *child.ifs):
                    self._expression(part, where)
                for test in child.ifs:
                    self._put("guard always", test, "True", where)
            elif isinstance(child, ast.keyword):
                self._expression(child.value, where)

    def _comparison(self, node: ast.Compare, where: str) -> None:
        left = node.left
        for sign, right in zip(node.ops, node.comparators, strict=True):
            between = self.source[self._end(left) : self._start(right)].decode()
            told = _SIGNS[type(sign)]
            if between.count(told) == 1:
                at = self._end(left) + len(between[: between.index(told)].encode())
                self._put("flipped comparison", node, COMPARISONS[type(sign)], where, at, at + len(told))
            self._number(right, where)
            left = right

    def _number(self, node: ast.expr | None, where: str) -> None:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            self._put("off by one", node, str(node.value + 1), where)

    def _arithmetic(self, node: ast.BinOp, where: str) -> None:
        if isinstance(node.op, ast.Add | ast.Sub) and isinstance(node.right, ast.Constant) and node.right.value == 1:
            self._put("off by one", node, f"({self._text(node.left)})", where)

    def _call(self, node: ast.Call, where: str) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in ("min", "max") and len(node.args) > 1:
            self._put("least for most", node.func, "max" if name == "min" else "min", where)
        elif name == "range":
            for each in node.args:
                self._number(each, where)
        elif name == "Row":
            self._row(node, where)

    # --- rows of tables -------------------------------------------------------------------------------------------------------

    def _next_states(self) -> list[str]:
        found = [
            self._text(node.args[3])
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Row" and len(node.args) == 4
        ]
        return list(dict.fromkeys(found))

    def _row(self, node: ast.Call, where: str) -> None:
        """Leaves out a row in a list, or redirects it to the next one of the states that other rows lead to."""
        end = self._end(node)
        if self.source[end : end + 1] == b",":
            self._put("dropped row", node, "", where, self._start(node), end + 1)
        if len(node.args) == 4 and len(self._states) > 1:
            text = self._text(node.args[3])
            following = self._states[(self._states.index(text) + 1) % len(self._states)]
            self._put("redirected row", node.args[3], following, where)


def _only_types(test: ast.expr) -> bool:
    return ast.unparse(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def readable(fault: Fault, source: bytes) -> bool:
    """Returns whether the module can still be imported with the fault in it."""
    try:
        ast.parse(fault.applied(source))
    except SyntaxError:
        return False
    return True


def faults_in(path: str, source: bytes) -> Iterator[Fault]:
    """Yields every possible fault of a module, in the order of the text, each name once; a few are not `readable`."""
    names: set[str] = set()
    for fault in sorted(Finder(path, source).found, key=lambda each: (each.start, each.end, each.kind)):
        if fault.name in names:
            continue  # a second one of that name in one function would be ambiguous
        names.add(fault.name)
        yield fault
