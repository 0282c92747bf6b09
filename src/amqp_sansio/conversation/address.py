"""Addresses of brokers: URLs such as `amqp://user:password@host:port/vhost?heartbeat=30`, and the hosts that brokers name.

The URL has the form that deployed clients use; in known-hosts and redirect, brokers use the specification's domain
amqp-host-url: `amqp:tcp:host:port,tcp:host:port`.
"""

from __future__ import annotations

from difflib import get_close_matches
from ipaddress import ip_address
from typing import Any, ClassVar, Final, Self
from urllib.parse import parse_qsl, unquote, urlsplit

import attrs

from amqp_sansio.config import ClientConfig
from amqp_sansio.errors import AddressError
from amqp_sansio.errors.checks import checked, integers

PORT: Final = 5672
TLS_PORT: Final = 5671
HEARTBEAT: Final = 60
"""Default seconds between heartbeats, so that a silent loss is noticed."""
DIGITS: Final = 20
"""The most digits of a number that are examined; Python refuses to parse one of several thousand."""
_SECRETS: Final = ("pass", "pwd", "secret", "token")
"""Parts of the names of options (not ours) that carry a password in other clients."""
OPTIONS: Final[dict[str, tuple[type[int | float], int, int]]] = {  # with their types and ranges
    "heartbeat": (int, 0, 65535),
    "connect_timeout": (float, 0, 65535),
    "frame_max": (int, 4096, 65535),
    "insecure_plain": (bool, 0, 1),
    "trust_redirects": (bool, 0, 1),
}


@attrs.frozen(field_transformer=checked())
class Endpoint:
    """One socket address.  `host` is a name or an IP address, without brackets; `port` is 1 to 65535."""

    host: str
    port: int = attrs.field(default=PORT, validator=integers(0, 65535))
    tls: bool = False

    @property
    def confidential(self) -> bool:
        """Whether nobody else can read what we send to it: by TLS, or at a loopback IP address (a name does not count)."""
        try:
            return self.tls or ip_address(self.host.partition("%")[0]).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


@attrs.frozen(kw_only=True, field_transformer=checked())
class Address:
    """The contents of a URL.  `endpoints` are tried in order; at least one."""

    KNOWN: ClassVar[tuple[str, ...]] = tuple(OPTIONS)
    """The names of its options."""

    endpoints: tuple[Endpoint, ...]
    username: str | None = None
    password: str = attrs.field(default="", repr=False)
    virtual_host: str = ""
    heartbeat: int | None = None
    """Seconds; 0: none; None: the config's, or HEARTBEAT without a config."""
    connect_timeout: float = 30.0
    """Seconds for each endpoint, from resolving its name to an open connection."""
    frame_max: int | None = None
    """The largest frame wanted, in octets; None: as large as possible."""
    insecure_plain: bool | None = None
    """`ClientConfig.insecure_plain`; None: the config's."""
    trust_redirects: bool | None = None
    """`ClientConfig.trust_redirects`; None: the config's."""
    server_name: str | None = None
    """The name that the server's certificate must have; None: that of the endpoint."""

    @classmethod
    def of(cls, url: str | Self) -> Self:
        """Returns the address for an address or URL, as `connect` takes them.  Raises AddressError for anything else."""
        if isinstance(url, cls):
            return url
        if isinstance(url, str):
            return cls.parse(url)
        raise AddressError(
            type(url).__name__, f"an address is text that begins with amqp:// or amqps://, or of class {cls.__name__}"
        )

    @classmethod
    def parse(cls, url: str) -> Self:
        """Parses `amqp://` or `amqps://`, user and password percent-encoded, several hosts separated by commas.

        Without a path, or with "/", the virtual host is ""; with `/%2F` it is "/".  Raises AddressError, which names the fault.
        """
        shown = without_password(url)
        scheme, separator, rest = url.partition("://")
        tls = scheme.lower() == "amqps"
        if not separator or scheme.lower() not in ("amqp", "amqps"):
            raise AddressError(shown, "an address begins with amqp:// or amqps://")
        _raise_for_split_password(url)
        authority, tail = _authority(rest)
        # The authority is parsed here: urlsplit does not support several hosts, and releases of Python differ in which
        # bracketed addresses they accept.
        parts = urlsplit(f"//host{tail}")
        userinfo, _, hosts = authority.rpartition("@")
        username, _, password = userinfo.partition(":")
        if parts.fragment:
            raise AddressError(shown, "in a virtual host or an option %23 stands for #")
        if "/" in parts.path[1:]:
            raise AddressError(shown, "a virtual host with a slash in it is written with %2F")
        said: dict[str, Any] = {
            "endpoints": tuple([_endpoint(host, tls, shown) for host in hosts.split(",")]),
            "username": _secret(username, shown) if userinfo else None,
            "password": _secret(password, shown),
            "virtual_host": _decoded(parts.path[1:], shown),
        }
        for name, value in parse_qsl(parts.query, keep_blank_values=True):
            if name not in cls.KNOWN:  # its value is not shown: it may be a password
                meant = "".join([f" ({near} may be meant)" for near in get_close_matches(name, cls.KNOWN, 1)])
                known = ", ".join(cls.KNOWN)
                raise AddressError(shown.partition("?")[0], f"no option {name}{meant}; there are {known}")
            cls._take(name, value, said, shown)
        return cls(**said)

    @classmethod
    def _take(cls, name: str, value: str, said: dict[str, Any], shown: str) -> None:
        """Adds the value of an option to what the URL said."""
        kind, low, high = OPTIONS[name]
        try:
            number = float(value) if kind is float else int(value)
        except ValueError:
            number = -1
        if not low <= number <= high:
            raise AddressError(shown, f"{name} is {low} to {high}, not {value!r}")
        said[name] = kind(number)

    def config(self, base: ClientConfig | None = None) -> ClientConfig:
        """Returns the settings of a connection to it: those of `base`, overridden by the address."""
        changes: dict[str, object] = {"virtual_host": self.virtual_host}
        if self.username is not None:
            changes |= {"username": self.username, "password": self.password}
        said = {
            "heartbeat": HEARTBEAT if self.heartbeat is None and base is None else self.heartbeat,
            "max_frame_size": self.frame_max,
            "insecure_plain": self.insecure_plain,
            "trust_redirects": self.trust_redirects,
        }
        changes |= {name: value for name, value in said.items() if value is not None}
        return attrs.evolve(base or ClientConfig(), **changes)  # type: ignore[arg-type]  # keyword by keyword it is right


