"""`help`, at every level of the tree."""

from __future__ import annotations

from argparse import Namespace

from resolute.cli.errors import CliError
from resolute.cli.parser import subparsers_of


def show(args: Namespace) -> None:
    """Print the help of the level that `help` was asked at, or of the command that the words lead to."""
    parser = args.level
    for word in args.words:
        below = subparsers_of(parser)
        if word not in below:
            raise CliError(f"{parser.prog} has no command {word!r}; it has {', '.join(below) or 'none'}")
        parser = below[word]
    parser.print_help()
