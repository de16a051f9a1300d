"""Passwords: in which forms they come, and what is kept of them."""

from __future__ import annotations

from resolute.api import passwords


def test_a_password_fits_in_either_form_and_its_hash_tells_nothing() -> None:
    form = passwords.client_form("secret", hashed=False)
    kept = passwords.hash_of(form)
    assert kept is not None
    assert "secret" not in kept
    assert passwords.matches(passwords.client_form(form, hashed=True), kept)
    assert not passwords.matches(passwords.client_form("Secret", hashed=False), kept)
    assert not passwords.matches("", kept)
    assert passwords.matches("", passwords.hash_of(""))
    assert not passwords.matches("", passwords.NONE)
    assert not passwords.matches(form, passwords.NONE)
    assert not passwords.matches(form, None)
