"""Signing in and out, and what a page does when its session or its gateway ends."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Error, expect

from tests.browser.conftest import Cluster, Visitor, until


def test_who_follows_a_link_signs_in_and_is_where_the_link_leads(arrives: Callable[..., Visitor]) -> None:
    visitor = arrives()
    visitor.go("/det/login?redirect=%2Fdet%2Fexperiments")
    visitor.sign_in()
    visitor.page.get_by_role("heading", name="Experiments").wait_for()
    assert visitor.page.url.endswith("/det/experiments")


def test_a_link_never_leads_to_another_host(arrives: Callable[..., Visitor]) -> None:
    visitor = arrives()
    visitor.go("/det/login?redirect=https%3A%2F%2Fevil.example%2Fdet")
    visitor.sign_in()
    visitor.page.get_by_role("heading", name="Home").wait_for()
    assert visitor.page.url.startswith(visitor.url)


def test_a_wrong_password_is_said_and_may_be_mended(arrives: Callable[..., Visitor]) -> None:
    visitor = arrives()
    visitor.expected = ("401",)
    visitor.go("/")
    visitor.sign_in(password="wrong")
    visitor.sees("invalid", exact=False)
    visitor.picture("a-wrong-password")
    visitor.sign_in(password="")
    visitor.page.get_by_role("heading", name="Home").wait_for()


def test_the_token_is_out_of_the_reach_of_scripts(visitor: Visitor) -> None:
    assert visitor.page.evaluate("document.cookie") == ""
    stored = visitor.page.evaluate("JSON.stringify({...localStorage, ...sessionStorage})")
    cookie = next(one for one in visitor.context.cookies() if one["name"] == "auth")
    assert cookie["httpOnly"]
    assert cookie["value"] not in stored


def test_signing_out_on_one_tab_and_going_back_shows_nothing(visitor: Visitor) -> None:
    visitor.go("/det/experiments")
    visitor.page.get_by_role("heading", name="Experiments").wait_for()
    visitor.page.get_by_role("button", name="Sign out").click()
    visitor.page.get_by_role("heading", name=re.compile("Sign in")).wait_for()
    visitor.page.go_back()
    visitor.page.get_by_role("heading", name=re.compile("Sign in")).wait_for()


def test_who_signed_in_again_on_another_tab_may_act_on_the_first_one(visitor: Visitor, cluster: Cluster) -> None:
    visitor.expected = ("403",)
    visitor.go("/det/experiments")
    visitor.page.get_by_role("heading", name="Experiments").wait_for()
    answer = visitor.context.request.get(f"{cluster.url}/det/session")
    again = visitor.context.request.post(
        f"{cluster.url}/det/session",
        headers={"X-CSRF-Token": answer.headers["x-csrf-token"]},
        data={"username": "determined", "password": ""},
    )
    assert again.ok
    visitor.page.get_by_role("button", name="Sign out").click()
    visitor.page.get_by_role("heading", name=re.compile("Sign in")).wait_for()
    until("the new session is over", lambda: not visitor.context.request.get(f"{cluster.url}/api/v1/me").ok)


def test_a_session_that_is_ended_elsewhere_leads_to_signing_in(visitor: Visitor, cluster: Cluster) -> None:
    visitor.expected = ("401", "/stream")
    cookie = next(one for one in visitor.context.cookies() if one["name"] == "auth")
    ended = visitor.context.request.post(
        f"{cluster.url}/api/v1/auth/logout", headers={"Authorization": f"Bearer {cookie['value']}"}
    )
    assert ended.ok
    visitor.page.get_by_role("heading", name=re.compile("Sign in")).wait_for()  # the stream says so by itself


def test_a_gateway_that_is_killed_comes_back_and_the_page_goes_on(visitor: Visitor, cluster: Cluster) -> None:
    visitor.expected = ("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "/stream", "503")
    visitor.go("/det/experiments")
    visitor.sees("live", exact=False)
    [name] = [one for one in cluster.local.children() if one in ("api", "embedded", "services", "master")]
    cluster.local.kill(name)
    until("the gateway answers", lambda: _answers(visitor), within_s=60)
    expect(visitor.page.get_by_text(re.compile("^● live$"))).to_be_visible(timeout=60_000)
    visitor.page.get_by_role("link", name="a finished search").first.wait_for()


def _answers(visitor: Visitor) -> bool:
    try:
        return visitor.context.request.get(f"{visitor.url}/api/v1/master", timeout=2_000).ok
    except Error:
        return False
