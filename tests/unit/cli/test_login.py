"""Who a command acts as."""

from __future__ import annotations

import getpass
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from determined.common.client.claims import Claim, claim
from resolute.cli.password import on_the_wire
from resolute.cli.tokens import Logins, TokenStore

SAVED = Logins("ada", {"ada": "t-ada", "bob": "t-bob"})


@pytest.mark.parametrize(
    ("given", "logins", "environment", "expected"),
    [
        ("bob", SAVED, {}, Claim("bob", None, "t-bob")),
        ("bob", SAVED, {"DET_USER": "bob", "DET_PASS": "x"}, Claim("bob", "x", "t-bob")),
        ("cy", SAVED, {"DET_USER": "bob", "DET_PASS": "x"}, Claim("cy", None, None)),
        (None, SAVED, {"DET_USER": "cy", "DET_PASS": "x"}, Claim("cy", "x", None)),
        (None, SAVED, {"DET_USER": "cy", "DET_PASS": ""}, Claim("cy", "", None)),
        (None, SAVED, {"DET_USER": "cy"}, Claim("ada", None, "t-ada")),
        (None, SAVED, {"DET_USER": "cy", "DET_USER_TOKEN": "t"}, Claim("ada", None, "t-ada")),
        (None, Logins(), {"DET_USER": "cy", "DET_USER_TOKEN": "t"}, Claim("cy", None, "t")),
        (None, Logins(), {"DET_USER": "cy"}, Claim("determined", "", None)),
        (None, Logins(), {}, Claim("determined", "", None)),
        ("determined", Logins(), {}, Claim("determined", "", None)),
    ],
)
def test_the_user_is_found_in_the_agreed_order(
    given: str | None, logins: Logins, environment: dict[str, str], expected: Claim
) -> None:
    assert claim(given, logins, environment) == expected


def test_a_password_travels_salted_and_hashed_and_the_empty_one_stays_empty() -> None:
    assert on_the_wire("secret") == hashlib.sha512(b"GubPEmmotfiK9TMD6Zdwsecret").hexdigest()
    assert on_the_wire("") == ""


def test_the_first_command_logs_in_and_the_second_uses_the_token(master: Any, det: Callable[..., Any]) -> None:
    assert det("user whoami").out == "You are logged in as user 'determined'\n"
    det("user whoami")
    assert [str(each) for each in master.asked].count("POST /api/v1/auth/login") == 1


def test_a_token_that_is_no_longer_good_is_replaced(master: Any, det: Callable[..., Any]) -> None:
    store = TokenStore()
    store.put(master.url, Logins(None, {"determined": "stale"}))
    assert det("user whoami").status == 0
    assert store.at(master.url).tokens == {"determined": "token-of-determined"}


def test_user_and_password_of_the_environment_are_used_together(
    master: Any, det: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    master.passwords["ada"] = on_the_wire("secret")
    monkeypatch.setenv("DET_USER", "ada")
    monkeypatch.setenv("DET_PASS", "secret")
    assert "'ada'" in det("user whoami").out


def test_a_wrong_password_says_how_to_log_in(
    master: Any, det: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DET_USER", "ada")
    monkeypatch.setenv("DET_PASS", "wrong")
    outcome = det("user whoami")
    assert outcome.status == 1
    assert outcome.err.startswith("Failed to print the active user: invalid credentials")
    assert "det user login" in outcome.err
    assert "wrong" not in outcome.err


def test_login_makes_its_user_the_active_one_and_logout_ends_the_session(
    master: Any, det: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    master.passwords["ada"] = on_the_wire("secret")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(getpass, "getpass", lambda prompt: "secret")
    assert det("user login ada").out == "Logged in as user 'ada'\n"
    assert det("user whoami").out == "You are logged in as user 'ada'\n"
    assert det("user logout").out == "Logged out ada\n"
    assert master.last("POST /api/v1/auth/logout").token == "token-of-ada"
    assert TokenStore().at(master.url) == Logins()
    assert "'determined'" in det("user whoami").out


def test_a_password_is_not_asked_for_where_nobody_can_type_it(master: Any, det: Callable[..., Any]) -> None:
    outcome = det("-u ada user whoami")
    assert outcome.status == 1
    assert "DET_USER and DET_PASS" in outcome.err


def test_the_store_lies_where_the_environment_says(master: Any, det: Callable[..., Any], tmp_path: Path) -> None:
    det("user whoami")
    assert (tmp_path / "config" / "determined" / "auth.json").exists()
