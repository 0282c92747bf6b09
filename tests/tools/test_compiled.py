"""The compiled build as far as it can be tried without a C compiler: which modules, of which sources, which primitives."""

from __future__ import annotations

import ast
import struct
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.wire import primitives as pure
from tools.compiled import __main__ as program
from tools.compiled import patches, sources
from tools.compiled.machine import Extension, Factory
from tools.compiled.modules import LEFT_OUT, modules
from tools.compiled.replaced.wire import primitives as other
from tools.compiled.sources import PACKAGE, REPLACED, files, marked, matching, settable
from tools.compiled.translate import without_trashcan
from tools.compiled.trial import APART

READERS = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64", "frame_header", "frame_begin"]
READERS += ["frame_begin32", "get_pair32", "control_head", "command_head", "struct_head"]


def test_every_module_that_is_compiled_or_left_out_is_there() -> None:
    found = modules(PACKAGE)
    assert len(found) == len(set(found)) > 100
    for path in found:
        assert (PACKAGE / path).is_file()
        assert str(path) not in LEFT_OUT
    assert Path("engine/observer.py") in found
    assert all((PACKAGE / name).is_file() for name in LEFT_OUT)


def test_a_pattern_that_finds_nothing_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no file is dialects\.py"):
        modules(tmp_path)


def test_the_primitives_have_the_names_of_those_they_replace() -> None:
    def names(module: object) -> set[str]:
        return {name for name in vars(module) if not name.startswith("_")}

    assert names(pure) <= names(other)
    replaced = [path.relative_to(REPLACED) for path in REPLACED.rglob("*.py") if path.name != "__init__.py"]
    assert replaced
    assert all(path in modules(PACKAGE) for path in replaced)


@given(st.binary(max_size=20), st.integers(0, 22))
def test_the_primitives_read_what_those_read_that_they_replace(octets: bytes, at: int) -> None:
    for name in READERS:
        told = []
        for module in (pure, other):
            try:
                told.append(repr(getattr(module, name)(octets, at)))  # by repr: a NaN is not equal to itself
            except struct.error:
                told.append("too short")
        assert told[0] == told[1], name


NUMBERS = {"put_u8": 8, "put_u16": 16, "put_u32": 32, "put_u64": 64, "put_i8": 8, "put_i16": 16, "put_i32": 32, "put_i64": 64}


@given(st.sampled_from(sorted(NUMBERS)), st.integers(-(1 << 66), 1 << 66) | st.integers(-4, 4).map(lambda n: (1 << 63) + n))
def test_the_primitives_write_what_those_write_that_they_replace(name: str, number: int) -> None:
    """A number that has no room is a `struct.error` in either."""
    for value in (number, number >> 66 - NUMBERS[name]):
        told = []
        for module in (pure, other):
            try:
                told.append(getattr(module, name)(value))
            except struct.error:
                told.append(b"no room")
        assert told[0] == told[1], (name, value)


@given(st.integers(0, (1 << 32) - 1), st.integers(0, (1 << 16) - 1), st.integers(0, (1 << 16) - 1))
def test_the_primitives_write_heads_as_those_do_that_they_replace(size: int, key: int, flags: int) -> None:
    assert other.put_struct_head(size, key, flags) == pure.put_struct_head(size, key, flags)
    assert other.put_sizes(size, key << 16 | flags) == pure.put_sizes(size, key << 16 | flags)
    for module in (pure, other):
        with pytest.raises(struct.error):
            module.put_sizes(1 << 32, 0)


@given(st.binary(min_size=16, max_size=16))
def test_a_uuid_is_the_one_of_the_library(octets: bytes) -> None:
    for module in (pure, other):
        made = module.uuid_of(octets)
        assert (made, made.is_safe) == (UUID(bytes=octets), UUID(bytes=octets).is_safe)


def test_only_finality_of_attributes_goes() -> None:
    text = "class A:\n    b: Final = 1\n    def f(self) -> None:\n        self.x: Final = 1\n        self.y: Final[int] = 2\n"
    made = settable(text)
    assert "        self.x = 1\n        self.y: int = 2\n" in made
    assert "    b: Final = 1\n" in made


def test_the_names_that_patterns_look_for_belong_to_the_class() -> None:
    compiled = set(modules(PACKAGE))
    found = [octets for path, octets in files() if path in compiled and b"    __match_args__" in octets]
    assert len(found) > 8
    for octets in found:
        assert b"    __match_args__ = " not in octets
        assert b"\nfrom typing import ClassVar\n" in octets
    assert matching("class A:\n    pass\n") == "class A:\n    pass\n"


def test_classes_are_marked_unless_they_are_decorated_or_no_plain_ones() -> None:
    head = "from __future__ import annotations\n\n"
    classes = ["@attrs.frozen\nclass A:", "class B(A):", "class C:", "class D(Generic[T]):", "class E(NamedTuple):"]
    text = head + "\n\n".join([f"{each}\n    pass" for each in classes])
    made = marked(Path("engine/thing.py"), text)
    mark = "@mypyc_attr(allow_interpreted_subclasses=True)"
    assert made.count(mark) == 3
    assert all(f"{mark}\nclass {name}" in made for name in "BCD")
    assert "mypyc" not in marked(Path("captures/columns/__init__.py"), "")
    plain = marked(Path("events/thing.py"), text)
    assert plain.count("@mypyc_attr(acyclic=True)") == 2
    assert "@mypyc_attr(acyclic=True)\nclass B(A)" in plain


