"""A caller says a mode or a code by its name: public calls take the enumeration of the specification, not a number."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator

from tests.contracts.test_exports import LIST

CHOICES = {
    "accept_mode": "AcceptMode",
    "acquire_mode": "AcquireMode",
    "code": "CloseCode|DetachCode|ErrorCode|RejectCode|ReplyCode",
    "delivery_mode": "DeliveryMode",
    "error_code": "ErrorCode",
    "mode": "FlowMode",
    "reply_code": "CloseCode|ReplyCode",
    "unit": "CreditUnit",
}
"""Parameters that name a choice, whose domain the specification lists."""
RETURNED = (
    "amqp_sansio.engine.subscription.Subscription",
    "amqp_sansio.engine.transactions.Tx",
    "amqp_sansio.engine.transactions.Dtx",
)
"""What public calls give, besides the names of the list."""
AS_IT_CAME = {
    "Profile.publish_is_explicit": "the mode of a command that came, or None where the peer left it out",
}
"""Calls that are given what a peer said, which may be a number outside the enumeration; events and errors hold it, too."""
NUMBER = re.compile(r"\bint\b")


def calls() -> Iterator[tuple[str, inspect.Signature]]:
    """Every public call, by its name.  Events and errors are made by us, from what came."""
    for line in [*LIST.read_text().split(), *RETURNED]:
        module, _, name = line.rpartition(".")
        if module in ("amqp_sansio.events", "amqp_sansio.errors", "amqp_sansio.adapters.otel"):
            continue
        found = getattr(importlib.import_module(module), name)
        if inspect.isclass(found):
            if not issubclass(found, Exception):
                members = inspect.getmembers(found, inspect.isfunction)
                yield from ((f"{name}.{each}", inspect.signature(call)) for each, call in members if not each.startswith("_"))
        elif inspect.isfunction(found):
            yield name, inspect.signature(found)


def test_no_public_call_takes_a_number_for_a_choice() -> None:
    numbers = {
        f"{call}({name}: {parameter.annotation})"
        for call, signature in calls()
        for name, parameter in signature.parameters.items()
        if name in CHOICES and call not in AS_IT_CAME and NUMBER.search(str(parameter.annotation))
    }
    assert numbers == set()


def test_the_choices_are_taken_somewhere() -> None:
    """Else a parameter got another name, and the table above looks at nothing."""
    taken = {(name, str(each.annotation)) for _, signature in calls() for name, each in signature.parameters.items()}
    for name in ("accept_mode", "acquire_mode", "code", "delivery_mode", "mode"):
        assert any(name == each and re.search(CHOICES[name], text) for each, text in taken), name


def test_what_takes_a_number_is_there() -> None:
    assert AS_IT_CAME.keys() <= {call for call, _ in calls()}
