"""Notebooks: starting them, opening them in a browser, and what is done with them meanwhile."""

from __future__ import annotations

import sys
import webbrowser
from argparse import Namespace
from functools import partial

from resolute.cli import output, tasks_of_kind
from resolute.cli.login import session
from resolute.cli.readiness import until_ready
from resolute.cli.session import Session
from resolute.cli.tasks_of_kind import Kind

NOTEBOOK = Kind("notebook")


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
    if not until_ready(opened, NOTEBOOK, notebook["id"]):
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
    if not until_ready(opened, NOTEBOOK, notebook_id):
        return 1
    _show_address(opened, notebook_id, browser=True)
    return None


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
