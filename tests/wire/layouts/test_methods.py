"""Methods with arguments in order: a made-up dialect of a hundred, generated here, is read, written and refused by name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.steps import assert_linear

import amqp_sansio.spec
from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.spec.base import Method
from amqp_sansio.spec.fields import Field
from amqp_sansio.wire.interpreter import ArgumentTable
from amqp_sansio.wire.layouts.methods import Methods
from amqp_sansio.wire.layouts.profiles import PROFILES
from tools.codegen.compare_older import facts
from tools.codegen.older import methods_module, model_of
from tools.codegen.vocabulary import module

TYPES = ("octet", "bit", "bit", "shortstr", "long", "bit", "longstr", "short", "longlong", "timestamp", "table")


def _document() -> str:
    """Ten classes of ten methods: method n of class m has m arguments, or eight and n bits in a row; some are reserved."""
    lines: list[str] = []
    for c in range(10):
        lines.append(f"class made{c} {(c + 1) * 10}")
        for m in range(10):
            lines.append(f"  method do-{m} {m + 10}")
            kinds = ["bit"] * (m + 8) if c == 9 else [TYPES[(m + k) % 11] for k in range(c)]
            for k, kind in enumerate(kinds):
                lines.append(f"    field f-{k} {kind}" + (" reserved" if (c + m + k) % 4 == 3 else ""))
    return "\n".join(lines)


MODEL = model_of(facts(_document().splitlines()))
LAYOUT_TEXT = methods_module(MODEL, "made", "rabbitmq", "amqp_sansio.spec")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The module of the made-up layout, imported beside its vocabulary."""
    folder = tmp_path_factory.mktemp("made")
    for amqp in MODEL.classes:
        (folder / f"{amqp.name}.py").write_text(module(MODEL, amqp))
    (folder / "made_layout.py").write_text(LAYOUT_TEXT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(amqp_sansio.spec, "__path__", [*amqp_sansio.spec.__path__, str(folder)])
        invalidate_caches()
        yield import_module("amqp_sansio.spec.made_layout")
    for name in [*[amqp.name for amqp in MODEL.classes], "made_layout"]:
        sys.modules.pop(f"amqp_sansio.spec.{name}", None)
        vars(amqp_sansio.spec).pop(name, None)


FIELDS = (
    st.integers(-(1 << 63), (1 << 63) - 1)
    | st.text(max_size=5)
    | st.booleans()
    | st.builds(Field, st.just("B"), st.integers(0, 255))
)
VALUES: dict[str, st.SearchStrategy[object]] = {
    "bit": st.booleans(),
    "uint8": st.integers(0, 255),
    "uint16": st.integers(0, (1 << 16) - 1),
    "uint32": st.integers(0, (1 << 32) - 1),
    "uint64": st.integers(0, (1 << 64) - 1),
    "str8": st.text(st.characters(codec="utf-8"), max_size=60),
    "vbin32": st.binary(max_size=300),
    "table": st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), FIELDS, max_size=3),
}


def _methods(made: ModuleType) -> Methods:
    methods: Methods = made.METHODS
    return methods


def _arguments(made: ModuleType) -> dict[type[Method], ArgumentTable]:
    arguments: dict[type[Method], ArgumentTable] = made.ARGUMENTS
    return arguments


def _drawn(made: ModuleType, number: int, data: st.DataObject) -> Method:
    kind = list(_arguments(made))[number]
    return kind(*[data.draw(VALUES[of]) for _, of, send in _arguments(made)[kind] if send is None])


def _reads_or_names(made: ModuleType, b: bytes, kind: type[Method]) -> bool:
    """Whether octets are read; else the error names the verb, the argument that is at fault, and an octet."""
    error = None
    try:
        _methods(made).decode(b, 0, len(b))
    except DecodeError as why:
        error = why
    if error is None:
        return True
    names = {kind.VERB, *[f"{kind.VERB}.{name}" for name, _, _ in _arguments(made)[kind]]}
    assert error.what.partition("[")[0] in names or (len(b) < 4 and error.what == "method")
    assert 0 <= error.octet <= len(b)
    assert error.code == 502
    return False


def test_a_hundred_methods_are_short(made: ModuleType) -> None:
    """At most 900 lines of layout for a hundred methods."""
    assert len(_arguments(made)) == 100
    assert LAYOUT_TEXT.count("\n") <= 900


