"""Methods with arguments in order: a made-up dialect of a hundred, generated here, is read, written and refused by name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.families.channels import EIGHT, FAMILY, ONE, content, frame, payload
from tests.steps import assert_linear

import amqp_sansio.spec
from amqp_sansio.dialects import Dialect
from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec.base import Control, Method
from amqp_sansio.spec.connection import (
    Blocked,
    Close,
    CloseOk,
    Heartbeat,
    Open,
    OpenOk,
    Redirect,
    Secure,
    SecureOk,
    Start,
    StartOk,
    Tune,
    TuneOk,
)
from amqp_sansio.spec.fields import Field
from amqp_sansio.spec.methods import basic
from amqp_sansio.spec.methods.basic import Deliver, GetEmpty, Properties, Publish
from amqp_sansio.wire.codec import DEFAULT_READING, ArgumentTable, Reading
from amqp_sansio.wire.framing import CONTROL, Assembly
from amqp_sansio.wire.layouts.profiles import PROFILES
from amqp_sansio.wire.method_codec import (
    PROPERTIES_AT,
    MethodCodec,
    Publishing,
    RepeatedDeliveries,
    RepeatedProperties,
    read_properties,
    write_properties,
)
from amqp_sansio.wire.method_frames import frame_content
from tools.codegen.compare_older import facts
from tools.codegen.older import methods_module, model_of
from tools.codegen.vocabulary import module

Codes: TypeAlias = dict[type[Method] | type[Control], int]
Arguments: TypeAlias = dict[type[Method] | type[Control], ArgumentTable]
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


def _codec(made: ModuleType) -> MethodCodec:
    codec: MethodCodec = made.CODEC
    return codec


def _other(name: str, codes: Codes, arguments: Arguments) -> MethodCodec:
    return MethodCodec(name, codes, arguments, frozenset(), {}, {}, PROFILES["rabbitmq"])


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
        _codec(made).read(b)
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
    (tmp_path / "pyproject.toml").write_text((Path(__file__).parents[2] / "pyproject.toml").read_text())
    done = subprocess.run([ruff, "format", "--diff", "."], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("number", range(100))
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_what_is_written_is_read_and_every_prefix_is_refused(made: ModuleType, number: int, data: st.DataObject) -> None:
    """A method is read back equal and written again to the same octets; no prefix of it is one, nor it with more behind it."""
    method = _drawn(made, number, data)
    b = _codec(made).encode(method)
    again = _codec(made).read(b)
    assert again == method
    assert type(again) is type(method)
    assert _codec(made).encode(again) == b
    assert not any(_reads_or_names(made, b[:cut], type(method)) for cut in range(len(b)))
    assert not _reads_or_names(made, b + b"\0", type(method))


@pytest.mark.parametrize("number", range(100))
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_octets_turned_round(made: ModuleType, number: int, data: st.DataObject) -> None:
    """With any one octet of the arguments inverted it is read, as something else or not, or the error names verb and octet."""
    method = _drawn(made, number, data)
    b = bytearray(_codec(made).encode(method))
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
    b = _codec(made).encode(method)
    assert b[4:] == bytes([0b11011101, 1])
    assert _codec(made).read(b) == method
    assert _codec(made).read(b[:4] + b"\xff\xff") == method


def test_a_class_and_method_of_nobody() -> None:
    none = _other("none", {}, {})
    with pytest.raises(DecodeError, match=r"method 10\.11 at octet 0: no method has this class and number \(503\)"):
        none.read(b"\0\x0a\0\x0b")
    with pytest.raises(EncodeError, match="is not a method of none"):
        none.encode(Method())
    assert repr(none) == "MethodCodec('none')"


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
                    _codec(made).encode(kind(*[*good[:n], bad, *good[n + 1 :]]))
                entry = "['k']" if of == "table" else ""
                assert raised.value.what == f"{kind.VERB}.{name}{entry}"


@pytest.mark.parametrize("of", ["uint8", "bit", "vbin32"])
def test_the_cost_is_linear(of: str) -> None:
    """Twice as many arguments cost twice the steps, to read and to write."""
    send: object = {"uint8": 0, "bit": False, "vbin32": b""}[of]

    def prepared(size: int, reads: bool) -> Callable[[], object]:
        codec = _other("long", {Method: 0x000A000B}, {Method: (("reserved", of, send),) * size})
        b = codec.encode(Method())
        return (lambda: codec.read(b)) if reads else (lambda: codec.encode(Method()))

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
    codec = _other("one", {Method: 0x000A000B}, {Method: (("arguments", "table", {}),)})
    b = b"\0\x0a\0\x0b\0\0\0\x03\x01kU"
    with pytest.raises(DecodeError, match=r"\.arguments\['k'\] at octet 10: .* no letter 'U' \(502\)"):
        codec.read(b)


def _properties(count: int) -> tuple[tuple[str, str], ...]:
    return tuple([(f"p{n}", ("uint8", "str8", "uint64")[n % 3]) for n in range(count)])


def _listed(*values: object) -> list[object]:
    return list(values)


class Made(ValueObject):
    """Properties p0, p1 and so on."""

    def __init__(self, values: list[object]) -> None:
        vars(self).update({f"p{n}": value for n, value in enumerate(values)})


def _write(values: list[object]) -> bytes:
    return write_properties("made", Made(values), _properties(len(values)))


@given(st.data(), st.integers(0, 40))
def test_what_is_written_is_read(data: st.DataObject, count: int) -> None:
    """Absent is None; no prefix is read, nor with more behind it."""
    kinds = [st.integers(0, 255), st.text(st.characters(codec="utf-8"), max_size=5), st.integers(0, (1 << 64) - 1)]
    values = [data.draw(st.none() | kinds[n % 3]) for n in range(count)]
    b = _write(values)
    assert read_properties(_listed, "made", _properties(count), b"xy" + b + b"z", 2, 2 + len(b)) == values
    for wrong in [*[b[:cut] for cut in range(len(b))], b + b"\0"]:
        with pytest.raises(DecodeError) as raised:
            read_properties(_listed, "made", _properties(count), wrong, 0, len(wrong))
        assert raised.value.code == 502


def test_flags_go_from_the_highest_bit_and_the_lowest_says_that_more_follow() -> None:
    assert _write([1, None, None]) == b"\x80\x00\x01"
    assert _write([None] * 14 + [7 << 56]) == b"\x00\x02\x07" + bytes(7)
    assert _write([None] * 15 + [9]) == b"\x00\x01\x80\x00\x09"
    assert _write([None] * 30 + [9]) == b"\x00\x01\x00\x01\x80\x00\x09"
    assert _write([]) == b"\0\0"


@pytest.mark.parametrize(
    ("octets", "rule"),
    [(b"\x10\x00\x01", "flag 3 belongs to none of its 3"), (b"\0\1\0\0", "no further word"), (b"\0\1" * 9, "no further word")],
)
def test_flags_of_no_property_are_refused(octets: bytes, rule: str) -> None:
    with pytest.raises(DecodeError, match=rule):
        read_properties(_listed, "made", _properties(3), octets, 0, len(octets))


def test_fifteen_properties_take_one_word() -> None:
    """Behind a word that holds them all no other one may come, not even an empty one."""
    with pytest.raises(DecodeError, match="15 properties have no further word of flags"):
        read_properties(_listed, "made", _properties(15), b"\0\1\0\0", 0, 4)
    assert read_properties(_listed, "made", _properties(16), b"\0\1\0\0", 0, 4) == [None] * 16


FAMILIES = pytest.mark.parametrize("dialect", FAMILY, ids=lambda dialect: dialect.name)


def unit(octets: bytes) -> Assembly:
    return Assembly(0, 0, CONTROL, octets, None, None, 0, len(octets))


@FAMILIES
def test_class_connection_is_shared(dialect: Dialect[MethodCodec]) -> None:
    said: dict[Control, dict[str, object]] = {
        Start({"a": 1}, ("PLAIN", "X"), ("en_US",), 0, 9): {
            "server_properties": {"a": 1},
            "mechanisms": ("PLAIN", "X"),
            "locales": ("en_US",),
            "version_major": 0,
            "version_minor": 9,
        },
        StartOk({}, "PLAIN", b"r", "en_US"): {"mechanism": "PLAIN", "response": b"r", "locale": "en_US"},
        Secure(b"c"): {"challenge": b"c"},
        SecureOk(b"r"): {"response": b"r"},
        Tune(7, 8, None, 9): {"channel_max": 7, "max_frame_size": 8, "heartbeat_max": 9},
        TuneOk(7, 8, 9): {"channel_max": 7, "max_frame_size": 8, "heartbeat": 9},
        Close(200, "bye", 60, 40): {"reply_code": 200, "reply_text": "bye", "class_id": 60, "method_id": 40},
        CloseOk(): {},
    }
    for control, fields in said.items():
        assert dialect.codec.read_control(unit(payload(dialect, control.VERB, **fields))) == control
        assert dialect.codec.write_control(control) == payload(dialect, control.VERB, **fields)
    assert dialect.codec.read_control(unit(b"")) == Heartbeat()


def test_hosts_and_capabilities_are_lists() -> None:
    """0-8 and 0-9 have known hosts, between commas, and capabilities, between blanks; in 0-9-1 their places are reserved."""
    opened, ok = Open("/", ("a", "b"), True), OpenOk(("one:1", "two:2"))
    for control in (opened, ok, Redirect("three:3", ("one:1",))):
        assert EIGHT.codec.read_control(unit(EIGHT.codec.write_control(control))) == control
    assert EIGHT.codec.write_control(ok).endswith(b"\x0bone:1,two:2")
    assert ONE.codec.read_control(unit(ONE.codec.write_control(opened))) == Open("/")
    assert ONE.codec.read_control(unit(ONE.codec.write_control(ok))) == OpenOk()


def test_what_only_this_family_has() -> None:
    """Controls, too; secrets do not show."""
    assert ONE.codec.read_control(unit(payload(ONE, "connection.blocked", reason="r"))) == Blocked("r")
    update = ONE.codec.read_control(unit(payload(ONE, "connection.update-secret", new_secret=b"hush-hush", reason="r")))
    assert "hush" not in repr(update)
    with pytest.raises(DecodeError, match="no method of class connection"):
        ONE.codec.read_control(unit(payload(ONE, "basic.qos")))


def test_a_header_is_written_and_read() -> None:
    properties = basic.Properties(content_type="text", headers={"a": [1, {"b": None}]}, timestamp=7)
    header = ONE.codec.write_header(60, 5, properties)
    assert header[:12] == b"\0\x3c\0\0" + (5).to_bytes(8, "big")
    assert ONE.codec.read_properties(header) == properties
    with pytest.raises(EncodeError, match=r"header\.priority"):
        ONE.codec.write_header(60, 5, basic.Properties(priority=256))
    with pytest.raises(EncodeError, match="class 60 has no Qos"):
        ONE.codec.write_header(60, 5, basic.Qos())


@pytest.mark.parametrize(
    ("octets", "verb"),
    [
        (b"\0\x3c\0\x28", "basic.publish"),
        (b"\0\x3c\3\xe7", "basic.999"),
        (b"\0\x63\0\1", "99.1"),
        (b"\0", "?"),
        (b"", "connection.heartbeat"),
    ],
)
def test_verbs_by_name_or_numbers(octets: bytes, verb: str) -> None:
    assert ONE.codec.verb_of(octets) == ONE.codec.verb_in(unit(octets)) == verb


def test_numbers_of_a_name() -> None:
    numbers = ONE.codec.numbers_of
    assert [numbers(name) for name in ("basic.ack", "basic.999", "99.1", "connection.65535")] == [
        (60, 80), (60, 999), (99, 1), (10, 65535)
    ]  # fmt: skip
    assert [numbers(name) for name in ("", "ack", "basic.", "nobody.1", "basic." + "9" * 5000, "9" * 5000 + ".1")] == [None] * 6


def test_one_number_means_another_method_in_another_version() -> None:
    assert [each.codec.verb_of(b"\0\x0a\0\x3c") for each in (EIGHT, ONE)] == ["connection.close", "connection.blocked"]


@FAMILIES
def test_what_carries_a_content(dialect: Dialect[MethodCodec]) -> None:
    assert dialect.codec.carries(60, 40)
    assert not dialect.codec.carries(60, 80)
    assert not dialect.codec.carries(99, 1)


def test_properties() -> None:
    head = content(properties=b"\x80\0\4text")[7:-1]
    assert getattr(ONE.codec.read_properties(head), "content_type", "") == "text"
    assert ONE.codec.read_properties(content(of=10)[7:-1]) is None
    with pytest.raises(DecodeError):
        ONE.codec.read_properties(content(properties=b"\x80\0\5text")[7:-1])
    assert frame(ONE, "basic.qos")[-1] == 0xCE


NAMES = st.sampled_from(["", "a", "ctag", "é" * 100])
DELIVERIES = st.builds(Deliver, NAMES, st.integers(0, (1 << 64) - 1), st.booleans(), NAMES, NAMES)


def plainly(codec: MethodCodec, payload: bytes) -> object:
    try:
        return codec.read(payload, DEFAULT_READING)
    except DecodeError as error:
        return str(error)


def repeatedly(reader: RepeatedDeliveries, payload: bytes) -> object:
    try:
        return reader.read(payload)
    except DecodeError as error:
        return str(error)


# Whatever came before, a method is read as if nothing had come before, damaged ones too.
@given(
    st.sampled_from(FAMILY), st.lists(st.tuples(DELIVERIES, st.integers(0, 60), st.integers(0, 255)), max_size=20),
    st.sampled_from([1, 2, 256]),
)  # fmt: skip
def test_a_delivery_that_repeats_is_read_as_it_is(dialect, said, most) -> None:  # type: ignore[no-untyped-def]
    codec = dialect.codec
    reader = RepeatedDeliveries(codec, DEFAULT_READING, Limits(cached_commands=most))
    for deliver, at, octet in said:
        whole = codec.encode(deliver)
        damaged = whole[:at] + bytes([octet]) + whole[at + 1 :]
        for octets in (whole, damaged, whole[:at], whole):
            assert repeatedly(reader, octets) == plainly(codec, octets)


@pytest.mark.parametrize(("keys", "kept"), [(1, 1), (2, 2), (3, 1)])
def test_deliveries_that_are_remembered(keys: int, kept: int) -> None:
    codec = FAMILY[0].codec
    reader = RepeatedDeliveries(codec, DEFAULT_READING, Limits(cached_commands=2))
    for number in range(keys):
        for tag in range(1, 4):
            reader.read(codec.encode(Deliver(str(number), tag)))
    assert reader.remembered == kept
    assert reader.read(codec.encode(GetEmpty())) == GetEmpty()
    assert reader.remembered == kept


def test_text_is_decoded_once() -> None:
    codec = FAMILY[0].codec
    reader = RepeatedDeliveries(codec, DEFAULT_READING, Limits())
    first, second = [reader.read(codec.encode(Deliver("t", tag, False, "e", "key"))) for tag in (1, 2)]
    assert isinstance(first, Deliver)
    assert isinstance(second, Deliver)
    assert first.routing_key is second.routing_key
    assert (first.delivery_tag, second.delivery_tag) == (1, 2)


def test_the_last_header_is_read_once_and_others_each() -> None:
    codec = FAMILY[0].codec
    how = RepeatedProperties(codec, DEFAULT_READING)
    first, second = (codec.write_header(60, 1, Properties(priority=each)) for each in (1, 2))
    once = how.read(first)
    assert once == Properties(priority=1)
    assert how.read(bytes(bytearray(first))) is once
    assert how.read(second) == Properties(priority=2)
    assert how.read(first) == once


@pytest.mark.parametrize("octets", [b"", b"\0", b"\0\x0a" + bytes(12)])
def test_what_is_no_header_of_a_content_has_no_properties(octets: bytes) -> None:
    assert RepeatedProperties(FAMILY[0].codec, DEFAULT_READING).read(octets) is None


def test_a_header_that_cannot_be_read_is_not_kept() -> None:
    how = RepeatedProperties(FAMILY[0].codec, DEFAULT_READING)
    for _ in range(2):
        with pytest.raises(DecodeError):
            how.read(b"\0\x3c" + bytes(10) + b"\x80\0")


def test_properties_that_begin_otherwise_are_read_for_what_they_are() -> None:
    """What they begin with is remembered, so much of it at most."""
    codec = FAMILY[0].codec
    how = RepeatedProperties(codec, DEFAULT_READING)
    for number in range(300):
        same = "x" * (number % 256)
        for content_type in ("text", "tex", None, f"type {number}", same):
            said = Properties(content_type, "gzip" if number % 2 else None, priority=number % 256)
            header = codec.write_header(60, 1, said)
            assert how.read(header) == said
            for wrong in (header[:-1], header + b"\0"):
                with pytest.raises(DecodeError):
                    how.read(wrong)
        assert how.remembered <= 256
    assert how.remembered > 1


@pytest.mark.parametrize("nesting", [0, 1, 2])
def test_a_table_that_is_not_plain_is_read_all_the_same(nesting: int) -> None:
    codec = FAMILY[0].codec
    how = RepeatedProperties(codec, Reading(nesting=nesting))
    for table in ({"a": 1}, {"a": {"b": 1}}, {"a": None}):
        header = codec.write_header(60, 1, Properties("text", headers=table, app_id="app"))
        found: list[object] = []
        for read in (how.read, lambda header: codec.read_properties(header, Reading(nesting=nesting))):
            try:
                found.append(read(header))
            except DecodeError as error:
                found.append(str(error))
        assert found[0] == found[1]
        assert (found[0] == Properties("text", headers=table, app_id="app")) is (nesting > isinstance(table["a"], dict))


FLAGS = st.sampled_from([b"\0\0", b"\x10\0\2", b"\x80\0\1x"])
MESSAGES = st.tuples(NAMES, NAMES, FLAGS, st.binary(max_size=40), st.booleans(), st.booleans(), st.integers(0, 2))


def written(write: Callable[[], list[bytes] | bytes]) -> bytes | str:
    try:
        made = write()
    except EncodeError as error:
        return str(error)
    return made if isinstance(made, bytes) else b"".join(made)


# Whatever is published in whatever order, its octets are those of the method, the header and the body written for it alone.
@given(st.sampled_from(FAMILY), st.lists(MESSAGES, max_size=12), st.sampled_from([1, 2, 256]), st.sampled_from([4096, 22 + 8]))
def test_a_prepared_head_is_the_head(dialect, said, most, largest) -> None:  # type: ignore[no-untyped-def]
    codec = dialect.codec
    writer = Publishing(codec, 7, largest, Limits(cached_commands=most))
    for exchange, key, flags, body, mandatory, immediate, ticket in said:
        method = codec.encode(Publish(exchange, key, mandatory, immediate, ticket))
        alone = partial(frame_content, 7, method, 60, flags, body, largest)
        assert written(partial(writer.write, exchange, key, flags, body, mandatory, immediate, ticket)) == written(alone)


@pytest.mark.parametrize("keys", [1, 2, 3])
def test_heads_that_are_remembered(keys: int) -> None:
    writer = Publishing(FAMILY[0].codec, 1, 4096, Limits(cached_commands=2))
    for key in [str(number) for number in range(keys)]:
        once = writer.write("", key, b"\0\0", b"")
        before = writer.remembered
        assert (writer.write("", key, b"\0\0", b""), writer.remembered) == (once, before)
    assert writer.remembered == (keys if keys <= 2 else 1)


def test_properties_of_one_object_are_written_once_and_others_each() -> None:
    codec = FAMILY[0].codec
    writer, first, second = Publishing(codec, 1, 4096, DEFAULT_LIMITS), Properties(priority=1), Properties(priority=2)
    octets = writer.flags_of(first)
    assert writer.flags_of(first) is octets == codec.write_properties(60, first)
    assert writer.flags_of(second) == codec.write_properties(60, second)
    assert writer.flags_of(first) == octets


def test_what_cannot_be_written_is_named_and_nothing_is_remembered() -> None:
    writer = Publishing(FAMILY[0].codec, 1, 4096, DEFAULT_LIMITS)
    with pytest.raises(EncodeError, match=r"basic\.publish\.routing_key"):
        writer.write("", "k" * 256, b"\0\0", b"")
    assert writer.remembered == 0
    with pytest.raises(EncodeError, match="header"):
        writer.write("", "", bytes(5000), b"")


@pytest.mark.parametrize("octets", [0, 1, 21, 22, 23, 44, 45])
def test_a_body_is_split_where_a_frame_is_full(octets: int) -> None:
    codec, body = FAMILY[0].codec, bytes(octets)
    method, flags = codec.encode(Publish()), codec.write_header(60, 0, Properties())[PROPERTIES_AT:]
    whole = Publishing(codec, 7, 30, DEFAULT_LIMITS).write("", "", flags, body)
    assert whole == b"".join(frame_content(7, method, 60, flags, body, 30))
