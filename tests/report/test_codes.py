"""Codes with their names."""

from __future__ import annotations

from amqp_sansio.report.codes import explained, named


def test_a_code_has_its_name_whichever_version_it_belongs_to() -> None:
    assert named(404) == "404 not-found"
    assert named(320) == "320 connection-forced"
    assert named(312) == "312 no-route"
    assert (named(999), named(0)) == ("999", "no code")


def test_what_begins_with_the_name_of_the_code_does_not_say_it_twice() -> None:
    assert explained(404, "not-found: no queue q") == "404 not-found: no queue q"
    assert explained(404, "no queue q") == "404 not-found: no queue q"
    assert explained(404, None) == "404 not-found"
    assert explained(320, "") == "320 connection-forced"
