"""The faults that `python -m tools.mutations` puts in, which of them it tries, and that it notices what is noticed."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tools.mutations.choice import ROOMS, chosen, room_of
from tools.mutations.covering import Covering, Unsound, mirror
from tools.mutations.faults import KINDS, Fault, faults_in, readable
from tools.mutations.record import Record, Share, by_room, keep, reasons, report, shares
from tools.mutations.trial import Trials, Verdict

ROOT = Path(__file__).resolve().parents[2]
PATH = "src/amqp_sansio/kernel/thing.py"
MODULE = b'''"""A thing."""

ROWS = [Row("a", WHO, "go", "b"), Row("b", WHO, "stay", "b"), Row("b", WHO, "back", "a")]

def least(one: int, two: int = 1) -> bool:
    """Prose: one < two."""
    assert one < two
    if not one or two is None:
        raise ValueError(f"{one} < {two}")
    return False

class Meter:
    def take(self, cost: int) -> int:
        self.used += cost
        self.owed.add(cost - 1)
        self.last = min(cost, self.left[1])
        return self.used >= 7

    def __repr__(self) -> str:
        return "few" if self.used < 3 else "many"
'''


def told(module: bytes = MODULE) -> list[tuple[str, str, str]]:
    return [(fault.kind, fault.text, fault.instead) for fault in faults_in(PATH, module)]


def test_what_may_be_put_wrong() -> None:
    found = told()
    assert ("dropped row", 'Row("a", WHO, "go", "b"),', "") in found
    assert ("redirected row", '"b"', '"a"') in found
    assert ("guard never", "not one or two is None", "False") in found
    assert ("and for or", "not one or two is None", "(not one and two is None)") in found
    assert ("dropped not", "not one", "bool(one)") in found
    assert ("flipped comparison", "is", "is not") in found
    assert ("other truth", "False", "True") in found
    assert ("not counted", "self.used += cost", "pass") in found
    assert ("dropped call", "self.owed.add(cost - 1)", "pass") in found
    assert ("off by one", "cost - 1", "(cost)") in found
    assert ("dropped assignment", "self.last = min(cost, self.left[1])", "pass") in found
    assert ("least for most", "min", "max") in found
    assert ("off by one", "1", "2") in found
    assert ("flipped comparison", ">=", ">") in found
    assert ("off by one", "7", "8") in found


def test_what_only_tells_people_or_the_type_checker_something_stays_right() -> None:
    assert not [each for each in told() if each[1] == "<" or "few" in each[1] or each[1] == "3"]


def test_every_fault_can_be_read_and_is_another_module() -> None:
    for fault in faults_in(PATH, MODULE):
        assert readable(fault, MODULE)
        other = fault.applied(MODULE)
        assert ast.dump(ast.parse(other)) != ast.dump(ast.parse(MODULE))
        assert fault.kind in KINDS
    with pytest.raises(ValueError, match="is not what it was"):
        fault.applied(b"x" + MODULE)


def test_at_least_200_faults_of_all_kinds_and_rooms_the_same_every_time() -> None:
    faults = chosen(ROOT, 1)
    assert len(faults) >= 200
    assert len({fault.name for fault in faults}) == len(faults)
    assert Counter(room_of(fault.path) for fault in faults) == dict(ROOMS)
    assert {fault.kind for fault in faults} == set(KINDS)
    kernel = [fault for fault in faults if "/kernel/" in fault.path]
    assert kernel == chosen(ROOT, 1, {"kernel": len(kernel)})
    assert kernel != chosen(ROOT, 2, {"kernel": len(kernel)})


def test_what_may_survive_has_a_reason_and_is_a_fault() -> None:
    """A reason is about a fault that can still be put in: one that is no longer there goes."""
    possible: dict[str, set[str]] = {}
    for name in reasons():
        path = name.partition(" ")[0]
        if path not in possible:
            possible[path] = {fault.name for fault in faults_in(path, (ROOT / path).read_bytes())}
        assert name in possible[path], name


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small tree with one module and its test."""
    tree = tmp_path / "tree"
    for folder in ("src/amqp_sansio/kernel", "tests/kernel", "tools/mutations"):
        (tree / folder).mkdir(parents=True)
    (tree / "src/amqp_sansio/__init__.py").write_text("")
    (tree / "src/amqp_sansio/kernel/__init__.py").write_text("")
    (tree / PATH).write_text("def enough(n: int) -> bool:\n    return n >= 7 or n > 100\n")
    (tree / "tests/kernel/test_thing.py").write_text(
        "from amqp_sansio.kernel.thing import enough\n\ndef test_enough() -> None:\n    assert enough(7) and not enough(6)\n"
    )
    (tree / "tools/__init__.py").write_text("")
    for path in (ROOT / "tools/mutations").glob("*.py"):
        (tree / "tools/mutations" / path.name).write_text(path.read_text())
    return tree


