"""Notebooks: starting them, opening them in a browser, and what is done with them meanwhile."""

from __future__ import annotations

import sys
import time
import webbrowser
from argparse import Namespace
from functools import partial
from typing import Any

from resolute.cli import logs, output, tasks_of_kind, terminal
from resolute.cli.errors import CliError
from resolute.cli.login import session
from resolute.cli.retrying import retry_while_unreachable
from resolute.cli.session import Session
from resolute.cli.tasks_of_kind import Kind

NOTEBOOK = Kind("notebook")

READY_S = 30 * 60.0
"""How long a notebook is waited for."""
LAST_LINES = 5
"""How much of the log of a notebook that has ended is shown."""
_LOOK_EVERY_S = 0.5
_SAY_EVERY_S = 30.0


def start(args: Namespace) -> int | None:
    opened, config = session(args), tasks_of_kind.config_of(args)
    if args.preview:
        output.show_yaml(tasks_of_kind.launch(opened, NOTEBOOK, args, config, preview=True)["config"])
        return None
    notebook = tasks_of_kind.launch(opened, NOTEBOOK, args, config)["notebook"]
    if args.detach:
        print(notebook["id"])
        return None
    print(f"Launched notebook (id: {notebook['id']}, name: {notebook['description']}).")
    if not _until_ready(opened, notebook["id"]):
        return 1
    print(f"notebook (id: {notebook['id']}) is ready.")
    _show_address(opened, notebook["id"], browser=not args.no_browser)
    return None


def open_(args: Namespace) -> int | None:
    opened = session(args)
    notebook_id = tasks_of_kind.whole_id(opened, NOTEBOOK, args.notebook_id)
    if opened.get(NOTEBOOK.path(notebook_id))["notebook"]["state"] == "STATE_TERMINATED":
        print("Notebook has ended", file=sys.stderr)
        return 1
    if not _until_ready(opened, notebook_id):
        return 1
    _show_address(opened, notebook_id, browser=True)
    return None


def _until_ready(opened: Session, notebook_id: str) -> bool:
    """Waits, and says every half minute why. False where the notebook has ended."""
    began = said = time.monotonic()
    while True:
        task = retry_while_unreachable(lambda: opened.get(f"/api/v1/tasks/{notebook_id}"))["task"]
        if any(one.get("isReady") for one in task["allocations"]):
            return True
        if task.get("endTime"):
            print("Waiting stopped: task has been terminated.", file=sys.stderr)
            _show_why(opened, notebook_id)
            return False
        now = time.monotonic()
        if now - began > READY_S:
            raise CliError(f"notebook {notebook_id} is not ready after {READY_S / 60:g} minutes; it goes on starting")
        if now - said > _SAY_EVERY_S:
            said = now
            print(terminal.colour(f"still waiting: {_state(task)}", "yellow", sys.stderr), file=sys.stderr)
        time.sleep(_LOOK_EVERY_S)


def _show_why(opened: Session, notebook_id: str) -> None:
    query = {"limit": LAST_LINES, "orderBy": "ORDER_BY_DESC"}
    for line in logs.lines(opened, f"/api/v1/tasks/{notebook_id}/logs", query, follow=False):
        print(str(line["message"]).rstrip(), file=sys.stderr)
    print(f"All of its log: det notebook logs {notebook_id}", file=sys.stderr)


def _state(task: dict[str, Any]) -> str:
    states = [str(one["state"]).removeprefix("STATE_") for one in task["allocations"]]
    return f"it is {states[-1] if states else 'QUEUED'}; det job list tells where it is in the queue"


def _show_address(opened: Session, notebook_id: str, *, browser: bool) -> None:
    address = opened.get(NOTEBOOK.path(notebook_id))["notebook"]["serviceAddress"]
    url = f"{opened.master}{address}"
    print(f"Jupyter Notebook is running at: {url}")
    print(f"Connect to remote Jupyter server: {url}")
    if browser and not webbrowser.open(url):
        print("There is no browser here: open the address in one.", file=sys.stderr)


list_ = partial(tasks_of_kind.list_, NOTEBOOK)
config = partial(tasks_of_kind.config, NOTEBOOK)
logs_ = partial(tasks_of_kind.logs_of, NOTEBOOK)
kill = partial(tasks_of_kind.kill, NOTEBOOK)
set_priority = partial(tasks_of_kind.set_priority, NOTEBOOK)