def test_ruff_format_leaves_them_as_they_are(tmp_path: Path) -> None:
    ruff = Path(sys.executable).with_name("ruff")
    if not ruff.exists():
        pytest.skip("ruff is not installed")
    for name, text in [("layout", LAYOUT_TEXT), *[(amqp.name, module(MODEL, amqp)) for amqp in MODEL.classes]]:
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "pyproject.toml").write_text((Path(__file__).parents[3] / "pyproject.toml").read_text())
    done = subprocess.run([ruff, "format", "--diff", "."], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("number", range(100))
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_what_is_written_is_read_and_every_prefix_is_refused(made: ModuleType, number: int, data: st.DataObject) -> None:
    """A method is read back equal and written again to the same octets; no prefix of it is one, nor it with more behind it."""
    method = _drawn(made, number, data)
    b = _methods(made).encode(method)
    again = _methods(made).decode(b"xyz" + b + b"tail", 3, 3 + len(b))
    assert again == method
    assert type(again) is type(method)
    assert _methods(made).encode(again) == b
    assert not any(_reads_or_names(made, b[:cut], type(method)) for cut in range(len(b)))
    assert not _reads_or_names(made, b + b"\0", type(method))


@pytest.mark.parametrize("number", range(100))
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_octets_turned_round(made: ModuleType, number: int, data: st.DataObject) -> None:
    """With any one octet of the arguments inverted it is read, as something else or not, or the error names verb and octet."""
    method = _drawn(made, number, data)
    b = bytearray(_methods(made).encode(method))
    for place in range(4, len(b)):
        b[place] ^= 0xFF
        _reads_or_names(made, bytes(b), type(method))
        b[place] ^= 0xFF


def test_bits_share_octets_and_reserved_ones_keep_their_place(made: ModuleType) -> None:
    """The first bit is the lowest, the ninth begins an octet; reserved bits are sent as 0 and ignored."""
    kind = list(_arguments(made))[91]  # nine bits, of which 1 and 5 are reserved
    table = _arguments(made)[kind]
    assert [n for n, (_, _, send) in enumerate(table) if send is not None] == [1, 5]
    method = kind(*[True] * 7)
    b = _methods(made).encode(method)
    assert b[4:] == bytes([0b11011101, 1])
    assert _methods(made).decode(b, 0, 6) == method
    assert _methods(made).decode(b[:4] + b"\xff\xff", 0, 6) == method


def test_a_class_and_method_of_nobody() -> None:
    none = Methods("none", {}, {}, frozenset())
    with pytest.raises(DecodeError, match=r"method 10\.11 at octet 0: no method has this class and number \(503\)"):
        none.decode(b"\0\x0a\0\x0b", 0, 4)
    with pytest.raises(EncodeError, match="is not a method of none"):
        none.encode(Method())
    assert repr(none) == "Methods('none')"


def test_values_that_no_argument_holds_are_named(made: ModuleType) -> None:
    """Every argument of a wrong value: an error that names it."""
    wrong = {
        "uint8": 256,
        "uint16": -1,
        "uint32": 1 << 32,
        "uint64": "x",
        "str8": "x" * 256,
        "vbin32": 7,
        "table": {"k": object()},
    }
    for kind, table in _arguments(made).items():
        said = [(name, of) for name, of, send in table if send is None]
        good = [
            False if of == "bit" else 0 if of.startswith("uint") else "" if of == "str8" else {} if of == "table" else b""
            for _, of in said
        ]
        for n, (name, of) in enumerate(said):
            for bad in () if of == "bit" else (wrong[of],):
                with pytest.raises(EncodeError) as raised:
                    _methods(made).encode(kind(*[*good[:n], bad, *good[n + 1 :]]))
                entry = "['k']" if of == "table" else ""
                assert raised.value.what == f"{kind.VERB}.{name}{entry}"


@pytest.mark.parametrize("of", ["uint8", "bit", "vbin32"])
def test_the_cost_is_linear(of: str) -> None:
    """Twice as many arguments cost twice the steps, to read and to write."""
    send: object = {"uint8": 0, "bit": False, "vbin32": b""}[of]

    def prepared(size: int, reads: bool) -> Callable[[], object]:
        methods = Methods("long", {Method: 0x000A000B}, {Method: (("reserved", of, send),) * size}, frozenset())
        b = methods.encode(Method())
        return (lambda: methods.decode(b, 0, len(b))) if reads else (lambda: methods.encode(Method()))

    assert_linear(lambda size: prepared(size, True), 500)
    assert_linear(lambda size: prepared(size, False), 500)


LATER = (
    "amqplain",
    "layouts.methods",
    "layouts.profiles",
    "field_tables",
    "method_codec",
    "method_reader",
    "typing_extensions",
    "hashlib",
)


def test_importing_the_library_imports_no_methods() -> None:
    """Layouts and field tables wait for a dialect of theirs, OpenSSL for a mechanism of SASL; what only types need, never."""
    code = f"import sys, amqp_sansio; print([m for m in sys.modules if m.endswith({LATER})])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_broken_table_is_named_with_its_entry() -> None:
    """By the path inside the argument, and with the code of the method."""
    methods = Methods("one", {Method: 0x000A000B}, {Method: (("arguments", "table", {}),)}, frozenset(), PROFILES["rabbitmq"])
    b = b"\0\x0a\0\x0b\0\0\0\x03\x01kU"
    with pytest.raises(DecodeError, match=r"\.arguments\['k'\] at octet 10: .* no letter 'U' \(502\)"):
        methods.decode(b, 0, len(b))
