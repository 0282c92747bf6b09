"""The tables of the older dialects against their documents, and the versions against one another."""

from __future__ import annotations

import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tools.codegen.compare_older import (
    CHANGES,
    OLDER,
    UNPRINTED,
    WHOLE,
    applied,
    changed,
    changes,
    differences,
    excerpt,
    facts,
    main,
    page,
    table_lines,
    version,
    xml_lines,
)


@pytest.fixture
def spec() -> Path:
    folder = Path(__file__).resolve().parents[3] / "shared" / "spec"
    if not (folder / "amqp-0-8.xml").is_file():
        pytest.skip("the documents are not here")
    return folder


def test_the_tables_agree_with_the_documents(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every class, method, field, property, domain and constant of four XML files and two excerpts, in order."""
    assert differences(spec) == []
    assert main([str(spec)]) == 0
    assert capsys.readouterr().out == "1616 facts of 3 versions, 52 changes of 3 documents, 0 differences\n"


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("0-8.txt", "field no-ack no-ack", "field no-ack bit"),
        ("0-8.txt", "method consume-ok 21", "method consume-ok 22"),
        ("0-9.txt", "constant frame-end 206", "constant frame-end 207"),
        ("0-9.txt", "  method ping 60\n    response ok", "  method ping 60"),
        ("0-9-1.txt", "reserved-1 short reserved", "reserved-1 short"),
        ("0-9-1.txt", "property priority octet", "property priority short"),
        ("rabbitmq.txt", "basic method nack 120", "basic method nack 121"),
        ("0-8-excerpts.txt", "+ queue method unbind 50 synchronous\n", ""),
        ("0-9-queue-class.txt", "+ queue.unbind field nowait bit", "+ queue.unbind field no-wait bit"),
        ("0-9-queue-class.txt", " before arguments", ""),
        (
            "rabbitmq.txt",
            "+ exchange.declare field auto-delete bit\n+ exchange.declare field internal bit\n",
            "+ exchange.declare field internal bit\n+ exchange.declare field auto-delete bit\n",
        ),
    ],
)
def test_a_changed_table_is_seen(spec: Path, tmp_path: Path, file: str, old: str, new: str) -> None:
    """Any fact that is changed shows as a difference."""
    shutil.copytree(OLDER, tmp_path / "older")
    path = tmp_path / "older" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    assert differences(spec, tmp_path / "older") != []


def test_another_order_is_seen(spec: Path, tmp_path: Path) -> None:
    """In 0-9-1, and so in RabbitMQ's, which is kept as a difference from it."""
    shutil.copytree(OLDER, tmp_path / "older")
    path = tmp_path / "older" / "0-9-1.txt"
    one, two = "    field version-major octet\n", "    field version-minor octet\n"
    path.write_text(path.read_text().replace(one + two, two + one, 1))
    assert ["another order" in line for line in differences(spec, tmp_path / "older")] == [True, True]


@pytest.mark.parametrize(
    ("name", "classes", "methods", "properties"),
    [("0-8", 12, 89, 33), ("0-9", 12, 101, 33), ("0-9-1", 6, 53, 14), ("rabbitmq", 7, 60, 14)],
)
def test_how_much_each_version_has(name: str, classes: int, methods: int, properties: int) -> None:
    """As counted by hand; RabbitMQ's XML lacks four methods of class connection."""
    kinds = [next(word for word in fact.split() if word in KINDS) for fact in version(name) if KINDS & set(fact.split())]
    assert (kinds.count("class"), kinds.count("method"), kinds.count("property")) == (classes, methods, properties)


KINDS = {"class", "method", "property"}


def test_facts_of_an_xml() -> None:
    """Blanks in names are hyphens; properties and fields are told apart; documentation is passed over."""
    root = ElementTree.fromstring(
        """<amqp><constant name="not found" value="404" class="soft error"><doc>x</doc></constant>
        <class name="basic" handler="channel" index="60"><chassis name="server" implement="MUST"/>
        <field name="priority" type="octet"/><method name="get ok" index="71" content="1"><response name="ok"/>
        <field name="no ack" domain="no ack" reserved="1"><assert check="null"/></field></method></class></amqp>"""
    )
    assert facts(xml_lines(root)) == [
        "constant not-found 404 soft-error",
        "class basic 60 handler=channel",
        "basic chassis server MUST",
        "basic property priority octet",
        "basic method get-ok 71 content",
        "basic.get-ok response ok",
        "basic.get-ok field no-ack no-ack reserved",
        "basic.get-ok.no-ack assert null",
    ]


def test_an_excerpt_goes_on_where_its_page_says() -> None:
    """Comments do not count; a method is whole when its two tags stand there."""
    cut = "view on Meta::CPAN"
    found, whole = excerpt(
        f"""{cut} <constant name="a" value="1"> text </constant> <!-- <constant name="b" value="2"/> -->
        {cut} <field name = "nowait" type = "bit"/></method>
        {cut} <method name="declare" index="10"> {cut} </method>
        <method name="unbind" index="50"><field name="queue" domain="queue name"></field></method>
        <method name="cut" index="60">"""
    )
    assert found == [
        "constant a 1",
        "exchange.declare field nowait bit",
        "queue method declare 10",
        "queue method unbind 50",
        "queue.unbind field queue queue-name",
        "queue method cut 60",
    ]
    assert whole == {"queue.unbind"}


def test_fields_take_the_places_of_those_they_replace() -> None:
    base = ["a.b field one bit", "a.b field two bit", "a.b field three bit"]
    assert applied(base, base[1:2], ["a.b field new bit", "a.b field last bit"]) == [
        "a.b field one bit", "a.b field new bit", "a.b field three bit", "a.b field last bit"
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"nothing to take away, or to precede: a\.b field four bit"):
        applied(base, ["a.b field four bit"], [])


def test_a_field_precedes_the_one_that_it_names() -> None:
    base = ["a.b field one bit", "a.b field two bit", "a.c field two bit"]
    assert applied(base, [], ["a.b field new bit before two", "a.d field x bit"]) == [
        "a.b field one bit", "a.b field new bit", "a.b field two bit", "a.c field two bit", "a.d field x bit"
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"nothing to take away, or to precede: a\.b field three"):
        applied(base, [], ["a.b field new bit before three"])


def test_versions_and_their_differences(capsys: pytest.CaptureFixture[str]) -> None:
    """What is kept as differences stands in its base, or does not, as it says."""
    for name, (base, _) in CHANGES.items():
        lacks, has = changes(name)
        assert set(lacks) <= set(version(base))
        assert not set(has) & set(version(base))
        assert set(changed(version(base), version(name))) == {line.partition(" before ")[0] for line in table_lines(name)}
    assert len(WHOLE) == 3
    assert main(["--versions"]) == 0
    text = capsys.readouterr().out
    assert text == page()
    for told in ("+ queue.unbind field nowait bit", "- class file 70", "+ basic method nack 120", "## From 0-8 to 0-9"):
        assert told in text


def test_without_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder without them is named, with exit code 2."""
    assert main([str(tmp_path)]) == 2
    assert "no XML" in capsys.readouterr().err


def test_every_table_is_on_the_page() -> None:
    """Compared with a document, or told as what no document prints."""
    tables = {path.stem for path in OLDER.glob("*.txt")} - {"words"}
    assert tables == {*WHOLE, *CHANGES, *UNPRINTED}
    for name in UNPRINTED:
        assert f"## {name} against " in page()
        assert all(line in page() for line in table_lines(name))
