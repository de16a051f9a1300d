"""`resolute log` and `resolute replay`: what the cluster remembers, read straight from its log.

The event log and the gateway bring these commands themselves; here the words become their arguments.
"""

from __future__ import annotations

import os
from argparse import Namespace

from resolute.cli.errors import CliError
from resolute.cli.progress import progress


def tail(args: Namespace) -> int:
    import resolute.eventlog.cli as history

    return history.tail(database_url(args), lines=args.lines, follow=not args.no_follow, as_json=args.json)


def show(args: Namespace) -> int:
    import resolute.eventlog.cli as history

    return history.show(database_url(args), args.stream, raw=args.raw, as_json=args.json)


def why(args: Namespace) -> int:
    import resolute.eventlog.cli as history

    return history.why(database_url(args), args.thing, args.question, as_json=args.json)


def aside(args: Namespace) -> int:
    import resolute.eventlog.cli as history

    return history.aside(database_url(args), as_json=args.json)


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
    import resolute.api.replay as replaying

    database = database_url(args)
    with progress() as note:
        return replaying.check(database, note, every_answer=args.every_answer)


def database_url(args: Namespace) -> str:
    """The log's database: `--database-url`, then RESOLUTE_DATABASE_URL, then an embedded cluster's."""
    given = args.database_url or (None if args.data_dir else os.environ.get("RESOLUTE_DATABASE_URL"))
    if given:
        return str(given)
    from resolute.deploy import commands

    found: str | None = commands.database_url(args.cluster_name, args.data_dir)
    if found is None:
        raise CliError(
            "no cluster found here; name its database with --database-url or RESOLUTE_DATABASE_URL, "
            "or its directory with --data-dir"
        )
    return found
