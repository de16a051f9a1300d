"""Accounts: profile, password, what the server keeps of how the page is shown, access tokens."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.conftest import Cluster, Visitor, until

NEW_PASSWORD = "Better-0ne"


def member(cluster: Cluster, name: str, password: str) -> None:
    """There is a user of this name."""
    cluster.as_admin("POST", "/api/v1/users", {"user": {"username": name, "active": True}, "password": password})


def arrived(arrives: Callable[..., Visitor], name: str, password: str = "") -> Visitor:
    visitor = arrives()
    visitor.go("/")
    visitor.sign_in(name, password)
    visitor.page.get_by_role("heading", name="Home").wait_for()
    return visitor


def test_who_is_warned_about_a_password_changes_it_and_is_signed_out_elsewhere(
    arrives: Callable[..., Visitor], cluster: Cluster
) -> None:
    member(cluster, "grace", "weak")
    elsewhere = arrived(arrives, "grace", "weak")
    elsewhere.expected = ("401", "/stream")
    visitor = arrived(arrives, "grace", "weak")
    visitor.page.get_by_role("link", name="Change it").click()
    page = visitor.page
    page.get_by_label("Display name").fill("Grace H.")
    page.get_by_role("button", name="Save profile").click()
    page.get_by_role("link", name="Grace H.").wait_for()
    for first, second, said in (("short", "short", "at least 8"), (NEW_PASSWORD, "another", "differ")):
        page.get_by_label("New password", exact=True).fill(first)
        page.get_by_label("New password again").fill(second)
        page.get_by_role("button", name="Change password").click()
        expect(page.get_by_role("alert")).to_contain_text(said)
    page.get_by_label("New password again").fill(NEW_PASSWORD)
    page.get_by_role("button", name="Change password").click()
    visitor.sees("Your other sessions have ended")
    expect(page.get_by_role("link", name="Change it")).to_have_count(0)
    elsewhere.page.get_by_role("heading", name="Sign in").wait_for()
    page.get_by_role("button", name="Sign out").click()
    visitor.sign_in("grace", NEW_PASSWORD)
    page.get_by_role("link", name="Grace H.").wait_for()


def test_what_one_browser_was_told_to_show_another_one_shows(arrives: Callable[..., Visitor], cluster: Cluster) -> None:
    member(cluster, "hedy", NEW_PASSWORD)
    visitor = arrived(arrives, "hedy", NEW_PASSWORD)
    visitor.go("/det/settings")
    with visitor.page.expect_response("**/users/setting"):
        visitor.page.get_by_role("main").get_by_label("Theme").select_option("dark")
    with visitor.page.expect_response("**/users/setting"):
        visitor.page.get_by_label("Times").select_option("exact")
    other = arrived(arrives, "hedy", NEW_PASSWORD)
    theme = "document.documentElement.dataset.theme"
    until("the other browser is dark", lambda: other.page.evaluate(theme) == "dark")
    other.go("/det/settings")
    expect(other.page.get_by_label("Times")).to_have_value("exact")


def test_an_access_token_is_shown_once_works_and_is_revoked(arrives: Callable[..., Visitor], cluster: Cluster) -> None:
    visitor = arrived(arrives, "admin")
    page = visitor.page
    visitor.go("/det/settings")
    page.get_by_role("button", name="New token").click()
    page.get_by_label("What it is for").fill("a nightly script")
    page.get_by_role("button", name="Make token").click()
    dialog = page.get_by_role("dialog", name="The new access token")
    token = dialog.locator("code").inner_text()
    dialog.get_by_role("button", name="I have copied it").click()
    assert token not in page.content()
    me = f"{cluster.url}/api/v1/me"
    asked_by_token = {"Authorization": f"Bearer {token}", "Cookie": ""}
    assert visitor.context.request.get(me, headers=asked_by_token).ok
    row = page.get_by_role("row").filter(has_text="a nightly script")
    row.get_by_role("button", name="Revoke").click()
    page.get_by_role("button", name="Revoke token", exact=True).click()
    expect(row).to_contain_text("revoked")
    until("the token is refused", lambda: visitor.context.request.get(me, headers=asked_by_token).status == 401)
