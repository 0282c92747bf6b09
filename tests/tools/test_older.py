"""The tables of the older dialects as a model, and the layouts that are written from it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import pytest

from tools.codegen.compare_older import facts
from tools.codegen.older import DIALECTS, load_dialect, methods_module, model_of, module_name, union

OLD = facts(
    """domain access-ticket short
class basic 60
  method get-ok 71 content
    chassis client MAY
    field ticket access-ticket
    field no-ack bit
  method open 10
    response get-ok
    field reserved-1 shortstr reserved
    field reserved-2 bit reserved
    field reserved-3 short reserved""".splitlines()
)


def test_names_types_and_marks_are_read() -> None:
    """Domains are resolved, `content` and `reserved` are kept."""
    (basic,) = model_of(OLD).classes
    get_ok, opened = basic.verbs
    assert (basic.code, get_ok.name, get_ok.code, get_ok.handlers) == (60, "get-ok", 71, [("client", "MAY")])
    assert [(f.name, f.type, f.reserved) for f in get_ok.fields] == [("ticket", "uint16", False), ("no-ack", "bit", False)]
    assert (get_ok.segments is not None, opened.segments, opened.responses) == (True, None, ["get-ok"])
    assert all(f.reserved for f in opened.fields)


def test_the_layout_says_what_reserved_arguments_send() -> None:
    """A reserved text is written as octets, for what arrives in it need be no text."""
    lines = methods_module(model_of(OLD), "old", "rabbitmq").splitlines()
    assert "    basic.GetOk: 0x003C0047," in lines
    assert '    basic.GetOk: (("ticket", "uint16", None), ("no_ack", "bit", None)),' in lines
    sent = '(("reserved_1", "vbin8", b""), ("reserved_2", "bit", False), ("reserved_3", "uint16", 0))'
    assert f"    basic.Open: {sent}," in lines
    assert '        "basic.get-ok",' in lines


def test_a_type_that_nothing_reads_is_named() -> None:
    with pytest.raises(ValueError, match=r"basic\.get-ok\.no-ack: nothing reads the type blob"):
        model_of([fact.replace("no-ack bit", "no-ack blob") for fact in OLD])


def test_a_dialect_with_tables_names_their_profile() -> None:
    text = methods_module(model_of(OLD), "old", "rabbitmq")
    assert "from amqp_sansio.wire.layouts.profiles import PROFILES" in text
    assert 'CODEC: Final = MethodCodec("old", CODES, ARGUMENTS, CONTENTS, PROPERTIES, CLASSES, PROFILES["rabbitmq"])' in text


def _classes() -> Iterator[tuple[str, int, int, int]]:
    for name in DIALECTS:
        model = load_dialect(name)
        verbs = sum(len(amqp.verbs) for amqp in model.classes)
        yield name, len(model.classes), verbs, sum(len(s.fields) for amqp in model.classes for s in amqp.structs)


def test_every_dialect_has_the_methods_and_properties_of_its_documents() -> None:
    """Classes, methods and properties as the documents count them; RabbitMQ's 64 methods and access.request in 0-9-1."""
    found = {name: numbers for name, *numbers in _classes()}
    assert {name: found[name] for name in ("0-8", "0-9", "0-9-1")} == {
        "0-8": [12, 89, 33], "0-9": [12, 101, 33], "0-9-1": [8, 66, 14]
    }  # fmt: skip
    assert {name: numbers[1] for name, numbers in found.items() if " " in name} == {
        "0-8 unbind": 91, "0-8 Qpid": 92, "0-9 RabbitMQ": 108, "0-9 unbind": 101, "0-9 Qpid": 105, "0-9-1 Qpid": 55
    }  # fmt: skip


def test_one_number_is_one_method_in_each_dialect() -> None:
    """10,60 is connection.close in 0-8 and connection.blocked at RabbitMQ."""
    for name in DIALECTS:
        codes = [(amqp.code, verb.code) for amqp in load_dialect(name).classes for verb in amqp.verbs]
        assert len(set(codes)) == len(codes), name


def test_a_class_has_all_fields_of_its_versions() -> None:
    """A field that every version has is never None; one that some lack comes behind, and its text says where it stands."""
    models = {name: load_dialect(name) for name in DIALECTS}
    basic = next(amqp for amqp in union(models).classes if amqp.name == "basic")
    publish = next(verb for verb in basic.verbs if verb.name == "publish")
    assert [(f.name, f.optional) for f in publish.fields] == [
        ("exchange", False), ("routing-key", False), ("mandatory", False), ("immediate", False), ("ticket", True)
    ]  # fmt: skip
    assert publish.fields[-1].text.endswith("In 0-8 and 0-9.")
    recover = next(verb for verb in basic.verbs if verb.name == "recover-sync")
    assert recover.text.endswith("In Qpid 0-9 and Qpid 0-9-1.")


@pytest.mark.parametrize("name", DIALECTS)
def test_the_layout_of_each_dialect_has_its_methods(name: str) -> None:
    codec = import_module(f"amqp_sansio.wire.layouts.{module_name(name)}").CODEC
    model = load_dialect(name)
    said = {amqp.code << 16 | verb.code: f"{amqp.name}.{verb.name}" for amqp in model.classes for verb in amqp.verbs}
    assert {code: kind.VERB for code, kind in codec.kinds.items()} == said
    assert codec.name == name
