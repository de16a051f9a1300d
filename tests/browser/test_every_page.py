"""Every page in both themes: pictures of it, and its accessibility by axe-core (WCAG 2.2, levels A and AA)."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.browser.conftest import PATIENCE_MS, Cluster, Visitor, until

PAGES = {
    "home": "/det/",
    "experiments": "/det/experiments",
    "experiment": "/det/experiments/{completed}",
    "failed-experiment": "/det/experiments/{failed}",
    "hyperparameters": "/det/experiments/{completed}/hyperparameters",
    "profiler": "/det/experiments/{completed}/trials/1/profiler",
    "code": "/det/experiments/{completed}/code",
    "fork": "/det/experiments/{completed}/fork",
    "continue": "/det/experiments/{completed}/continue",
    "new-experiment": "/det/experiments/new",
    "trials": "/det/experiments/{completed}/trials",
    "history": "/det/experiments/{completed}/history",
    "comparison": "/det/compare?sel=1-2",
    "trial": "/det/trials/1",
    "trial-logs": "/det/experiments/{completed}/trials/1/logs",
    "tasks": "/det/tasks",
    "task": "/det/tasks/{task}",
    "task-log": "/det/tasks/{task}/logs",
    "task-that-ended": "/det/interactive/{task}/command",
    "new-notebook": "/det/tasks/new/notebook",
    "cluster": "/det/clusters",
    "queue": "/det/clusters/queue",
    "workspaces": "/det/workspaces",
    "workspace": "/det/workspaces/1",
    "project": "/det/projects/1",
    "project-notes": "/det/projects/1/notes",
    "workspace-models": "/det/workspaces/1/models",
    "models": "/det/models",
    "model": "/det/models/kept",
    "version": "/det/models/kept/versions/1",
    "workspace-members": "/det/workspaces/1/members",
    "templates": "/det/templates?template=shared",
    "webhooks": "/det/webhooks",
    "policies": "/det/policies",
    "admin-users": "/det/admin/user-management?user=1",
    "admin-groups": "/det/admin/group-management?group=1",
    "admin-roles": "/det/admin/roles",
    "admin-message": "/det/admin/message",
    "admin-webhooks": "/det/webhooks?webhook=1",
    "account": "/det/settings",
    "design": "/det/design",
    "no-such-page": "/det/no/such/page",
    "no-such-experiment": "/det/experiments/987654",
}
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def settled(visitor: Visitor) -> None:
    visitor.page.wait_for_load_state("networkidle", timeout=PATIENCE_MS)
    visitor.page.locator("h1").first.wait_for()
    if "/design" not in visitor.page.url:  # which shows what waiting looks like
        until("everything is read", lambda: visitor.page.locator(".busy-line").count() == 0)


def violations(visitor: Visitor, axe: str) -> list[str]:
    visitor.page.evaluate(axe)
    found = visitor.page.evaluate(
        "rules => axe.run(document, {runOnly: {type: 'tag', values: rules}}).then(answer => answer.violations)", RULES
    )
    return [f"{one['id']}: {json.dumps([node['html'][:200] for node in one['nodes'][:3]])}" for one in found]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible(
    arrives: Callable[..., Visitor], cluster: Cluster, axe: str, name: str, theme: str
) -> None:
    visitor = arrives(color_scheme=theme, reduced_motion="reduce")
    visitor.expected = ("404",) if name.startswith("no-such") else ()
    visitor.go("/")
    visitor.sign_in("admin" if name.startswith("admin") else "determined")
    visitor.page.get_by_role("heading", name="Home").wait_for()
    visitor.go(PAGES[name].format(completed=cluster.completed, failed=cluster.failed, task=cluster.task))
    settled(visitor)
    visitor.picture(f"{name}-{theme}")
    assert violations(visitor, axe) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_signing_in_is_accessible(arrives: Callable[..., Visitor], axe: str, theme: str) -> None:
    visitor = arrives(color_scheme=theme)
    visitor.go("/")
    settled(visitor)
    visitor.picture(f"sign-in-{theme}")
    assert violations(visitor, axe) == []


def test_on_a_phone_nothing_is_wider_than_the_screen(arrives: Callable[..., Visitor], cluster: Cluster) -> None:
    visitor = arrives(is_mobile=True, has_touch=True)
    visitor.page.set_viewport_size({"width": 360, "height": 740})
    visitor.go("/")
    visitor.sign_in()
    visitor.page.get_by_role("heading", name="Home").wait_for()
    for name in (
        "home",
        "experiments",
        "experiment",
        "cluster",
        "workspaces",
        "project",
        "model",
        "version",
        "account",
        "webhooks",
        "tasks",
        "task",
        "new-notebook",
        "new-experiment",
        "code",
        "hyperparameters",
    ):
        visitor.go(PAGES[name].format(completed=cluster.completed, task=cluster.task))
        settled(visitor)
        visitor.picture(f"{name}-phone")
        wide = visitor.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{name} is {wide} pixels too wide"


def test_everything_is_reached_by_the_keyboard(arrives: Callable[..., Visitor]) -> None:
    visitor = arrives()
    visitor.go("/")
    visitor.page.get_by_label("User name").wait_for()
    visitor.page.get_by_label("User name").focus()
    visitor.page.keyboard.type("determined")
    visitor.page.keyboard.press("Enter")
    visitor.page.get_by_role("heading", name="Home").wait_for()
    reached = []
    for _ in range(40):
        visitor.page.keyboard.press("Tab")
        reached.append(visitor.page.evaluate("document.activeElement.textContent.trim().slice(0, 40)"))
    assert {"Skip to the content", "Home", "Experiments", "Cluster", "Sign out"} <= set(reached)
