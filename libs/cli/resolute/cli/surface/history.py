"""`resolute log` and `resolute replay`: the event log itself, for operators of a cluster."""

from __future__ import annotations

from pathlib import Path

from resolute.cli.surface.common import JSON, YES
from resolute.cli.tree import Command, arg, flag, one_of
from resolute.proto.queue import PolicyName

WHERE = one_of(
    arg("--data-dir", type=Path, help="directory of an embedded cluster; the default one otherwise"),
    arg("--database-url", help="the log's database; RESOLUTE_DATABASE_URL otherwise"),
)
CLUSTER_NAME = arg("--cluster-name", default="determined", help="which embedded cluster")

LOG = Command(
    "log",
    "read the event log",
    commands=(
        Command(
            "tail",
            "follow the event log",
            run="history:tail",
            args=(
                WHERE,
                CLUSTER_NAME,
                arg("-n", "--lines", type=int, default=20, metavar="N", help="how many past events to begin with"),
                one_of(
                    flag("-f", "--follow", help="go on with what happens, as it does unless told otherwise"),
                    flag("--no-follow", help="print what there is, and stop"),
                ),
                JSON,
            ),
        ),
        Command(
            "show",
            "show a stream of the event log",
            run="history:show",
            args=(
                arg("stream", help="a stream, as in experiment-7"),
                WHERE,
                CLUSTER_NAME,
                one_of(flag("--raw", help="print events with their fields instead of sentences"), JSON),
            ),
        ),
        Command(
            "why",
            "explain what the event log says",
            run="history:why",
            args=(
                arg("thing", help="trial-41, experiment-7, checkpoint-<uuid>, allocation-<id> or agent-<id>"),
                arg("question", nargs="?", default="", help="stopped, waits, runs or deleted; else what came last"),
                WHERE,
                CLUSTER_NAME,
                JSON,
            ),
        ),
        Command(
            "asides",
            "list events that were set aside",
            run="history:aside",
            aliases=("aside",),
            args=(WHERE, CLUSTER_NAME, JSON),
        ),
        Command(
            "retry",
            "retry an event that was set aside",
            run="history:retry",
            args=(
                arg("consumer", help="who set it aside, as in searcher"),
                arg("position", type=int, help="the event's position in the log"),
                WHERE,
                CLUSTER_NAME,
            ),
        ),
        Command(
            "verify",
            "verify the event log",
            run="history:verify",
            args=(arg("stream", nargs="?", help="only this stream"), WHERE, CLUSTER_NAME),
        ),
    ),
)

POLICIES = tuple(policy.value for policy in PolicyName)

REPLAY = Command(
    "replay",
    "replay the event log",
    run="history:replay",
    args=(
        flag("--check", help="rebuild the read models beside the live ones and compare every row, and answers"),
        flag("--every-answer", help="with --check: compare every answer there is, however many"),
        arg(
            "--policy",
            choices=POLICIES,
            help="what if work had been scheduled by this policy; the recorded one otherwise",
        ),
        one_of(
            flag("--preemption", help="what if work of higher priority had taken slots of lower ones"),
            flag("--no-preemption", help="what if it had not"),
        ),
        arg("--agents", type=int, metavar="N", help="what if there had been so many agents"),
        arg("--slots-per-agent", type=int, metavar="N", help="what if each had had so many slots"),
        arg(
            "--weights",
            action="append",
            default=[],
            metavar="JOB=W",
            help="what if an experiment, by number, had had this weight; may be given more than once",
        ),
        arg("--pool", help="whose work; the default pool's otherwise"),
        arg("--from", dest="since", metavar="TIME", help="since when, as in 2026-01-31T12:00 (UTC) or 36h (ago)"),
        arg("--to", dest="until", metavar="TIME", help="until when"),
        arg(
            "--recorded-policy",
            choices=POLICIES,
            help="by which policy work was scheduled, if not by the one that the log names",
        ),
        JSON,
        WHERE,
        CLUSTER_NAME,
    ),
)

UNDO = Command(
    "undo",
    "put back what a request changed",
    run="undo:undo",
    args=(
        arg("request", nargs="?", help="a request, as in the list that this prints without one"),
        arg("-n", "--last", type=int, default=20, metavar="N", help="without a request: how many to list"),
        arg("--actor", help="without a request: only what this user did"),
        flag("--dry-run", help="show what would be put back, and change nothing"),
        YES,
        JSON,
    ),
)

OF_RESOLUTE = (LOG, REPLAY, UNDO)
