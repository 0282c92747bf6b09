"""What happens to the credit of a subscription, step by step, for whoever counts it in two ways."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.message import Cancel, Flow, Flush, SetFlowMode, Stop

Step = tuple[str, Any]


def steps(*others: st.SearchStrategy[Step]) -> st.SearchStrategy[list[Step]]:
    """Runs of deliveries by their octets, completions of ids, words of the subscriber (see `word`), and others."""
    some: list[st.SearchStrategy[Step]] = [
        st.tuples(st.just("run"), st.lists(st.integers(0, 30), min_size=1, max_size=6)),
        st.tuples(st.just("done"), st.tuples(st.integers(0, 9), st.integers(0, 9)).map(sorted)),
        st.tuples(st.just("flow"), st.tuples(st.integers(0, 1), st.sampled_from([0, 3, 40, INFINITE]))),
        st.tuples(st.just("mode"), st.integers(0, 1)),
        st.tuples(st.sampled_from(["stop", "cancel"]), st.none()),
    ]
    return st.lists(st.one_of(*some, *others), max_size=12)


def word(what: str, more: Any) -> Command:
    """What the subscriber says to do it, of the destination "d"."""
    if what == "flow":
        return Flow("d", *more)
    return SetFlowMode("d", more) if what == "mode" else {"stop": Stop, "flush": Flush, "cancel": Cancel}[what]("d")
