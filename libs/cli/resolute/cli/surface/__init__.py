"""Everything that can be typed after `det` and `resolute`."""

from __future__ import annotations

from argparse import SUPPRESS, Action, ArgumentParser
from typing import Any

from resolute.cli.surface.cluster import AGENTS, JOBS, MASTER, RESOURCE_POOLS, RESOURCES, SLOTS, TASKS, VERSION
from resolute.cli.surface.deploy import DEPLOY
from resolute.cli.surface.experiment import EXPERIMENTS
from resolute.cli.surface.history import LOG, REPLAY
from resolute.cli.surface.people import USERS
from resolute.cli.surface.searching import PREVIEW, SEARCH
from resolute.cli.surface.secrets import SECRETS
from resolute.cli.surface.training import CHECKPOINTS, TRIALS
from resolute.cli.tree import Command, arg


class _PrintVersion(Action):
    def __call__(self, parser: ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"{parser.prog} {version('resolute')}")
        parser.exit()


_VERSION = arg("-v", "--version", action=_PrintVersion, nargs=0, default=SUPPRESS, help="print the version and stop")

_WHO_AND_WHERE = (
    arg("-u", "--user", metavar="username", help="who to act as"),
    arg("-m", "--master", metavar="address", help="master to talk to; DET_MASTER, then localhost:8080 otherwise"),
    _VERSION,
)

DET = Command(
    "det",
    "Train deep-learning models on a cluster.",
    args=_WHO_AND_WHERE,
    commands=(
        AGENTS,
        CHECKPOINTS,
        DEPLOY,
        EXPERIMENTS,
        JOBS,
        MASTER,
        PREVIEW,
        RESOURCE_POOLS,
        RESOURCES,
        SLOTS,
        TASKS,
        TRIALS,
        USERS,
        VERSION,
    ),
)

RESOLUTE = Command(
    "resolute",
    "Look into what a cluster remembers.",
    args=_WHO_AND_WHERE,
    commands=(LOG, REPLAY, SEARCH, SECRETS),
)
