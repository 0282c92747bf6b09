"""Files of users and of access rules.

A file of salted password verifiers (never of passwords) has one JSON object per line.  For each user it holds an scrypt key
(RFC 7914), against which a password is checked (PLAIN, RFC 4616), and, where the password is plain ASCII, the two keys of
SCRAM-SHA-256 (RFC 7677), by which a client proves a password without sending it.  Nobody can log in with what is in the file.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import os
import secrets
import tempfile
import threading
from collections import Counter, OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from amqp_sansio.broker import Rules
from amqp_sansio.broker.access import RulesError, parse_rules
from amqp_sansio.engine.sasl import ScramSecret, ScramServer
from amqp_sansio.errors import AmqpError
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS, RULES_OCTETS, USERNAME_OCTETS

SCRYPT_N: Final = 1 << 14
"""The cost of one check: 16 MiB of memory, and some 40 milliseconds."""
SCRYPT_R: Final = 8
SCRYPT_P: Final = 1
SALT: Final = 16
"""Octets of salt."""
ITERATIONS: Final = 100_000
"""Iterations of SCRAM-SHA-256; the client bears the cost."""
REMEMBERED: Final = 1024
"""Successful logins that are remembered while the file is unchanged, so that many connections of one user cost one check.
Failed ones are not: they would push out those of others."""

_MOST_N: Final = 1 << 20
"""The largest cost that a file may ask for: with r = 8 a check takes 1 GiB of memory."""
_MOST_FACTOR: Final = 64
"""The largest r and p that a file may ask for."""
_SALT_KEY: Final = "salt-key"  # marks the line with the key from which salts for unknown names are derived


class VerifierError(AmqpError):
    """A file of verifiers cannot be read or written, or a user or password cannot be stored in one."""


@attrs.frozen
class Verifier:
    """The stored form of one password: an scrypt key with its costs, and perhaps the keys of SCRAM."""

    n: int
    r: int
    p: int
    salt: bytes = attrs.field(repr=False)
    key: bytes = attrs.field(repr=False)
    scram: ScramSecret | None = attrs.field(default=None, repr=False)
    """Salt, stored key, server key and iterations; None where the password is not plain ASCII."""
    groups: tuple[str, ...] = ()
    """The user's groups, for access rules."""

    @classmethod
    def make(cls, password: str, n: int = SCRYPT_N, iterations: int = ITERATIONS) -> Verifier:
        """Makes the verifier of a password, with new salts.  Raises VerifierError for a password that PLAIN cannot carry."""
        if not password or "\0" in password:
            raise VerifierError("the password is empty, or has a NUL in it")
        salt = secrets.token_bytes(SALT)
        try:
            key = _scrypt(password.encode(), salt, n, SCRYPT_R, SCRYPT_P)
        except UnicodeEncodeError:
            raise VerifierError("the password has a character that UTF-8 cannot encode") from None
        return cls(n, SCRYPT_R, SCRYPT_P, salt, key, scram_keys(password, secrets.token_bytes(SALT), iterations))

    def verify(self, password: str) -> bool:
        """Whether the password is right.  A wrong one takes the same time."""
        return hmac.compare_digest(_scrypt(password.encode(), self.salt, self.n, self.r, self.p), self.key)


def scram_keys(password: str, salt: bytes, iterations: int) -> ScramSecret | None:
    """Returns a server's keys for SCRAM-SHA-256 (RFC 5802 section 3); None for passwords that need preparation (RFC 4013)."""
    if not (password.isascii() and password.isprintable()):
        return None
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    return salt, hashlib.sha256(client_key).digest(), hmac.digest(salted, b"Server Key", "sha256"), iterations


def _scrypt(password: bytes, salt: bytes, n: int, r: int, p: int) -> bytes:
    # It needs 128 * r * (n + p) octets and a little more; OpenSSL refuses more than 32 MiB unless told.
    return hashlib.scrypt(password, salt=salt, n=n, r=r, p=p, maxmem=256 * r * (n + p), dklen=32)


