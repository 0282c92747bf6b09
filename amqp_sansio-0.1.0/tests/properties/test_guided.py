"""What a guided fuzzer begins with, and what it once found worth keeping: nothing but events comes out of any of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz import guided, spoken
from fuzz.inputs import GUIDED, packed, unpacked
from fuzz.targets import TARGETS

saids = st.lists(st.tuples(st.sampled_from(["client", "server"]), st.binary(min_size=1, max_size=40)), max_size=5)


def test_the_targets_are_those_of_the_grammar() -> None:
    assert tuple(GUIDED) == guided.NAMES
    assert {"decoder", "client", "server", "session", "broker", "capture"} <= set(GUIDED)


@pytest.mark.parametrize("name", GUIDED)
def test_nothing_but_events_comes_out_of_seeds_and_of_what_is_kept(name: str) -> None:
    inputs = [*GUIDED[name].seeds(), *guided.read(name)]
    assert len(inputs) >= 16
    for data in inputs:
        target, said = GUIDED[name].meant(data)
        TARGETS[target].feed(said)


@pytest.mark.parametrize("name", GUIDED)
def test_what_is_kept_is_small(name: str) -> None:
    assert sum(map(len, guided.read(name))) <= guided.KEPT


# Pieces of two speakers come back from their octets.
@given(saids)
def test_pieces_come_back(said: list[tuple[str, bytes]]) -> None:
    assert unpacked(packed(tuple(said))) == tuple(said)


# Any octets are pieces.
@given(st.binary(max_size=60))
def test_any_octets_are_pieces(data: bytes) -> None:
    assert sum(len(octets) for _, octets in unpacked(data)) <= len(data)


@pytest.mark.parametrize("section", spoken.SECTIONS)
def test_every_word_of_a_seed_has_octets(section: str) -> None:
    for said in spoken.conversations(section):
        for word in said:
            assert spoken.octets(word.partition(":")[2]), word


def test_the_smallest_are_kept_as_far_as_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guided, "CORPORA", tmp_path)
    assert guided.write("decoder", [b"long", b"ab", b"ab", b"x" * guided.KEPT]) == 2
    assert guided.read("decoder") == [b"ab", b"long"]
    assert guided.read("broker") == []


def test_without_atheris_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(guided, "installed", lambda: False)
    assert guided.main(["decoder"]) == 0
    assert "atheris is not installed" in capsys.readouterr().out
