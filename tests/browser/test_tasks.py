"""Tasks that are no trials, in the page: a notebook is started, waited for, opened and killed."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import MARKUP, Cluster, Visitor

SERVER = """#!/bin/sh
exec {python} - "$@" <<'PROGRAM'
import http.server, os, sys
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><link rel=icon href=data:,><h1>what the notebook serves</h1>")
print("the program begins", flush=True)
server = http.server.HTTPServer(("127.0.0.1", int(os.environ["NOTEBOOK_PORT"])), Page)
print("Jupyter Server 2.0 is running at: here", flush=True)
server.serve_forever()
PROGRAM
"""
"""In the place of JupyterLab, which this machine need not have."""


@pytest.fixture
def path_of_jupyter() -> Iterator[str]:
    """Where every user reaches it: pytest's own folders are closed to others."""
    place = Path(tempfile.mkdtemp(prefix="resolute-notebook-"))
    place.chmod(0o755)
    program = place / "jupyter-lab"
    program.write_text(SERVER.format(python=sys.executable))
    program.chmod(0o755)
    yield f"{place}:/usr/local/bin:/usr/bin:/bin"
    shutil.rmtree(place)


def test_a_notebook_is_previewed_started_waited_for_opened_and_killed(visitor: Visitor, path_of_jupyter: str) -> None:
    page = visitor.page
    page.get_by_role("link", name="Tasks", exact=True).click()
    page.get_by_role("link", name="New notebook").click()
    page.get_by_role("heading", name="New notebook").wait_for()
    page.get_by_label("Name", exact=True).fill(MARKUP)
    page.get_by_label("Slots").fill("0")
    page.get_by_label("Configuration", exact=True).fill("environment: [")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("alert")).to_contain_text("Configuration: this is not YAML, in line 1")
    page.get_by_label("Configuration", exact=True).fill(
        f"environment:\n  environment_variables:\n    - PATH={path_of_jupyter}\n"
    )
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_label("Preview of the configuration")).to_contain_text("slots: 0")
    visitor.picture("new-notebook")
    page.get_by_role("button", name="Start notebook").click()
    page.wait_for_url("**/proxy/**")
    visitor.sees("what the notebook serves")
    visitor.go("/det/tasks?kind=notebook&state=runs")
    page.get_by_role("link", name=MARKUP).first.click()
    visitor.sees("ready")
    page.get_by_role("link", name="Log", exact=True).click()
    visitor.sees("the program begins")
    page.get_by_role("link", name="Configuration", exact=True).click()
    expect(page.get_by_label("Configuration", exact=True)).to_contain_text("slots: 0")
    page.get_by_role("button", name="Kill", exact=True).click()
    page.get_by_role("button", name="Kill notebook").click()
    visitor.sees("Ended")
    expect(page.get_by_role("button", name="Kill", exact=True)).to_have_count(0)


def test_the_list_follows_tasks_and_says_why_one_waits(visitor: Visitor, cluster: Cluster) -> None:
    page = visitor.page
    visitor.go("/det/tasks?kind=command&state=waits")
    visitor.sees("No task")
    config = {"description": "a large one", "entrypoint": ["sleep", "100"], "resources": {"slots": 2}}
    holds = cluster.as_admin("POST", "/api/v1/commands", {"config": {**config, "description": "a holder"}})
    waits = cluster.as_admin("POST", "/api/v1/commands", {"config": config})
    try:
        page.get_by_role("link", name="a large one").click()
        visitor.sees("Why it waits")
        page.get_by_role("heading", name="a large one").wait_for()
        page.get_by_role("button", name="Priority").click()
        page.get_by_role("dialog").get_by_label("Priority").fill("100")
        page.get_by_role("button", name="Set priority").click()
        expect(page.get_by_role("alert")).to_contain_text("from 1 to 99")
        page.get_by_role("button", name="Leave as it is").click()
        visitor.go(f"/det/interactive/{waits['command']['id']}/command/a/default/x?currentSlotsExceeded=false")
        visitor.sees("is not opened in a browser")
        visitor.go(f"/det/commands/{holds['command']['id']}/logs")
        page.get_by_role("heading", name="a holder").wait_for()
    finally:
        for one in (waits, holds):
            cluster.as_admin("POST", f"/api/v1/commands/{one['command']['id']}/kill", {})


def test_a_task_that_is_not_there_is_said_to_be_missing(visitor: Visitor) -> None:
    visitor.expected = ("404",)
    visitor.go("/det/interactive/no-such-task/jupyter-lab")
    visitor.sees("not found")


def test_a_shell_is_used_in_its_terminal_and_goes_on_while_nobody_looks(visitor: Visitor, cluster: Cluster) -> None:
    page = visitor.page
    shell = cluster.local.det("shell", "start", "-d", "--config", "resources.slots=0").strip().splitlines()[-1]
    page.goto(f"{cluster.url}/det/tasks/{shell}")
    page.get_by_role("link", name="Open terminal").click()
    page.get_by_role("status").get_by_text("Connected", exact=True).wait_for()
    screen = page.locator(".xterm-rows")
    page.keyboard.type("echo $((6*7)) in the terminal; printf '\\033[38;2;200;30;30mcoloured\\033[0m\\n'\n")
    expect(screen).to_contain_text("42 in the terminal")
    expect(screen).to_contain_text("coloured")
    page.keyboard.type("kept=here\n")
    visitor.picture("terminal")
    page.get_by_role("link", name="Overview").click()
    page.get_by_role("link", name="Open terminal").click()
    expect(screen).to_contain_text("42 in the terminal")
    page.keyboard.type("echo still $kept; exit 3\n")
    page.get_by_text("The session has ended with exit status 3").wait_for()
    page.get_by_role("button", name="Start a session").click()
    page.get_by_role("status").get_by_text("Connected", exact=True).wait_for()
    cluster.local.det("shell", "kill", shell)


def test_a_command_runs_and_a_shell_says_how_it_is_opened(visitor: Visitor) -> None:
    page = visitor.page
    visitor.go("/det/tasks")
    page.get_by_role("link", name="New command").click()
    page.get_by_label("What to run").fill("echo from the page; exit 3")
    page.get_by_label("Slots").fill("0")
    page.get_by_role("button", name="Start command").click()
    visitor.sees("Ended")
    page.get_by_role("link", name="Log", exact=True).click()
    expect(page.get_by_role("log")).to_contain_text("from the page")
    page.get_by_role("link", name="Overview", exact=True).click()
    expect(page.get_by_role("region", name="Allocations").get_by_role("cell", name="3", exact=True)).to_be_visible()
    visitor.go("/det/tasks/new/shell")
    page.get_by_label("Slots").fill("0")
    page.get_by_role("button", name="Start shell").click()
    visitor.sees("det shell open")
    page.get_by_role("link", name="Home", exact=True).click()
    page.get_by_role("heading", name="Tasks", exact=True).wait_for()
    page.get_by_role("link", name="Shell (").first.click()
    page.get_by_role("button", name="Kill", exact=True).click()
    page.get_by_role("button", name="Kill shell").click()
    visitor.sees("Ended")
