"""The generator: fresh, formatted, complete, and in agreement with the specification where that is present."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.codegen import __main__ as command
from tools.codegen.compare import differences, table_facts
from tools.codegen.compare import main as compare
from tools.codegen.model import TABLES, load, parse
from tools.codegen.names import class_name, constant_name, field_name
from tools.codegen.text import docstring, quoted


def test_fresh() -> None:
    """What is committed is what the generator writes."""
    assert command.stale(command.generate()) == []


def test_check_lists_what_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """--check exits with 1 and a list when a file is missing or changed, and writes nothing; without it, files are written."""
    monkeypatch.setattr(command, "SOURCE", tmp_path)
    monkeypatch.setattr(command.stale, "__defaults__", (tmp_path,))
    assert command.main(["--check"]) == 1
    assert "spec/message.py" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert command.main([]) == 0
    assert command.main(["--check"]) == 0
    (tmp_path / "spec" / "message.py").write_text("# changed by hand\n")
    capsys.readouterr()
    assert command.main(["--check"]) == 1
    assert capsys.readouterr().err.splitlines() == ["stale: src/amqp_sansio/spec/message.py; run python -m tools.codegen"]
    assert command.main(["--what"]) == 2


def test_ruff_format_leaves_generated_files_as_they_are(tmp_path: Path) -> None:
    """The generator writes formatted files by itself."""
    ruff = Path(sys.executable).with_name("ruff")
    if not ruff.exists():
        pytest.skip("ruff is not installed")
    shutil.copy(Path(__file__).parents[2] / "pyproject.toml", tmp_path)
    files = command.generate()
    for path, text in files.items():
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    done = subprocess.run([ruff, "format", "--diff", "."], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_counts() -> None:
    """10 classes, 25 controls, 59 commands, 17 structs, 45 types, 146 rules, 78 exceptions."""
    model = load()
    verbs = [verb for amqp in model.classes for verb in amqp.verbs]
    assert len(model.classes) == 10
    assert sum(verb.kind == "control" for verb in verbs) == 25
    assert sum(verb.kind == "command" for verb in verbs) == 59
    assert sum(len(amqp.structs) for amqp in model.classes) == 17
    assert len(model.types) == 45
    assert sum(rule.error is None for rule in model.rules) == 146
    assert sum(rule.error is not None for rule in model.rules) == 78


def test_everything_has_a_sentence() -> None:
    """Every class, verb, struct, field, domain with a choice, rule and type has a sentence that ends like one."""
    model = load()
    texts = [rule.text for rule in model.rules] + [entry.text for entry in model.types]
    for amqp in model.classes:
        texts.append(amqp.text)
        for domain in amqp.domains:
            texts += [domain.text, *[text for _, _, text in domain.choices]]
        for struct in amqp.structs:
            texts += [struct.text, *[field.text for field in struct.fields]]
        for verb in amqp.verbs:
            texts += [verb.text, *[field.text for field in verb.fields]]
    assert all(text.endswith(".") for text in texts)


def test_sentences_are_ours(shared: Path) -> None:
    """No sentence of the tables stands in the specification's prose."""
    prose = " ".join((shared / "spec" / "amqp-0-10-prose.txt").read_text().split()).lower()
    model = load()
    texts = [rule.text for rule in model.rules]
    for amqp in model.classes:
        texts += [thing.text for thing in amqp.verbs] + [f.text for thing in amqp.verbs for f in thing.fields]
    long = [text for text in texts if len(text.split()) > 5]
    assert [text for text in long if text.lower().rstrip(".") in prose] == []


def test_tables_agree_with_the_specification(shared: Path) -> None:
    """The tables say what both editions of the XML say."""
    assert differences(shared / "spec") == []
    assert compare([str(shared / "spec")]) == 0


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("message.txt", "field flow-mode flow-mode required", "field flow-mode flow-mode"),
        ("dtx.txt", "exception already-known not-allowed", "exception already-known illegal-state"),
        ("types.txt", "type vbin32 code=a0", "type vbin32 code=a1"),
        ("final.txt", "+ dtx struct xid size=2 pack=2", "+ dtx struct xid size=4 pack=2"),
        ("tx.txt", "handle server MUST", "handle server MAY"),
    ],
)
def test_a_changed_table_is_seen(shared: Path, tmp_path: Path, file: str, old: str, new: str) -> None:
    """Any fact that is changed shows as a difference."""
    shutil.copytree(TABLES, tmp_path / "tables")
    path = tmp_path / "tables" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    assert len(differences(shared / "spec", tmp_path / "tables")) >= 2


def test_compare_without_a_specification(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder without XML is said so, with exit code 2."""
    assert compare([str(tmp_path)]) == 2
    assert "no XML" in capsys.readouterr().err
    assert len(table_facts()) > 900


def test_names() -> None:
    """Names of the specification become names of Python; keywords and builtins get an underscore."""
    assert [field_name(n) for n in ("accept-mode", "type", "global", "format", "queue")] == [
        "accept_mode",
        "type_",
        "global_",
        "format_",
        "queue",
    ]
    assert [class_name(n) for n in ("delivery-properties", "exception", "return")] == [
        "DeliveryProperties",
        "Exception_",
        "Return",
    ]
    assert constant_name("not-found") == "NOT_FOUND"


def test_parse_and_text() -> None:
    """Tables nest by two blanks; too much of it is an error; docstrings and strings are what ruff would write."""
    (root,) = parse("class x 1 -- A sentence.\n  # remark\n  rule y\n\n", "here")
    assert (root.text, root.below[0].words) == ("A sentence.", ["rule", "y"])
    with pytest.raises(ValueError, match="here:2: too deep"):
        parse("class x 1\n    rule y\n", "here")
    assert docstring("Short.", 4) == ['    """Short."""']
    assert docstring("word " * 40, 0)[-1] == '"""'
    assert (quoted("a"), quoted('a"b'), quoted("a'b\"")) == ('"a"', "'a\"b'", '"a\'b\\""')
