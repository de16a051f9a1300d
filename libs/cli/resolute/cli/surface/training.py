"""`det trial` and `det checkpoint`: training runs and what they leave behind."""

from __future__ import annotations

from resolute.cli.levels import LEVELS
from resolute.cli.surface.common import CSV_OR_JSON, EXPERIMENT, JSON, LOG_RETENTION, TRIAL, YES, log_options, paging
from resolute.cli.tree import Command, arg, flag, one_of, truth

_OUTPUT = arg("-o", "--output-dir", help="where to put the files; checkpoints/UUID otherwise")
_QUIET = flag("-q", "--quiet", help="print only the path")
_MODE = arg(
    "--mode",
    choices=("direct", "master", "auto"),
    default="auto",
    help="straight from the storage, through the master, or whichever works",
)

TRIALS = Command(
    "trial",
    "manage trials",
    aliases=("t",),
    commands=(
        Command(
            "describe",
            "describe trial",
            run="trial:describe",
            args=(
                TRIAL,
                flag("--metrics-summary", help="show the summary of all metrics"),
                flag("--metrics", help="show the metrics of training too"),
                CSV_OR_JSON,
                *paging(1000),
            ),
        ),
        Command(
            "download",
            "download checkpoint for trial",
            run="checkpoint:download_of_trial",
            args=(
                TRIAL,
                one_of(
                    flag("--best", help="the best, by the searcher's metric"),
                    flag("--latest", help="the most recent"),
                    arg("--uuid", help="this one"),
                    required=True,
                ),
                _OUTPUT,
                arg("--sort-by", help="with --best: the validation metric to judge by"),
                arg("--smaller-is-better", type=truth, metavar="(true|false)", help="with --sort-by: which way"),
                _QUIET,
                _MODE,
            ),
        ),
        Command(
            "support-bundle",
            "gather what explains a trial into one file",
            run="support_bundle:gather",
            args=(TRIAL, arg("-o", "--output-dir", help="directory to write to; the current one otherwise")),
        ),
        Command("kill", "forcibly terminate a trial", run="trial:kill", args=(arg("trial_id", help="trial ID"),)),
        Command(
            "set",
            "set trial attributes",
            commands=(
                Command(
                    "log-retention",
                    "set how long logs of trial are kept",
                    run="trial:set_log_retention",
                    args=(TRIAL, LOG_RETENTION),
                ),
            ),
        ),
        Command(
            "logs",
            "fetch trial logs",
            run="trial:logs_",
            args=(
                TRIAL,
                JSON,
                *log_options(),
                arg("--level", choices=LEVELS, help="only lines of this level and above"),
            ),
        ),
    ),
)

_UUID = arg("uuid", help="checkpoint UUID")
_UUIDS = arg("checkpoints_uuids", help="checkpoint UUIDs, split by commas")

CHECKPOINTS = Command(
    "checkpoint",
    "manage checkpoints",
    aliases=("c",),
    commands=(
        Command(
            "list",
            "list checkpoints of experiment",
            run="experiment_show:list_checkpoints",
            aliases=("ls",),
            args=(EXPERIMENT, arg("--best", type=int, metavar="N", help="only the N best"), CSV_OR_JSON),
        ),
        Command("describe", "describe checkpoint", run="checkpoint:describe", args=(_UUID, JSON)),
        Command(
            "delete",
            "delete checkpoints",
            run="checkpoint:delete",
            args=(_UUIDS, YES),
        ),
        Command(
            "rm",
            "remove files from checkpoints",
            run="checkpoint:remove_files",
            args=(
                _UUIDS,
                arg(
                    "--glob",
                    action="append",
                    default=[],
                    help="remove the files that match, as in **/optimizer.pt; may repeat",
                ),
                YES,
            ),
        ),
        Command(
            "download",
            "download checkpoint from persistent storage",
            run="checkpoint:download",
            args=(_UUID, _OUTPUT, _QUIET, _MODE),
        ),
    ),
)

OF_DET = (CHECKPOINTS, TRIALS)
