"""Frozen settings of a broker."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from amqp_sansio.broker.access.guard import Access
from amqp_sansio.config import ErrorCodes
from amqp_sansio.errors import EncodeError
from amqp_sansio.kernel.serials import whole
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS, BrokerLimits
from amqp_sansio.spec.values import List, Map

ANNOUNCED: Final = Map((("qpid.features", List(["qpid.jms-selector"])), ("qpid.queue_lifetime_supported", True)))
"""Server-properties that every broker announces: with this feature Qpid JMS leaves selecting to the broker, and with the other
one its temporary queues live as long as their connection."""


def _names(values: Iterable[str]) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else tuple(values)


def _host_names(instance: object, attribute: object, names: tuple[str, ...] | None) -> None:
    for name in names or ():
        if type(name) is not str or len(name.encode("utf-8", "surrogatepass")) > 255:
            raise EncodeError("BrokerConfig.virtual_hosts", f"names of at most 255 octets, not {name!r}")


def _seconds(instance: object, attribute: attrs.Attribute[int], value: object) -> None:
    if isinstance(value, bool) or not whole(value) or value == 0:
        raise EncodeError(f"BrokerConfig.{attribute.name}", f"whole seconds, 1 to 2**32 - 1, not {value!r}")


def _tag(instance: object, attribute: attrs.Attribute[str], tag: str) -> None:
    if type(tag) is not str or not 1 <= len(tag.encode("utf-8", "surrogatepass")) <= 255:
        raise EncodeError("BrokerConfig.federation_tag", f"text of 1 to 255 octets, not {tag!r}")


@attrs.frozen(kw_only=True)
class BrokerConfig:
    """How a broker keeps what it is given.  How it talks is each connection's `ServerConfig`."""

    virtual_hosts: tuple[str, ...] | None = attrs.field(
        default=None, converter=attrs.converters.optional(_names), validator=_host_names
    )
    """The virtual hosts that exist; another one is answered with close 402.  None: any, made when it is first opened."""
    journal: bool = False
    """True: durable changes come out as entries (`Broker.journal`), and what depends on them waits for `Broker.journalled`."""
    epoch: float | None = None
    """POSIX seconds at moment 0 of the broker's clock.  None: unknown, and no expiration is written into messages."""
    error_codes: ErrorCodes = "qpid"
    """What is refused, and with which code, where deployed brokers differ from the letter; connections that are made without a
    `ServerConfig` answer so, others as their profile says."""
    branch_timeout: int = attrs.field(default=60, validator=_seconds)
    """Seconds that a branch of a distributed transaction has until it is prepared, unless dtx.set-timeout says otherwise."""
    most_branch_timeout: int = attrs.field(default=3600, validator=_seconds)
    """Seconds that dtx.set-timeout may ask for; more is answered with 542."""
    federation_tag: str | None = attrs.field(default=None, validator=attrs.validators.optional(_tag))
    """Which broker this is, 1 to 255 octets: every connection announces it as `qpid.federation_tag`, by which Qpid JMS knows
    that two connections have the same resource manager.  None: nothing is announced."""
    access: Access | None = None
    """Who may do what; None: every user may do everything.  `Broker.set_access` changes it later."""
    limits: BrokerLimits = DEFAULT_BROKER_LIMITS

    @property
    def announced(self) -> Map:
        """The server-properties that every connection of the broker announces."""
        return ANNOUNCED if self.federation_tag is None else Map({**ANNOUNCED, "qpid.federation_tag": self.federation_tag})

    def __attrs_post_init__(self) -> None:
        if self.branch_timeout > self.most_branch_timeout:
            raise EncodeError("BrokerConfig.branch_timeout", f"at most most_branch_timeout, {self.most_branch_timeout}")


DEFAULT_BROKER_CONFIG: Final = BrokerConfig()
