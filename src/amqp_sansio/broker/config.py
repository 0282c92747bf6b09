"""Frozen settings of a broker."""

from __future__ import annotations

from typing import Any, Final, get_args

import attrs

from amqp_sansio.broker.access import Access, Rules
from amqp_sansio.config import ErrorCodes
from amqp_sansio.errors import EncodeError
from amqp_sansio.errors.checks import checked, integers, names, one_of, texts
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS, BrokerLimits
from amqp_sansio.spec.values import List, Map

ANNOUNCED: Final = Map((("qpid.features", List(["qpid.jms-selector"])), ("qpid.queue_lifetime_supported", True)))
"""Server-properties that every broker announces.

With the first, Qpid JMS leaves selectors to the broker; with the second, its temporary queues live as long as their connection.
"""


def _access(instance: object, attribute: object, value: Any) -> None:  # Any: whatever the caller gives
    if not isinstance(value, Rules) and not callable(value):
        raise EncodeError("BrokerConfig.access", f"takes Rules or a callable, not {value!r}")


@attrs.frozen(kw_only=True, field_transformer=checked())
class BrokerConfig:
    """The settings of a broker.  Those of a connection are in its `ServerConfig`."""

    virtual_hosts: tuple[str, ...] | None = attrs.field(
        default=None, converter=attrs.converters.optional(names), validator=texts(255)
    )
    """The virtual hosts that exist; any other is answered with close 402.  None: any, created when first opened."""
    journal: bool = False
    """True: durable changes are entries of `Broker.journal`, and what depends on them waits for `Broker.journalled`."""
    epoch: float | None = None
    """POSIX seconds at moment 0 of the broker's clock.  None: unknown, and messages get no expiration."""
    error_codes: ErrorCodes = attrs.field(default="qpid", validator=one_of(*get_args(ErrorCodes)))
    """What to refuse, and with which code, where deployed brokers deviate from the letter.

    It applies to connections without a `ServerConfig` of their own; others follow their profile.
    """
    branch_timeout: int = attrs.field(default=60, validator=integers(1, 2**32 - 1))
    """Seconds until an unprepared branch of a distributed transaction times out, unless dtx.set-timeout sets another value."""
    most_branch_timeout: int = attrs.field(default=3600, validator=integers(1, 2**32 - 1))
    """The most seconds for dtx.set-timeout; more is answered with 542."""
    federation_tag: str | None = attrs.field(default=None, validator=texts(255, 1))
    """The identity of this broker, 1 to 255 octets, announced as `qpid.federation_tag`; None: not announced.

    By it, Qpid JMS recognises that two connections have the same resource manager.
    """
    access: Access | None = attrs.field(default=None, validator=_access)
    """The access rules; None: every user may do everything.  `Broker.set_access` changes it later."""
    limits: BrokerLimits = DEFAULT_BROKER_LIMITS

    @property
    def announced(self) -> Map:
        """Returns the server-properties that every connection of the broker announces."""
        return ANNOUNCED if self.federation_tag is None else Map({**ANNOUNCED, "qpid.federation_tag": self.federation_tag})

    def __attrs_post_init__(self) -> None:
        if self.branch_timeout > self.most_branch_timeout:
            raise EncodeError("BrokerConfig.branch_timeout", f"at most most_branch_timeout, {self.most_branch_timeout}")


DEFAULT_BROKER_CONFIG: Final = BrokerConfig()
