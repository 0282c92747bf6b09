"""The worked examples of Broker-J's manual ("Access Control Lists"), translated, with what its rules decide.

Its rules are lines of permission, identity, operation, object and properties.  Not translated: what is about its management
objects (BROKER, METHOD, CONFIGURE), which this broker does not have, and its example with a firewall (from_hostname): who may
connect is decided before anybody has a name.  An absent default denies there; here it must be written.
"""

from __future__ import annotations

from typing import Final

import pytest

from amqp_sansio.broker import Kind, Request, Verb, parse_rules

MAINTAINERS: Final = """
# a group that maintains queues and exchanges of one virtual host and its messages, others that only use it
default = "deny"
[[rule]]
allow = ["@maintainers", "@messaging"]
verb = "open"
host = "*"
[[rule]]
allow = "@maintainers"
verb = ["create", "delete", "purge", "query"]
queue = "*"
host = "production"
[[rule]]
allow = "@maintainers"
verb = ["create", "delete", "query", "bind", "unbind"]
exchange = "*"
host = "production"
[[rule]]
allow = "@maintainers"
verb = ["bind", "unbind"]
queue = "*"
host = "production"
[[rule]]
allow = "@messaging"
verb = ["consume", "publish"]
queue = "*"
"""

REQUEST_RESPONSE: Final = """
# a server that is asked on one queue and answers to temporary ones
default = "deny"
[[rule]]
allow = "@messaging-users"
verb = "open"
host = "*"
[[rule]]
allow = "client"
verb = "publish"
queue = "example.RequestQueue"
[[rule]]
allow = "client"
verb = ["create", "consume", "delete", "query"]
queue = "TempQueue*"
[[rule]]
allow = "client"
verb = ["query", "bind"]
exchange = "amq.direct"
[[rule]]
allow = "server"
verb = ["create", "consume", "query"]
queue = "example.RequestQueue"
[[rule]]
allow = "server"
verb = "publish"
queue = "TempQueue*"
[[rule]]
deny = "*"
queue = "*"
"""

V, Q, E, H = Verb, Kind.QUEUE, Kind.EXCHANGE, Kind.HOST
GROUPS: Final = {"maintainers": ["mona"], "messaging": ["max"], "messaging-users": ["client", "server"]}


@pytest.mark.parametrize(
    ("text", "who", "verb", "kind", "name", "allowed"),
    [
        (MAINTAINERS, "mona", V.OPEN, H, "production", True),
        (MAINTAINERS, "eve", V.OPEN, H, "production", False),
        (MAINTAINERS, "mona", V.CREATE, Q, "orders", True),
        (MAINTAINERS, "mona", V.PURGE, Q, "orders", True),
        (MAINTAINERS, "mona", V.BIND, E, "amq.topic", True),
        (MAINTAINERS, "mona", V.CONSUME, Q, "orders", False),
        (MAINTAINERS, "max", V.CONSUME, Q, "orders", True),
        (MAINTAINERS, "max", V.PUBLISH, Q, "orders", True),
        (MAINTAINERS, "max", V.DELETE, Q, "orders", False),
        (REQUEST_RESPONSE, "client", V.OPEN, H, "production", True),
        (REQUEST_RESPONSE, "client", V.PUBLISH, Q, "example.RequestQueue", True),
        (REQUEST_RESPONSE, "client", V.CONSUME, Q, "example.RequestQueue", False),
        (REQUEST_RESPONSE, "client", V.CREATE, Q, "TempQueue17", True),
        (REQUEST_RESPONSE, "client", V.CONSUME, Q, "TempQueue17", True),
        (REQUEST_RESPONSE, "client", V.CREATE, Q, "Other", False),
        (REQUEST_RESPONSE, "client", V.BIND, E, "amq.direct", True),
        (REQUEST_RESPONSE, "client", V.BIND, E, "amq.topic", False),
        (REQUEST_RESPONSE, "server", V.CONSUME, Q, "example.RequestQueue", True),
        (REQUEST_RESPONSE, "server", V.PUBLISH, Q, "TempQueue17", True),
        (REQUEST_RESPONSE, "server", V.PUBLISH, Q, "example.RequestQueue", False),
        (REQUEST_RESPONSE, "server", V.CONSUME, Q, "TempQueue17", False),
        (REQUEST_RESPONSE, "eve", V.CONSUME, Q, "TempQueue17", False),
    ],
)
def test_what_the_examples_decide(text: str, who: str, verb: Verb, kind: Kind, name: str, allowed: bool) -> None:
    rules = parse_rules(text, groups=GROUPS)
    assert rules.decide(Request(who, verb, kind, name, None, "production")).allow is allowed
