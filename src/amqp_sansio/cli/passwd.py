"""`amqp-sansio passwd`: stores a user in a file of password verifiers."""

from __future__ import annotations

import getpass
import sys
from typing import Final

from amqp_sansio.adapters.access_files import Verifier, VerifierError, write, write_groups

LONGEST: Final = 1024
"""The most characters of a password."""


def passwd(path: str, user: str, *, delete: bool = False, groups: str | None = None) -> int:
    """Asks for the password, twice at a terminal, else reads one line of stdin.  Returns 0.  Raises VerifierError when it
    fails.

    With `groups`, names separated by commas, it asks for nothing: they become the groups of an existing user.
    """
    if groups is not None:
        named = tuple([each.strip() for each in groups.split(",") if each.strip()])
        write_groups(path, user, named)
        print(f"{path}: groups of {user}: {', '.join(named) or 'none'}")
        return 0
    if delete:
        write(path, user, None)
        print(f"{path}: removed user {user}")
        return 0
    write(path, user, Verifier.make(_password(user)))
    print(f"{path}: added user {user}")
    return 0


def _password(user: str) -> str:
    if sys.stdin is not None and sys.stdin.isatty():
        try:
            password = getpass.getpass(f"Password of {user}: ")
            again = getpass.getpass("Once more: ")
        except EOFError:  # Ctrl-D
            raise VerifierError("no password was given") from None
        if again != password:
            raise VerifierError("passwords do not match")
    else:
        try:
            password = sys.stdin.readline(LONGEST + 2).rstrip("\r\n")
        except UnicodeDecodeError:
            raise VerifierError("a password must be text in UTF-8") from None
    if len(password) > LONGEST:
        raise VerifierError(f"a password has at most {LONGEST} characters")
    return password
