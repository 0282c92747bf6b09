"""`python -m tools.codegen` writes the generated modules; `--check` lists those that are not fresh and exits with 1."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.codegen.blocking import blocking_files
from tools.codegen.codes import codes_module, rules_module
from tools.codegen.events import event_files
from tools.codegen.layouts import errata_module, fields_module, final_module, structs_module
from tools.codegen.model import load
from tools.codegen.older import older_files
from tools.codegen.properties import properties_module
from tools.codegen.reply_codes import enum_module, layout_module
from tools.codegen.vocabulary import module

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "amqp_sansio"


def generate() -> dict[str, str]:
    """Returns every generated file: path below src/amqp_sansio -> text."""
    model = load()
    files = {f"spec/{amqp.name}.py": module(model, amqp) for amqp in model.classes}
    files["spec/codes.py"] = codes_module(model)
    files["spec/rules.py"] = rules_module(model)
    files["spec/reply_codes.py"] = enum_module()
    files["wire/layouts/reply_codes.py"] = layout_module()
    files["wire/layouts/structs.py"] = structs_module(model)
    files["wire/layouts/properties.py"] = properties_module(model)
    files["wire/layouts/fields.py"] = fields_module(model)
    files["wire/layouts/v0_10.py"] = errata_module(model)
    files["wire/layouts/v0_10_final.py"] = final_module(model)
    return {**files, **older_files(), **blocking_files(), **event_files()}


def stale(files: dict[str, str], source: Path = SOURCE) -> list[str]:
    """Returns the files that are missing under `source` or differ."""
    return [path for path, text in files.items() if not (source / path).is_file() or (source / path).read_text() != text]


def main(arguments: list[str]) -> int:
    """Returns the exit code: 0, 1 when `--check` found stale files, 2 for invalid arguments."""
    if arguments not in ([], ["--check"]):
        print("usage: python -m tools.codegen [--check]", file=sys.stderr)
        return 2
    files = generate()
    old = stale(files)
    if arguments:
        for path in old:
            print(f"stale: src/amqp_sansio/{path}; run python -m tools.codegen", file=sys.stderr)
        return 1 if old else 0
    for path in old:
        (SOURCE / path).parent.mkdir(parents=True, exist_ok=True)
        (SOURCE / path).write_text(files[path])
        print(f"wrote src/amqp_sansio/{path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
