"""The message that administrators show to everybody."""

from __future__ import annotations

from argparse import Namespace

from resolute.cli import output
from resolute.cli.login import session

PATH = "/api/v1/master/cluster_message"


def get(args: Namespace) -> None:
    (output.show_json if args.json else output.show_yaml)(session(args).get(PATH))


def set_(args: Namespace) -> None:
    wanted = {"startTime": args.start, "endTime": args.end, "duration": args.duration}
    given = {key: value for key, value in wanted.items() if value is not None}
    session(args).put(PATH, {"message": args.message, **given})


def clear(args: Namespace) -> None:
    session(args).delete(PATH)
