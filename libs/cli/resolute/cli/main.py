"""The entry points `det`, `det-deploy` and `resolute`: read the words, run the command, say plainly what failed."""

from __future__ import annotations

import importlib
import io
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence

from resolute.cli.errors import CliError
from resolute.cli.parser import parse
from resolute.cli.terminal import colour
from resolute.cli.tree import Command
from resolute.proto.errors import ResoluteError

FAILED, INTERRUPTED = 1, 3


def det(argv: Sequence[str] | None = None) -> int:
    from resolute.cli.surface import DET

    return run(DET, sys.argv[1:] if argv is None else argv)


def det_deploy(argv: Sequence[str] | None = None) -> int:
    """`det-deploy`, the older name of `det deploy`."""
    return det(["deploy", *(sys.argv[1:] if argv is None else argv)])


def resolute(argv: Sequence[str] | None = None) -> int:
    from resolute.cli.surface import RESOLUTE

    return run(RESOLUTE, sys.argv[1:] if argv is None else argv)


def run(program: Command, argv: Sequence[str]) -> int:
    """Run the command that `argv` spells; the answer is the exit status."""
    args = parse(program, argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # what is followed through a pipe appears as it happens
    try:
        return handler(args.command)(args) or 0
    except (CliError, ResoluteError) as error:
        print(colour(f"Failed to {args.command.help}: {error}", "red", sys.stderr), file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return INTERRUPTED
    except EOFError:  # Ctrl-D at a question: the person changed their mind
        print(file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # whoever read us (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def handler(command: Command) -> Callable[[Namespace], int | None]:
    """The function behind a command, imported now."""
    module, _, function = command.run.partition(":")
    found: Callable[[Namespace], int | None] = getattr(
        importlib.import_module(f"resolute.cli.commands.{module}"), function
    )
    return found
