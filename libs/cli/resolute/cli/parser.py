"""From the table of commands to argparse: aliases, default commands, `help` at every level."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from resolute.cli.tree import Arg, Command, OneOf


def parse(program: Command, argv: Sequence[str]) -> argparse.Namespace:
    """Read `argv`; the result carries `command`, the leaf that was chosen, beside the arguments.

    Exits with status 2 when the words make no command, and prints the help of the level reached.
    """
    parser = build(program)
    args = parser.parse_args(argv)
    while args.command.default:
        argv = [*argv, args.command.default]
        args = parser.parse_args(argv)
    if not args.command.run:
        args.parser.print_help(sys.stderr)
        parser.exit(2)
    return args


def build(program: Command) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=program.name, description=program.help)
    _furnish(parser, program)
    return parser


def subparsers_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers one level down, by every name that leads there."""
    return {
        name: below
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name, below in action.choices.items()
    }


def _furnish(parser: argparse.ArgumentParser, command: Command) -> None:
    parser.set_defaults(command=command, parser=parser)
    for argument in command.args:
        _add(parser, argument)
    if command.commands:
        below = parser.add_subparsers(metavar="command", title="commands")
        help_parser = _subparser(below, help_at := _help_for(command))
        _furnish(help_parser, help_at)
        help_parser.set_defaults(level=parser)
        for sub in command.commands:
            _furnish(_subparser(below, sub), sub)


def _subparser(below: argparse._SubParsersAction[argparse.ArgumentParser], command: Command) -> argparse.ArgumentParser:
    if command.hidden:  # works, and is not listed: argparse lists what has a help text
        return below.add_parser(command.name, aliases=command.aliases, description=command.help)
    return below.add_parser(command.name, aliases=command.aliases, help=command.help, description=command.help)


def _add(parser: argparse._ActionsContainer, argument: Arg | OneOf) -> None:
    match argument:
        case OneOf(args=args, required=required):
            group = parser.add_mutually_exclusive_group(required=required)
            for each in args:
                _add(group, each)
        case Arg(flags=flags, settings=settings):
            parser.add_argument(*flags, **settings)


def _help_for(command: Command) -> Command:
    words = Arg(("words",), {"nargs": "*", "metavar": "command", "help": "the command to explain"})
    return Command("help", f"show help for {command.name}", run="help:show", args=(words,))
