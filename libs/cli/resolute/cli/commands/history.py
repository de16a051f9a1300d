"""`resolute log` and `resolute replay`: what the cluster remembers, read straight from its log.

The event log, `resolute.whatif` and `resolute.deploy` do the work; here the words become their arguments. Commands that
only read the history read it over REST where the cluster does not run on this machine.
"""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING

from resolute.cli import address
from resolute.cli.errors import CliError
from resolute.cli.progress import progress

if TYPE_CHECKING:
    from resolute.cli.rest_log import RestLog


def tail(args: Namespace) -> int:
    import resolute.eventlog.cli as history

    return history.tail(log_of(args), lines=args.lines, follow=not args.no_follow, as_json=args.json)


def show(args: Namespace) -> int:
    import resolute.eventlog.cli as history

    return history.show(log_of(args), args.stream, raw=args.raw, as_json=args.json)


def why(args: Namespace) -> int:
    import resolute.eventlog.cli as history

    return history.why(log_of(args), args.thing, args.question, as_json=args.json)


def aside(args: Namespace) -> int:
    import resolute.eventlog.cli as history

    return history.aside(log_of(args), as_json=args.json)


def retry(args: Namespace) -> int:
    import resolute.eventlog.cli as history

    return history.retry(database_url(args), args.consumer, args.position)


def verify(args: Namespace) -> int:
    import resolute.eventlog.cli as history

    return history.verify(database_url(args), args.stream)


def replay(args: Namespace) -> int:
    if not args.check:
        from resolute.cli.commands import whatif

        return whatif.ask(args, database_url(args))
    from resolute.deploy import gateway_tools

    database = database_url(args)
    with progress() as note:
        return gateway_tools.check_read_models(database, note, every_answer=args.every_answer)


def log_of(args: Namespace) -> str | RestLog:
    """The log to read: a database that is named, or that of the cluster that runs here; else the log behind the
    gateway that `-m` or DET_MASTER names, or that answers at the usual address. Administrators may read that."""
    if (named := _named_database(args)) is not None:
        return named
    from resolute.deploy import commands

    master = args.master or os.environ.get("DET_MASTER") or os.environ.get("DET_MASTER_ADDR")
    here = commands.address(args.cluster_name, args.data_dir)
    if args.data_dir or (here is not None and (not master or _same(here, master))):
        return database_url(args)
    from resolute.cli.login import session
    from resolute.cli.rest_log import RestLog

    return RestLog(session(args))


def _named_database(args: Namespace) -> str | None:
    return args.database_url or (None if args.data_dir else os.environ.get("RESOLUTE_DATABASE_URL")) or None


def _same(one: str, other: str) -> bool:
    """Whether two addresses are equal except for how they are written; two names of one gateway count as different."""
    return _on_this_machine(one) == _on_this_machine(other)


def _on_this_machine(where: str) -> str:
    return address.canonical(where).replace("//localhost:", "//127.0.0.1:")


def database_url(args: Namespace) -> str:
    """The log's database: `--database-url`, then RESOLUTE_DATABASE_URL, then an embedded cluster's."""
    if (named := _named_database(args)) is not None:
        return named
    from resolute.deploy import commands

    found: str | None = commands.database_url(args.cluster_name, args.data_dir)
    if found is None:
        raise CliError(
            "no cluster found here, and this command needs its database; name it with --database-url or "
            "RESOLUTE_DATABASE_URL, or its directory with --data-dir"
        )
    return found