class Verifiers:
    """The users of a file, read again whenever the file changes.

    Raises VerifierError when the file cannot be read at first; a later failure sets `complaint` and keeps the users read
    before. Several threads may use it at once: checks run concurrently.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Final = os.fspath(path)
        self.complaint = ""
        """Why the file could not be read again; "" when it could."""
        self._secret: Final = secrets.token_bytes(32)
        self._lock: Final = threading.Lock()
        self._logins: Final[OrderedDict[bytes, None]] = OrderedDict()
        # Checks the passwords of unknown names, so that these take as long.
        self._stranger: Final = Verifier(SCRYPT_N, SCRYPT_R, SCRYPT_P, secrets.token_bytes(SALT), secrets.token_bytes(32))
        self._salt_key = secrets.token_bytes(32)
        self._seen = self._stamp()
        self._users: Mapping[str, Verifier] = {}
        self._read()

    @property
    def users(self) -> Mapping[str, Verifier]:
        """The users of the file as it is now, by name."""
        stamp = self._stamp()
        with self._lock:
            if stamp != self._seen:
                self._seen = stamp
                self._logins.clear()
                try:
                    self._read()
                    self.complaint = ""
                except VerifierError as error:
                    self.complaint = str(error)
            return self._users

    def _read(self) -> None:
        self._users, key = _read(self.path)
        self._salt_key = key or self._salt_key

    def _stamp(self) -> tuple[int, ...]:
        try:
            found = os.stat(self.path)
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_size, found.st_ino

    def scram_server(self) -> ScramServer:
        """Returns SCRAM-SHA-256 for these users.  An unknown name always gets the same salt, even after a restart."""
        counts = Counter([each.scram[3] for each in self.users.values() if each.scram is not None])
        iterations = counts.most_common(1)[0][0] if counts else ITERATIONS
        return ScramServer(self.scram, key=self._salt_key, iterations=iterations)

    def verify(self, username: str, password: str) -> bool:
        """Whether the password is that of the user.  An unknown name takes as long as a wrong password."""
        if self.remembers(username, password):
            return True
        verifier = self.users.get(username)
        login = self._login(username, password)
        if login is None:
            return False
        if not ((verifier or self._stranger).verify(password) and verifier is not None):
            return False
        with self._lock:
            if self._users.get(username) is verifier:  # else the file has changed meanwhile
                self._logins[login] = None
                if len(self._logins) > REMEMBERED:
                    self._logins.popitem(last=False)
        return True

    def remembers(self, username: str, password: str) -> bool:
        """Whether this name and password passed a check recently, with the file as it is now.  Computes no scrypt key."""
        login = self._login(username, password)
        there = username in self.users  # rereads a changed file, which clears `_logins`
        with self._lock:
            if login is None or login not in self._logins or not there:
                return False
            self._logins.move_to_end(login)
            return True

    def _login(self, username: str, password: str) -> bytes | None:
        """Returns the digest by which `verify` remembers a login; None for one that UTF-8 cannot carry."""
        try:
            return hmac.digest(self._secret, username.encode() + b"\0" + password.encode(), "sha256")
        except UnicodeEncodeError:
            return None

    def scram(self, username: str) -> ScramSecret | None:
        """Returns the SCRAM keys of a user; None for an unknown one."""
        verifier = self.users.get(username)
        return None if verifier is None else verifier.scram

    @property
    def all_scram(self) -> bool:
        """Whether every user can log in by SCRAM."""
        users = self.users
        return bool(users) and all(each.scram is not None for each in users.values())

    def __repr__(self) -> str:
        return f"<Verifiers of {len(self._users)} users in {self.path!r}>"


# --- the file -----------------------------------------------------------------------------------------------------------------


def read(path: str) -> dict[str, Verifier]:
    """Returns the users of a file.  Raises VerifierError when it cannot be read, or when a line of it is not valid."""
    return _read(path)[0]


def _read(path: str) -> tuple[dict[str, Verifier], bytes]:
    """Returns the users of a file, and the key for salts of unknown names; b"" for a file of an earlier release."""
    users: dict[str, Verifier] = {}
    salt_key = b""
    try:
        lines = Path(path).read_bytes().splitlines()
    except OSError as error:
        raise VerifierError(f"{path}: cannot be read: {error.strerror}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith(b"#"):
            continue
        try:
            found = json.loads(line)
            if _SALT_KEY in found:
                salt_key = salt_key or _octets(found[_SALT_KEY])
            else:
                user, verifier = _parse(found)
                users[user] = verifier
        except (ValueError, KeyError, TypeError, binascii.Error):  # not its text, which may quote the line
            fault = "is not valid: delete it, and add its user again with `amqp-sansio passwd`"
            raise VerifierError(f"{path}: line {number} {fault}") from None
    return users, salt_key


def _parse(found: Any) -> tuple[str, Verifier]:  # Any: decoded JSON, checked below
    kdf = found["scrypt"]
    n, r, p = kdf["n"], kdf["r"], kdf["p"]
    if not (type(n) is int and 1 < n <= _MOST_N and not n & (n - 1)):
        raise ValueError("n is a power of 2")
    if not all(type(each) is int and 1 <= each <= _MOST_FACTOR for each in (r, p)):
        raise ValueError("r and p are small numbers")
    scram = found.get("scram-sha-256")
    secret: ScramSecret | None = None
    if scram is not None:
        iterations = scram["iterations"]
        if type(iterations) is not int or iterations < 1:
            raise ValueError("iterations is 1 or more")
        secret = (_octets(scram["salt"]), _octets(scram["stored-key"]), _octets(scram["server-key"]), iterations)
    name, groups = found["user"], found.get("groups", [])
    if type(name) is not str or type(groups) is not list or not all(type(each) is str for each in groups):
        raise TypeError("the names of a user and of groups are text")
    return name, Verifier(n, r, p, _octets(kdf["salt"]), _octets(kdf["key"]), secret, tuple(groups))


def _line(user: str, verifier: Verifier) -> str:
    row: dict[str, object] = {
        "user": user,
        "scrypt": {
            "n": verifier.n, "r": verifier.r, "p": verifier.p, "salt": _text(verifier.salt), "key": _text(verifier.key),
        },
    }  # fmt: skip
    if verifier.scram is not None:
        salt, stored_key, server_key, iterations = verifier.scram
        row["scram-sha-256"] = {
            "iterations": iterations, "salt": _text(salt), "stored-key": _text(stored_key), "server-key": _text(server_key),
        }  # fmt: skip
    if verifier.groups:
        row["groups"] = list(verifier.groups)
    return json.dumps(row)


def _text(octets: bytes) -> str:
    return base64.b64encode(octets).decode()


def _octets(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def write_groups(path: str, user: str, groups: tuple[str, ...]) -> None:
    """Makes these the only groups of a user in a file; the password stays.  Raises VerifierError as `write` does."""
    for group in groups:
        if not group or group.startswith("@") or not group.isprintable() or len(group.encode()) > USERNAME_OCTETS:
            name = f"1 to {USERNAME_OCTETS} octets of printable UTF-8"
            raise VerifierError(f"the name of a group is {name}, and does not begin with @: not {group!r}")
    users, salt_key = _users_to_change(path)
    if user not in users:
        raise VerifierError(f"{path}: no user {user!r}")
    _replace(path, {**users, user: attrs.evolve(users[user], groups=groups)}, salt_key)


def write(path: str, user: str, verifier: Verifier | None) -> None:
    """Stores a user in a file, in place of an earlier one, or removes it (None); creates the file when it does not exist.

    The user stays in its groups, unless the new verifier names others.  The new file replaces the old one atomically, and only
    its owner can read it.  Raises VerifierError when that fails.
    """
    if not user or "\0" in user or len(user.encode("utf-8", "surrogatepass")) > USERNAME_OCTETS or not user.isprintable():
        raise VerifierError(f"the name of a user is 1 to {USERNAME_OCTETS} octets of printable UTF-8")
    users, salt_key = _users_to_change(path) if os.path.exists(path) else ({}, b"")
    if verifier is None and user not in users:
        raise VerifierError(f"{path}: no user {user!r}")
    if verifier is None:
        del users[user]
    else:
        before = users.get(user)
        users[user] = attrs.evolve(verifier, groups=before.groups) if before is not None and not verifier.groups else verifier
    _replace(path, users, salt_key)


def _users_to_change(path: str) -> tuple[dict[str, Verifier], bytes]:
    """Reads a file that `_replace` will replace; refuses a device or a pipe, whose place a file must not take."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise VerifierError(f"{path}: is not a file")
    return _read(path)