def test_tests_that_cannot_be_read_measure_nothing(tree: Path, tmp_path: Path) -> None:
    """Without a test every fault would survive."""
    (tree / "tests" / "kernel" / "test_other.py").write_text("raise RuntimeError")
    with pytest.raises(Unsound, match="RuntimeError"):
        Covering(tree, tmp_path / "covering").measure()


def test_what_is_noticed_and_what_is_not(tree: Path, tmp_path: Path) -> None:
    covering = Covering(tree, tmp_path / "covering")
    assert covering.measure() == 1
    assert covering.lines[PATH, 2] == ["tests/kernel/test_thing.py::test_enough"]
    again = Covering(tree, tmp_path / "covering")
    assert again.measure() == 0
    assert again.lines == covering.lines
    faults = list(faults_in(PATH, (tree / PATH).read_bytes()))
    edge = next(fault for fault in faults if fault.text == ">=")
    beyond = next(fault for fault in faults if fault.instead == "101")
    trials = Trials(tree, tmp_path / "copy", covering)
    record = Record(tmp_path / "verdicts.jsonl", tree)
    for fault, outcome, by in ((edge, "killed", "tests/kernel/test_thing.py::test_enough"), (beyond, "survived", "")):
        assert covering.tests(fault) == (["tests/kernel/test_thing.py::test_enough"], [])
        verdict = trials.tried(fault)
        assert (verdict.outcome, verdict.by) == (outcome, by)
        record.add(verdict)
    assert (tmp_path / "copy" / PATH).read_bytes() == (tree / PATH).read_bytes()
    kept = Record(tmp_path / "verdicts.jsonl", tree)
    text, enough = report([edge, beyond], kept, {})
    assert "1 of 2 faults noticed (50.0%" in text
    assert "NOT EXPLAINED" in text
    assert not enough
    (tree / PATH).write_text("")
    assert Record(tmp_path / "verdicts.jsonl", tree).of(edge) is None


def test_enough_is_noticed() -> None:
    faults = [Fault(PATH, "f", line, "off by one", 0, 1, str(line), "0") for line in range(1, 21)]

    class Known(Record):
        def of(self, fault: Fault) -> dict[str, object] | None:
            return {"outcome": "survived" if fault.line == 1 else "killed"}

    known = Known(Path("none"), Path())
    assert report(faults, known, {faults[0].name: "the same"})[1]
    assert not report(faults, known, {})[1]
    assert not report(faults[:19], known, {faults[0].name: "the same"})[1]


def test_no_room_may_notice_a_smaller_share_than_before(tmp_path: Path) -> None:
    """A share is kept of a room whose faults were all tried; a part of them is held against it, too."""
    paths = (PATH, "src/amqp_sansio/captures/replay/thing.py")
    faults = [Fault(path, "f", line, "off by one", 0, 1, str(line), "0") for path in paths for line in range(1, 41)]

    class Known(Record):
        survivors: frozenset[int] = frozenset({1})

        def of(self, fault: Fault) -> dict[str, object] | None:
            if "/replay/" in fault.path and fault.line == 40:
                return None
            return {"outcome": "survived" if fault.line in self.survivors else "killed"}

    known = Known(Path("none"), Path())
    assert by_room(faults, known, 7, "abc") == {"kernel": Share(39, 40, 7, "abc")}
    kept = tmp_path / "shares.json"
    kept.write_text('{"ledger": {"noticed": 1, "tried": 2, "seed": 3, "commit": "old"}}')
    keep(by_room(faults, known, 7, "abc"), kept)
    assert shares(kept) == {"kernel": Share(39, 40, 7, "abc"), "ledger": Share(1, 2, 3, "old")}
    why = dict.fromkeys([fault.name for fault in faults], "the same")
    assert report(faults[:40], known, why, shares(kept))[1]
    known.survivors = frozenset({1, 2})
    text, enough = report(faults[:40], known, why, shares(kept))
    assert "kernel: 38 of 40 noticed (39 of 40 noticed with seed 7 at abc: LESS)" in text
    assert not enough
    assert shares().keys() <= ROOMS.keys()


def test_names() -> None:
    assert mirror("src/amqp_sansio/broker/model/queue.py") == "tests/broker/model/test_queue.py"
    assert Verdict(Fault(PATH, "", 1, "off by one", 0, 1, "1", "2"), "killed", "t", 1.0, 1).fault.name.endswith(
        "thing.py (module): off by one: 1 -> 2"
    )