def test_every_source_of_the_compiled_build_is_python_and_a_copy_is_exact(tmp_path: Path) -> None:
    made = dict(files())
    assert {path for path in made if path.suffix == ".py"} == {
        path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts
    }
    for path, octets in made.items():
        if path.suffix == ".py":
            ast.parse(octets)
    stale = tmp_path / "gone.py"
    stale.write_text("")
    sources.copy(tmp_path)
    assert not stale.exists()
    assert {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()} == set(made)


def test_a_test_that_is_left_out_on_the_compiled_build_is_there() -> None:
    for name in APART:
        path, _, rest = name.partition("::")
        assert f"def {rest.partition('[')[0]}(" in (sources.ROOT / path).read_text(encoding="utf-8"), name


def test_a_test_that_replaces_something_in_machine_code_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its module, by the dotted name of what is in it, and by a class in it."""

    class Inside:
        pass

    module = ModuleType("machine_code")
    module.__file__ = f"/somewhere/machine_code{_suffix()}"
    monkeypatch.setitem(sys.modules, "machine_code", module)
    Inside.__module__ = "machine_code"
    assert all(patches.compiled(each) for each in (module, "machine_code.LIMIT", "machine_code.Inside.method", Inside))
    assert not any(patches.compiled(each) for each in (pure, "amqp_sansio.wire.primitives.u8", Path, "nothing.known"))
    with pytest.raises(pytest.skip.Exception):
        patches.see(Inside)
    patches.see(Path)


def test_what_is_missing_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -O9")
    assert program.main([]) == 75
    assert capsys.readouterr().err == (
        "compiled: NOT BUILT: there is no C compiler (no-such-compiler): install gcc, or name another one in CC\n"
    )
    monkeypatch.setenv("CC", sys.executable)  # any program that is there
    monkeypatch.setattr(sysconfig, "get_path", lambda name: "/no/such/folder")
    assert program.main([]) == 75
    assert "the headers of Python are missing" in capsys.readouterr().err


def test_a_word_that_nobody_takes_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        program.main(["--no-such-word"])
    assert "nobody takes --no-such-word" in capsys.readouterr().err


def test_a_file_is_compiled_again_only_when_something_in_it_or_beneath_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a compiler of three lines that copies, and names the header that it has read."""
    work = tmp_path / ".work"
    (work / "c").mkdir(parents=True)
    source, header = work / "c" / "one.c", work / "c" / "one.h"
    source.write_text("source")
    header.write_text("header")
    tool = tmp_path / "cc"
    tool.write_text(
        "#!/bin/sh\nfor last; do :; done\n"
        'while [ $# -gt 1 ]; do [ "$1" = -MF ] && list=$2; [ "$1" = -c ] && file=$2; shift; done\n'
        f'[ -n "$list" ] && echo "x.o: {source} {header}" > "$list"\ncp "${{file:-{source}}}" "$last"\n'
    )
    tool.chmod(0o755)
    monkeypatch.setenv("CC", str(tool))
    monkeypatch.setenv("LDSHARED", str(tool))
    extension = Extension(name="one", sources=[str(source)], folders=[], words=[])
    stale = tmp_path / f"two{Path(_suffix()).name}"
    stale.write_text("")

    def compiled() -> int:
        factory = Factory(tmp_path, work, 2, lambda done, of: None)
        assert [path.name for path in factory.make([extension])] == [f"one{_suffix()}"]
        return factory.compiled

    assert compiled() == 1
    assert not stale.exists()
    assert compiled() == 0
    header.write_text("other")
    assert compiled() == 1


def _suffix() -> str:
    from tools.compiled.machine import SUFFIX

    return SUFFIX


def test_only_objects_of_the_garbage_collector_use_the_trashcan() -> None:
    """Else what lies before an object is overwritten when it is freed below fifty containers: a crash."""
    body = "    CPy_TRASHCAN_BEGIN(self, {0}_dealloc)\n    {0}_clear(self);\n    CPy_TRASHCAN_END(self)\n    done: ;\n}}\n"
    plain = "static void\nA_dealloc(AObject *self)\n{\n" + body.format("A")
    known = "static void\nB_dealloc(BObject *self)\n{\n    PyObject_GC_UnTrack(self);\n" + body.format("B")
    mended = without_trashcan(plain + known)
    assert mended == "static void\nA_dealloc(AObject *self)\n{\n    A_clear(self);\n    done: ;\n}\n" + known
    assert without_trashcan(mended) == mended


def test_commands_are_not_generic_and_can_be_subscribed_all_the_same() -> None:
    texts = {path.as_posix(): text.decode() for path, text in files() if path.suffix == ".py"}
    assert not [path for path, text in texts.items() if path.startswith("spec/") and "(Command[" in text]
    assert "if TYPE_CHECKING:" not in texts["spec/base.py"]  # mypyc raises in the other branch
    names: dict[str, type] = {}
    exec(texts["spec/base.py"], names)  # as it stands in the compiled build
    command = names["Command"]
    assert command[None] is command  # type: ignore[index]
    assert "Generic" not in [each.__name__ for each in command.__mro__]


def test_what_derives_from_generic_is_left_to_the_collector_of_cycles() -> None:
    text = '\n\nclass Content(ValueObject, Generic[M]):\n    pass\n\n\nclass Got(Content["basic.GetOk"]):\n    pass\n'
    assert marked(Path("events/channel.py"), text) == text
