"""`det auth`: a cluster without SSO providers says so, and how to sign in instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.cli.conftest import FakeMaster

Det = Callable[..., Any]
OKTA = {"name": "okta", "sso_url": "https://sso.example/okta", "type": "OIDC"}


@pytest.mark.parametrize("providers", [{}, {"sso_providers": None}, {"sso_providers": []}])
def test_a_cluster_without_providers_lists_none(master: FakeMaster, det: Det, providers: dict[str, Any]) -> None:
    master.on("GET /info", {"version": "0.38.1", **providers})
    assert det("auth list-providers").out == "No SSO providers found.\n"


def test_providers_are_listed_by_name_without_signing_in(master: FakeMaster, det: Det) -> None:
    master.on("GET /info", {"version": "0.38.1", "sso_providers": [OKTA]})
    assert det("auth list-providers").out == "okta\n"
    assert {each.path for each in master.asked} == {"/info"}


@pytest.mark.parametrize(
    ("providers", "words", "said"),
    [
        ([], "auth login", "has no SSO providers"),
        ([], "auth login --headless -p okta", "has no SSO providers"),
        ([OKTA], "auth login -p other", "has no SSO provider 'other', only okta"),
        ([OKTA], "auth login -p okta", "cannot sign in through an SSO provider (okta)"),
    ],
)
def test_a_login_by_sso_is_refused_with_what_works_instead(
    master: FakeMaster, det: Det, providers: list[Any], words: str, said: str
) -> None:
    master.on("GET /info", {"version": "0.38.1", "sso_providers": providers})
    outcome = det(words)
    assert outcome.status == 1
    assert said in outcome.err
    assert outcome.err.count("det user login") == 1
