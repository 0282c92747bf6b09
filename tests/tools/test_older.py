"""Reading the XML of the older dialects, and the layout that is written from it."""

from __future__ import annotations

import pytest

from tools.codegen.older import load_older, methods_module

OLD = """<amqp major="8" minor="0"><domain name="access ticket" type="short"/>
  <class name="basic" index="60">
    <method name="get ok" index="71" content="1"><chassis name="client" implement="MAY"/>
      <field name="ticket" domain="access ticket"/><field name="no ack" type="bit"/></method>
    <method name="open" index="10"><response name="get ok"/>
      <field name="reserved-1" type="shortstr" reserved="1"/><field name="reserved-2" type="bit" reserved="1"/>
      <field name="reserved-3" type="short" reserved="1"/></method>
  </class></amqp>"""


def test_names_types_and_marks_are_read() -> None:
    """Blanks in names are hyphens, domains are resolved by their spelling, `content` and `reserved` are kept."""
    (basic,) = load_older(OLD).classes
    get_ok, opened = basic.verbs
    assert (basic.code, get_ok.name, get_ok.code, get_ok.handlers) == (60, "get-ok", 71, [("client", "MAY")])
    assert [(f.name, f.type, f.reserved) for f in get_ok.fields] == [("ticket", "uint16", False), ("no-ack", "bit", False)]
    assert (get_ok.segments is not None, opened.segments, opened.responses) == (True, None, ["get-ok"])
    assert all(f.reserved for f in opened.fields)


def test_the_layout_says_what_reserved_arguments_send() -> None:
    """A reserved text is written as octets, for what arrives in it need be no text."""
    lines = methods_module(load_older(OLD), "old").splitlines()
    assert "    basic.GetOk: 0x003C0047," in lines
    assert '    basic.GetOk: (("ticket", "uint16", None), ("no_ack", "bit", None)),' in lines
    sent = '(("reserved_1", "vbin8", b""), ("reserved_2", "bit", False), ("reserved_3", "uint16", 0))'
    assert f"    basic.Open: {sent}," in lines
    assert 'CONTENTS: Final[frozenset[str]] = frozenset({"basic.get-ok"})' in lines


def test_a_type_that_nothing_reads_is_named() -> None:
    with pytest.raises(ValueError, match=r"basic\.get-ok\.no-ack: nothing reads the type blob"):
        load_older(OLD.replace('"bit"/></method>\n    <method', '"blob"/></method>\n    <method'))


def test_a_dialect_with_tables_names_their_profile() -> None:
    text = methods_module(load_older(OLD), "old", "rabbitmq")
    assert "from amqp_sansio.wire.layouts.profiles import PROFILES" in text
    assert 'METHODS: Final = Methods("old", CODES, ARGUMENTS, CONTENTS, PROFILES["rabbitmq"])' in text
