"""Secrets of a configuration: found wherever they stand, and replaced where they stand."""

from __future__ import annotations

from typing import Any

import pytest

from resolute.config import changed, changed_yaml, load_yaml, masked, masked_yaml, secrets_of

TEXT = """# what we tried in March
name: digits   # keep
environment:
  registry_auth: {username: me, password: "hunter2-long", auth: null}
  environment_variables:
    - TOKEN=long-secret
    - EMPTY
    - "NOTE=two words: yes"
data: {secrets: {k: v}, url: x}
"""

PLACES = [
    ("data.secrets.k", "v"),
    ("environment.registry_auth.password", "hunter2-long"),
    ("environment.environment_variables.TOKEN", "long-secret"),
    ("environment.environment_variables.NOTE", "two words: yes"),
]


def test_every_secret_has_a_place_of_its_own() -> None:
    assert secrets_of(load_yaml(TEXT)) == PLACES
    by_device = {"environment": {"environment_variables": {"cpu": ["A=1"], "cuda": ["A=2", "B="], "rocm": None}}}
    assert secrets_of(by_device) == [("environment.environment_variables.A", value) for value in "12"]


def test_secrets_are_replaced_where_they_stand_and_the_rest_of_the_text_stays() -> None:
    shown = masked_yaml(TEXT)
    assert shown.startswith("# what we tried in March\nname: digits   # keep\n")
    assert load_yaml(shown) == masked(load_yaml(TEXT))
    assert not any(str(secret) in shown for _, secret in PLACES[1:])
    assert "long-secret" in masked_yaml(TEXT, variables=False)
    assert masked_yaml("name: x\n# nothing secret") == "name: x\n# nothing secret"


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("# keep", "# it is hunter2-long"),
        TEXT.replace("{k: v}", "{k: {inner: hunter2-inner}}"),
        "environment: {registry_auth: &login {password: hunter2-long}}\ndata: {other: *login}",
        "environment: {registry_auth: {password: &p hunter2-long}}\ndata: {secrets: {k: *p}}",
        "environment:\n  registry_auth:\n    password: |\n      hunter2-long\n      hunter2-more\nname: x",
        "base: &b {registry_auth: {password: hunter2-long}}\nenvironment: {<<: *b}",
    ],
)
def test_a_text_that_allows_no_change_in_place_still_says_what_it_said_without_its_secrets(text: str) -> None:
    shown = masked_yaml(text)
    assert load_yaml(shown) == masked(load_yaml(text))
    if "other" not in text and "base" not in text:  # what somebody also wrote elsewhere is not known to be secret
        assert "hunter2" not in shown


def test_what_was_replaced_can_be_put_back() -> None:
    there = {name: f"sealed {name}" for name, _ in PLACES}
    back = {sealed: value for (name, value), sealed in zip(PLACES, there.values(), strict=True)}

    def put_back(name: str, value: Any) -> Any:
        return back[value]

    sealed = changed_yaml(TEXT, lambda name, value: there[name])
    assert load_yaml(changed_yaml(sealed, put_back)) == load_yaml(TEXT)
    assert changed(changed(load_yaml(TEXT), lambda name, value: there[name]), put_back) == load_yaml(TEXT)
