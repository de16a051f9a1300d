"""Workspaces and projects: made, filled, moved, put away and deleted in the page."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import MARKUP, Cluster, Visitor
from tests.integration.cluster.searches import MODEL, stepwise


def new_workspace(visitor: Visitor, name: str) -> None:
    page = visitor.page
    visitor.go("/det/workspaces")
    page.get_by_role("button", name="New workspace").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Create workspace").click()
    page.get_by_role("heading", name=name, exact=True).wait_for()


def new_project(visitor: Visitor, name: str) -> int:
    """Its number."""
    page = visitor.page
    page.get_by_role("button", name="New project").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Create project").click()
    page.get_by_role("heading", name=name, exact=True).wait_for()
    found = re.search(r"/projects/(\d+)", page.url)
    assert found is not None
    return int(found.group(1))


@pytest.mark.timeout(120)
def test_a_project_is_made_gets_an_experiment_and_notes_and_moves(visitor: Visitor, cluster: Cluster) -> None:
    page = visitor.page
    new_workspace(visitor, "speech")
    new_workspace(visitor, "robotics")
    project = new_project(visitor, "digits")
    visitor.sees("No experiments in this project yet")
    moved = cluster.local.create(stepwise("to be moved", step_s=0.0, trials=1), MODEL)
    cluster.local.ended(moved)
    visitor.go("/det/experiments")
    page.get_by_role("row").filter(has_text="to be moved").get_by_role("checkbox").check()
    page.get_by_role("button", name="Move", exact=True).click()
    page.get_by_label("To the project").select_option(label="robotics / digits")
    page.get_by_role("dialog").get_by_role("button", name="Move", exact=True).click()
    visitor.sees("1 of 1 moved")
    visitor.go(f"/det/projects/{project}")
    expect(page.get_by_role("row").filter(has_text="to be moved")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="a finished search")).to_have_count(0)
    page.get_by_role("link", name="Notes 0").click()
    page.get_by_role("button", name="New note").click()
    page.get_by_label("Title").fill(MARKUP)
    page.get_by_label("Text").fill("# what was found\n<b>text stays text</b>")
    page.get_by_role("button", name="Save note").click()
    page.get_by_role("heading", name=MARKUP).wait_for()
    visitor.sees("<b>text stays text</b>", exact=False)
    page.get_by_role("button", name="Move", exact=True).click()
    page.get_by_label("To the workspace").select_option(label="speech")
    page.get_by_role("button", name="Move project").click()
    page.get_by_role("navigation", name="Where this is").get_by_role("link", name="speech").wait_for()


def test_a_workspace_is_pinned_archived_and_brought_back(visitor: Visitor) -> None:
    page = visitor.page
    new_workspace(visitor, "to be archived")
    page.get_by_role("button", name="★ Pinned").click()  # as new ones are
    page.get_by_role("button", name="☆ Pin", exact=True).click()
    page.get_by_role("button", name="★ Pinned").wait_for()
    page.get_by_role("button", name="Archive", exact=True).click()
    page.get_by_role("button", name="Unarchive", exact=True).wait_for()
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Archive", exact=True).click()
    page.get_by_role("link", name="Workspaces").first.click()
    listed = page.get_by_role("link", name="to be archived")
    page.get_by_role("heading", name="Workspaces").wait_for()
    expect(listed).to_have_count(0)
    page.get_by_label("Archived").check()
    expect(listed).to_be_visible()
    assert "archived" in page.url


def test_a_project_is_deleted_by_who_types_its_name(visitor: Visitor) -> None:
    page = visitor.page
    new_workspace(visitor, "short lived")
    new_project(visitor, "a mistake")
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_label("Type its name").fill("another")
    page.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_role("alert")).to_contain_text("Expected: a mistake")
    page.get_by_label("Type its name").fill("a mistake")
    page.get_by_role("button", name="Delete for good").click()
    page.get_by_role("heading", name="short lived").wait_for()
    expect(page.get_by_role("link", name="a mistake")).to_have_count(0)


def test_home_shows_the_projects_that_were_visited_last(visitor: Visitor) -> None:
    page = visitor.page
    with page.expect_response("**/users/activity"):
        visitor.go("/det/projects/1")
    visitor.go("/")
    visited = page.locator("section").filter(has=page.get_by_role("heading", name="Projects visited last"))
    visited.get_by_role("link", name="Uncategorized").click()
    page.get_by_role("heading", name="Uncategorized", exact=True).wait_for()
