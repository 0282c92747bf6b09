"""The column of sessions: every condition has its codes, rule and field there, and the specification says the same."""

from __future__ import annotations

import pytest
from tests.broker.test_conditions import FACTS, PROFILES

from amqp_sansio.broker.conditions import CONDITIONS, NO_XID, Condition, Refused
from amqp_sansio.broker.fronts.sessions.error_column import COLUMNS, field_index_of
from amqp_sansio.spec.rules import RULES


@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=lambda condition: condition.name)
def test_a_row_says_what_the_specification_says(condition: Condition) -> None:
    column = COLUMNS[condition]
    if column.rule:
        rule = RULES[column.rule]
        assert rule.error in (None, column.spec)
    refused = Refused(condition, **FACTS)
    if column.field:
        assert column.command is not None
        assert condition.name.startswith(f"{column.command.VERB}: ")
        assert field_index_of(refused) == column.command.FIELDS.index(column.field)
    else:
        assert field_index_of(refused) is None


@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=lambda condition: condition.name)
def test_the_column_of_sessions_refuses_in_the_profiles_of_the_row(condition: Condition) -> None:
    for profile in PROFILES:
        assert condition.counts(profile) == (COLUMNS[condition].code(profile) is not None)


def test_the_column_of_sessions_is_whole() -> None:
    assert set(COLUMNS) == {*CONDITIONS.values(), NO_XID}


def test_every_exception_of_the_specification_that_the_model_or_its_peer_raises_is_a_row() -> None:
    rules = {column.rule for column in COLUMNS.values()}
    exceptions = {path for path, rule in RULES.items() if rule.error is not None}
    missing = {path for path in exceptions - rules if path.partition(".")[0] in ("message", "exchange", "queue", "dtx")}
    assert missing == set()
