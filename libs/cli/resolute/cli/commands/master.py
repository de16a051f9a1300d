"""The master: what it is, how it is set up, what it wrote; and which version of everything this is."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from importlib.metadata import version as installed
from typing import Any

from resolute.cli import address, output
from resolute.cli.errors import CliError
from resolute.cli.login import WIRE_VERSION, session
from resolute.cli.session import Query, Session


def info(args: Namespace) -> None:
    _show(session(args).get("/api/v1/master"), args)


def config(args: Namespace) -> None:
    _show(session(args).get("/api/v1/master/config")["config"], args)


def set_config(args: Namespace) -> None:
    log: dict[str, Any] = {}
    if args.log_level is not None:
        log["level"] = f"LOG_LEVEL_{args.log_level}"
    if args.log_color is not None:
        log["color"] = args.log_color == "on"
    if not log:
        raise CliError("there is nothing to change: give --log.level, --log.color or both")
    mask = {"paths": [f"log.{name}" for name in log]}
    session(args).patch("/api/v1/master/config", {"config": {"log": log}, "fieldMask": mask})
    print("Changed the master's log. The change stays after a restart.")


def logs_(args: Namespace) -> None:
    query = {"follow": args.follow, "offset": None if args.tail is None else -args.tail}
    for line in log_lines(session(args), query):
        print(line)


def log_lines(opened: Session, query: Query) -> Iterator[str]:
    """The master's log as people read it."""
    for each in opened.stream("/api/v1/master/logs", query):
        entry = each["logEntry"]
        yield f"{entry['timestamp']} [{entry['level'].removeprefix('LOG_LEVEL_')}]: {entry['message']}"


def version(args: Namespace) -> None:
    """Works without a master too; then it prints that the master cannot be reached."""
    where = address.choose(args.master)
    try:
        master: dict[str, Any] | str = Session(where).get("/info")
    except CliError as error:
        master = f"not found: {error}"
    client = {"resolute": installed("resolute"), "version": WIRE_VERSION}
    output.show_yaml({"client": client, "master": master, "master_address": where})


def _show(document: Any, args: Namespace) -> None:
    (output.show_json if args.json else output.show_yaml)(document)