def _replace(path: str, users: Mapping[str, Verifier], salt_key: bytes) -> None:
    temporary, target = "", os.path.realpath(path)  # a link stays
    try:
        handle, temporary = tempfile.mkstemp(prefix=".passwd-", dir=os.path.dirname(target))  # mode 0600
        with os.fdopen(handle, "w", encoding="ascii") as out:
            out.write(json.dumps({_SALT_KEY: _text(salt_key or secrets.token_bytes(32))}) + "\n")
            out.writelines([_line(name, each) + "\n" for name, each in users.items()])
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, target)
    except OSError as error:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        raise VerifierError(f"{path}: cannot be written: {error.strerror}") from None


def read_rules(path: str, verifiers: Verifiers | None = None) -> Rules:
    """Returns the rules of a file, in the syntax of `parse_rules`.

    Raises RulesError, with the line, when the file cannot be read or is not valid.  `verifiers` has the members of groups;
    without it all groups are empty.
    """
    try:
        with Path(path).open("rb") as file:
            octets = file.read(RULES_OCTETS + 1)
    except OSError as error:
        raise RulesError(path, None, f"cannot be read: {error.strerror}") from None
    if len(octets) > RULES_OCTETS:
        raise RulesError(path, None, f"has more than {RULES_OCTETS} octets (RULES_OCTETS)")
    try:
        text = octets.decode()
    except UnicodeDecodeError as error:
        raise RulesError(path, octets.count(b"\n", 0, error.start) + 1, "is not UTF-8") from None
    rules = parse_rules(text, path, groups_of(verifiers))
    most = DEFAULT_BROKER_LIMITS.rules
    if len(rules.rules) > most:
        raise RulesError(path, rules.rules[most].line, f"here is one more than {most} rules (limit rules)")
    return rules


def warnings(path: str, rules: Rules) -> list[str]:
    """Returns one warning for each line of a file of rules that names a group without members."""
    lines = {(rule.line, rule.who[1:]): None for rule in rules.idle}
    return [f"warning: {path}: line {line}: nobody is in group {name!r}" for line, name in lines]


def groups_of(verifiers: Verifiers | None) -> Mapping[str, frozenset[str]]:
    """Returns the members of each group."""
    groups: dict[str, set[str]] = {}
    for name, verifier in ({} if verifiers is None else verifiers.users).items():
        for group in verifier.groups:
            groups.setdefault(group, set()).add(name)
    return {group: frozenset(names) for group, names in groups.items()}
