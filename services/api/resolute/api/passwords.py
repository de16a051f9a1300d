"""Passwords: the form clients send them in, and how they are kept."""

from __future__ import annotations

import hashlib
import secrets
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

CLIENT_SALT = "GubPEmmotfiK9TMD6Zdw"
"""Public: it only keeps the password itself off the wire. What protects the stored hash is argon2's own salt."""

# 19 MiB and two passes, OWASP's recommendation: a small gateway can afford several at once.
HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)

NONE = "no password"
"""Stands for the hash of an account that does not exist: no password matches it."""


def client_form(password: str, *, hashed: bool) -> str:
    """What stands for `password` from here on: SHA-512 in hex of salt and password; blank stays blank."""
    if hashed or not password:
        return password
    return hashlib.sha512((CLIENT_SALT + password).encode()).hexdigest()


def hash_of(form: str) -> str | None:
    """What to keep of a password in client form; None for a blank one. Takes tens of milliseconds."""
    return HASHER.hash(form) if form else None


def matches(form: str, kept: str | None) -> bool:
    """Whether `form` is the password of which `kept` is kept. Every wrong one takes as long as every other, whether the
    account's password is blank, or is not, or there is no account."""
    if not form and kept is None:
        return True
    try:
        return HASHER.verify(kept if kept not in (None, NONE) else _nobodys(), form) and kept not in (None, NONE)
    except VerifyMismatchError:
        return False


@cache
def _nobodys() -> str:
    """The hash of a password that nobody knows."""
    return HASHER.hash(secrets.token_hex(32))
