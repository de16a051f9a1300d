"""Users, groups, roles, templates, webhooks, policies and the cluster's message, by who may and by who may not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Cluster, Visitor, until
from tests.browser.test_people import NEW_PASSWORD, arrived, member


@pytest.fixture
def administrator(arrives: Callable[..., Visitor]) -> Visitor:
    return arrived(arrives, "admin")


def test_a_user_is_added_signs_in_and_is_deactivated(administrator: Visitor, arrives: Callable[..., Visitor]) -> None:
    page = administrator.page
    page.get_by_role("link", name="Administration").click()
    page.get_by_role("button", name="New user").click()
    page.get_by_label("User name").fill("barbara")
    page.get_by_role("textbox", name="Password").fill("weak")
    page.get_by_role("button", name="Add user").click()
    expect(page.get_by_role("alert")).to_contain_text("a capital letter")
    page.get_by_role("textbox", name="Password").fill(NEW_PASSWORD)
    page.get_by_role("button", name="Add user").click()
    row = page.get_by_role("row").filter(has_text="barbara")
    row.get_by_role("button", name="Edit barbara").click()
    page.get_by_label("Display name").fill("Barbara L.")
    page.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("Barbara L.")
    barbara = arrived(arrives, "barbara", NEW_PASSWORD)
    barbara.expected = ("401", "/stream")
    row.get_by_role("button", name="Deactivate barbara").click()
    page.get_by_role("button", name="Deactivate user").click()
    expect(row).to_have_count(0)
    barbara.page.reload()
    barbara.page.get_by_role("heading", name="Sign in").wait_for()
    page.get_by_label("Also deactivated ones").check()
    row.get_by_role("button", name="Activate barbara").click()
    expect(row).not_to_contain_text("deactivated")


def test_a_group_gets_a_member_and_a_role_and_a_workspace_shows_who_holds_one(
    administrator: Visitor, cluster: Cluster
) -> None:
    member(cluster, "joan", NEW_PASSWORD)
    page = administrator.page
    administrator.go("/det/admin/group-management")
    page.get_by_role("button", name="New group").click()
    page.get_by_label("Name", exact=True).fill("linguists")
    page.get_by_role("button", name="Add group").click()
    page.get_by_role("button", name="Add member").click()
    page.get_by_label("User", exact=True).select_option(label="joan")
    page.get_by_role("dialog").get_by_role("button", name="Add member").click()
    page.get_by_role("button", name="Remove joan").wait_for()
    page.get_by_role("button", name="Assign a role").click()
    page.get_by_label("Role", exact=True).select_option(label="Editor")
    page.get_by_label("On", exact=True).select_option(label="workspace Uncategorized")
    page.get_by_role("button", name="Assign", exact=True).click()
    held = page.get_by_role("region", name="Roles that are held").get_by_role("row").filter(has_text="linguists")
    expect(held).to_contain_text("Uncategorized")
    administrator.go("/det/workspaces/1/members")
    held.get_by_role("button", name="Take away Editor from group linguists").click()
    page.get_by_role("button", name="Take the role away").click()
    expect(held).to_have_count(0)


def test_a_webhook_waits_for_what_was_chosen_and_a_test_says_why_it_failed(administrator: Visitor) -> None:
    administrator.expected = ("/test", "status of 400")
    page = administrator.page
    administrator.go("/det/webhooks")
    page.get_by_role("button", name="New webhook").click()
    page.get_by_label("Name", exact=True).fill("to nobody")
    page.get_by_label("Address").fill("https://nobody.invalid/hook")
    page.get_by_label("A line of a log fits").fill("Traceback")
    page.get_by_role("button", name="Create webhook").click()
    row = page.get_by_role("row").filter(has_text="to nobody")
    expect(row).to_contain_text("an experiment becomes ERROR; a line of a log fits Traceback")
    row.get_by_role("button", name="Test to nobody").click()
    expect(page.locator(".toasts .bad")).to_contain_text("did not take the test")
    row.get_by_role("button", name="Deliveries of to nobody").click()
    page.get_by_role("heading", name="Deliveries of to nobody").wait_for()
    row.get_by_role("button", name="Delete to nobody").click()
    page.get_by_role("button", name="Delete webhook").click()
    expect(row).to_have_count(0)


def test_a_template_and_policies_are_set_and_refused_with_the_reason(administrator: Visitor) -> None:
    administrator.expected = ("400",)
    page = administrator.page
    administrator.go("/det/templates")
    page.get_by_role("button", name="New template").click()
    page.get_by_label("Name", exact=True).fill("two restarts")
    page.get_by_label("Configuration").fill('{"max_restarts": 2}')
    page.get_by_role("button", name="Create template").click()
    page.get_by_role("heading", name="two restarts").wait_for()
    expect(page.locator("pre.code")).to_contain_text("max_restarts: 2")
    page.get_by_role("link", name="Policies").click()
    page.get_by_role("button", name="Set policies for experiments").click()
    page.get_by_role("textbox", name="Policies").fill("constraints:\n  no_such_word: 1\n")
    page.get_by_role("button", name="Save policies").click()
    expect(page.get_by_role("alert")).to_contain_text("no_such_word")
    page.get_by_role("textbox", name="Policies").fill("constraints:\n  resources:\n    max_slots: 64\n")
    page.get_by_role("button", name="Save policies").click()
    expect(page.locator("pre.code")).to_contain_text("max_slots: 64")
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete policies").click()
    expect(page.locator("pre.code")).to_have_count(0)


def test_a_message_is_above_the_pages_of_everybody(administrator: Visitor, arrives: Callable[..., Visitor]) -> None:
    page = administrator.page
    administrator.go("/det/admin/message")
    page.get_by_label("Message", exact=True).fill("maintenance at noon")
    page.get_by_role("button", name="Show it").click()
    page.get_by_role("button", name="Clear it").wait_for()
    arrived(arrives, "determined").sees("maintenance at noon")
    page.get_by_role("button", name="Clear it").click()
    until("it is cleared", lambda: page.get_by_role("button", name="Clear it").count() == 0)


def test_who_does_not_administer_is_told_so(visitor: Visitor) -> None:
    visitor.go("/det/admin/user-management")
    visitor.page.get_by_role("heading", name="This is for administrators").wait_for()
    visitor.page.get_by_role("link", name="Webhooks").click()
    visitor.page.get_by_role("row").filter(has_text="failures").wait_for()
    expect(visitor.page.get_by_role("button", name="Test failures")).to_have_count(0)
