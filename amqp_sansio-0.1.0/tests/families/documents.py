"""What the documents of the older dialects say of each method, from the generator's tables, which are compared with them."""

from __future__ import annotations

from typing import Final

from tools.codegen.compare_older import facts, table_lines

DOCUMENTS: Final = ("0-8", "0-9", "0-9-1")


class Document:
    """The methods of one document, those of class connection left out unless `connection`; sets and maps of verbs."""

    def __init__(self, name: str, connection: bool = False) -> None:
        self.hearers: Final[dict[str, set[str]]] = {}
        """By method who must or may take it."""
        self.answers: Final[dict[str, set[str]]] = {}
        self.synchronous: Final[set[str]] = set()
        self.contents: Final[set[str]] = set()
        self.nowait: Final[set[str]] = set()
        for fact in facts(table_lines(name)):
            path, kind, *words = fact.split()
            if path.partition(".")[0] == "connection" and not connection:
                continue
            if kind == "method":
                verb = f"{path}.{words[0]}"
                self.hearers[verb] = set()
                for flag, verbs in (("synchronous", self.synchronous), ("content", self.contents)):
                    if flag in words:
                        verbs.add(verb)
            elif path in self.hearers and kind == "chassis":
                self.hearers[path].add(words[0])
            elif path in self.hearers and kind == "response":
                self.answers.setdefault(path, set()).add(f"{path.partition('.')[0]}.{words[0]}")
            elif path in self.hearers and kind == "field" and words[0] in ("nowait", "no-wait"):
                self.nowait.add(path)
