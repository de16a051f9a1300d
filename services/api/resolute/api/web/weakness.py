"""Which passwords the page warns about."""

from __future__ import annotations

LENGTH_LEAST = 8


def is_weak(password: str) -> bool:
    """Whether the password is short, or lacks a capital letter, a small letter or a digit, as Determined's page asked
    of new ones."""
    asked_for = (str.isupper, str.islower, str.isdigit)
    return len(password) < LENGTH_LEAST or not all(any(map(has, password)) for has in asked_for)