def _raise_for_split_password(url: str) -> None:
    """Raises AddressError where an unescaped character in a user or password makes its rest look like a path or option."""
    authority, tail = _authority(url.partition("://")[2])
    if "@" in tail and "@" not in authority and ":" in authority:
        raise AddressError(without_password(url), "in a user or password %2F stands for /, %3F for ? and %23 for #")


def _authority(rest: str) -> tuple[str, str]:
    """Splits what follows `//` into the authority and the rest."""
    end = next((place for place, each in enumerate(rest) if each in "/?#"), len(rest))
    return rest[:end], rest[end:]


def _decoded(text: str, shown: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise AddressError(shown, "percent-encoded octets must be UTF-8") from None


def _secret(text: str, shown: str) -> str:
    """Decodes a user or a password.  Raises AddressError for one with a NUL, which no mechanism can carry."""
    decoded = _decoded(text, shown)
    if "\0" in decoded:
        raise AddressError(shown, "no user and no password has a NUL in it")
    try:
        decoded.encode()
    except UnicodeEncodeError:  # it would quote the secret
        raise AddressError(shown, "a user or password has a character that UTF-8 cannot encode") from None
    return decoded


def host_name(host: str, shown: str) -> str:
    """Returns a host's name.  Raises AddressError, about the URL `shown`, for what is none."""
    try:
        host.encode("idna")  # as the resolver does, whose error would not name the address
    except UnicodeError:
        raise AddressError(shown, "the parts of a host's name have 1 to 63 characters") from None
    if not host.isprintable():
        raise AddressError(shown, "a host's name is printable")
    return host


def _endpoint(text: str, tls: bool, shown: str) -> Endpoint:
    host, port = text, ""
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise AddressError(shown, f"put an IPv6 address in brackets: {text!r}")
        port = rest[1:]
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    elif ":" in text:
        raise AddressError(shown, f"put an IPv6 address in brackets: {text!r}")
    if not host:
        raise AddressError(shown, "names no host")
    number = int(port[:DIGITS]) if port.isascii() and port.isdecimal() else (TLS_PORT if tls else PORT) if not port else 0
    if not 1 <= number <= 65535:
        raise AddressError(shown, "a port is 1 to 65535")
    return Endpoint(host_name(_decoded(host, shown), shown), number, tls)


def known_hosts(text: str, tls: bool = False) -> tuple[Endpoint, ...]:
    """Returns the endpoints of an amqp-host-url (connection.redirect, known-hosts of open-ok), without those of other
    transports.

    Some brokers send just "host:port", which is accepted too.  Raises AddressError when it contains no endpoint.
    """
    found: list[Endpoint] = []
    for part in text.removeprefix("amqp:").split(","):
        transport, colon, rest = part.partition(":")
        if transport in ("tcp", "ssl", "tls") and colon and rest:
            found.append(_endpoint(rest, tls or transport != "tcp", text))
        elif not text.startswith("amqp:") and part:
            found.append(_endpoint(part, tls, text))
    if not found:
        raise AddressError(text, "names no host that can be reached by TCP")
    return tuple(found)


def without_password(url: str) -> str:
    """Returns the URL without anything that may be part of a password, for display."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return url if "@" not in url else f"...@{url.rpartition('@')[2]}"
    authority, tail = _authority(rest)
    if "@" in tail:
        authority, tail = rest, ""  # perhaps a password with a slash in it
    userinfo, at, hosts = authority.rpartition("@")
    username = userinfo.partition(":")[0]
    if not at and hosts.count(":") == 1 and not hosts.rpartition(":")[2].isdigit():
        hosts = f"{hosts.partition(':')[0]}:***"  # no port: perhaps user and password without a host
    path, mark, options = tail.partition("?")
    shown = "&".join([_option_shown(each) for each in options.split("&")])
    return f"{scheme}://{username}{':***' if ':' in userinfo else ''}{at}{hosts}{path}{mark}{shown}"


def _option_shown(option: str) -> str:
    name, sign, _ = option.partition("=")
    return f"{name}{sign}***" if sign and any(word in name.lower() for word in _SECRETS) else option
