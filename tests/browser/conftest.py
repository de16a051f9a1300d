"""A cluster with work on it, and a real browser that looks at its page: `make browser`.

Whatever a browser complains about fails the test in which it happens: an error in the console (a violation of the
Content-Security-Policy among them), an exception, a request that fails or is answered with an error.
Pictures are kept in `.resolute/browser/`.
"""

from __future__ import annotations

import json
import shutil
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Response, sync_playwright

from tests import needs
from tests.integration.cluster.local import LocalCluster, local_cluster
from tests.integration.cluster.searches import MODEL, stepwise
from tests.page.check import TOOLS, tools

PICTURES = Path(__file__).parents[2] / ".resolute" / "browser"
PATIENCE_MS = 30_000
"""How long something may take to be seen. It takes far less; a busy machine takes longer."""

MARKUP = '<img src=x onerror="document.title=1"> שלום 🚀'
"""A name that must stay text, with words that are written from the right, and an emoji."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(needs.chromium)
            item.add_marker(pytest.mark.timeout(300))


@dataclass
class Cluster:
    local: LocalCluster
    completed: int
    """A search that is over."""
    failed: int
    marked: int
    """One whose name is `MARKUP`."""
    checkpoint: str
    """One of the completed search. One of another is version 1 of the model `kept`."""
    task: str = ""
    """A command that is over soon."""

    @property
    def url(self) -> str:
        return self.local.url

    def as_admin(self, method: str, path: str, body: Any) -> Any:
        """What the API answers the administrator."""
        login = self._asked("POST", "/api/v1/auth/login", {"username": "admin", "password": ""}, {})
        return self._asked(method, path, body, {"Authorization": f"Bearer {login['token']}"})

    def _asked(self, method: str, path: str, body: Any, headers: dict[str, str]) -> Any:
        headers = {"Content-Type": "application/json", **headers}
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)


def latest_checkpoint(local: LocalCluster, experiment: int) -> str:
    """One that the policies of storage keep."""
    listed = local.get(f"/api/v1/experiments/{experiment}/checkpoints")["checkpoints"]
    latest: dict[str, Any] = max(listed, key=lambda one: int(one["metadata"]["steps_completed"]))
    return str(latest["uuid"])


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    home = tmp_path_factory.mktemp("browser")
    with local_cluster(home, slots=2) as local:
        completed = local.create(stepwise("a finished search", step_s=0.0, trials=2), MODEL)
        broken = {**stepwise("a broken one", step_s=0.0, trials=1), "entrypoint": "echo no such data; exit 3"}
        failed = local.create(broken, MODEL)
        marked = local.create(stepwise(MARKUP, step_s=0.0, trials=1), MODEL)
        for experiment in (completed, failed, marked):
            local.ended(experiment)
        free, registered = (latest_checkpoint(local, experiment) for experiment in (completed, marked))
        local.det("model", "create", "kept", "--description", "for the tests of pages")
        local.det("model", "register-version", "kept", registered)
        cluster = Cluster(local, completed, failed, marked, free)
        cluster.as_admin("POST", "/api/v1/templates/shared", {"name": "shared", "config": {"max_restarts": 2}})
        cluster.as_admin("POST", "/api/v1/groups", {"name": "readers", "addUsers": [2]})
        failures = {"triggerType": "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", "condition": {"state": "ERROR"}}
        command = {"description": "a short command", "entrypoint": ["echo", "hello"], "resources": {"slots": 0}}
        cluster.task = cluster.as_admin("POST", "/api/v1/commands", {"config": command})["command"]["id"]
        webhook = {"name": "failures", "url": "https://hooks.example.org/x", "triggers": [failures]}
        cluster.as_admin("POST", "/api/v1/webhooks", webhook)
        yield cluster


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # As root, Chromium starts without its sandbox only.
        browser = playwright.chromium.launch(executable_path=needs.CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@dataclass
class Visitor:
    """One person at one page."""

    page: Page
    url: str
    context: BrowserContext
    complaints: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()
    """Parts of complaints that belong to what the test does."""

    def go(self, path: str) -> None:
        self.page.goto(self.url + path)

    def sees(self, text: str, **options: Any) -> None:
        self.page.get_by_text(text, **options).first.wait_for(timeout=PATIENCE_MS)

    def sign_in(self, name: str = "determined", password: str = "") -> None:
        self.page.get_by_label("User name").fill(name)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Sign in").click()

    def picture(self, name: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png")

    def listen(self) -> None:
        page = self.page
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self._complain(f"exception: {error}"))
        page.on("requestfailed", lambda request: self._complain(f"failed: {request.url} {request.failure}"))
        page.on("response", self._look)

    def _hear(self, said: ConsoleMessage) -> None:
        if said.type == "error":
            self._complain(f"console: {said.text}")

    def _look(self, answer: Response) -> None:
        if answer.status >= 400:
            self._complain(f"{answer.status}: {answer.url}")

    def _complain(self, text: str) -> None:
        given_up_by_the_page = "net::ERR_ABORTED" in text  # a question whose answer is no longer wanted
        if not given_up_by_the_page and not any(part in text for part in self.expected):
            self.complaints.append(text)


@pytest.fixture
def arrives(chromium: Browser, cluster: Cluster) -> Iterator[Callable[..., Visitor]]:
    """Makes visitors who are not signed in; none of their pages may have complained when the test ends."""
    visitors: list[Visitor] = []

    def arrive(**options: Any) -> Visitor:
        context = chromium.new_context(viewport={"width": 1280, "height": 800}, **options)
        context.set_default_timeout(PATIENCE_MS)
        visitor = Visitor(context.new_page(), cluster.url, context)
        visitor.listen()
        visitors.append(visitor)
        return visitor

    yield arrive
    for visitor in visitors:
        visitor.context.close()
    assert [complaint for visitor in visitors for complaint in visitor.complaints] == []


@pytest.fixture
def visitor(arrives: Callable[..., Visitor]) -> Visitor:
    """Somebody who is signed in, and sees the first page."""
    visitor = arrives()
    visitor.go("/")
    visitor.sign_in()
    visitor.page.get_by_role("heading", name="Home").wait_for()
    return visitor


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, which checks a page against the WCAG."""
    tools()
    return (TOOLS / "node_modules" / "axe-core" / "axe.min.js").read_text()


@pytest.fixture(scope="session", autouse=True)
def _fresh_pictures() -> None:
    shutil.rmtree(PICTURES, ignore_errors=True)


def until(what: str, look: Callable[[], Any], within_s: float = 30) -> None:
    deadline = time.monotonic() + within_s
    while not look():
        assert time.monotonic() < deadline, f"{what}: not within {within_s} s"
        time.sleep(0.05)
