"""`det experiment`: what can be asked of experiments."""

from __future__ import annotations

from pathlib import Path

from resolute.cli.levels import LEVELS
from resolute.cli.surface.common import CSV, EXPERIMENT, JSON, LOG_RETENTION, YES, log_options, paging
from resolute.cli.tree import Command, arg, existing_file, flag, int_or_none, one_of, truth
from resolute.proto.queue import PRIORITIES

_CONFIG_OVERRIDES = arg(
    "--config",
    action="append",
    default=[],
    metavar="KEY=VALUE",
    help="set a field of the configuration, as in searcher.max_length.batches=100; may repeat",
)
_FOLLOW = ("-f", "--follow-first-trial")
_EXPERIMENTS = arg("experiment_id", help="experiment ID, or several split by commas")

_CREATE = Command(
    "create",
    "create experiment",
    run="experiment_create:create",
    args=(
        arg("config_file", type=existing_file, help="experiment configuration (YAML); - reads standard input"),
        arg("model_def", type=Path, nargs="?", help="directory with the model's code"),
        arg("-i", "--include", action="append", type=Path, default=[], help="another file or directory to send"),
        flag("--local", help="run here, without a cluster; needs --test-mode"),
        arg("--template", help="template to build the configuration on"),
        arg("--project_id", type=int, help="project to put the experiment into"),
        _CONFIG_OVERRIDES,
        one_of(
            flag(*_FOLLOW, help="follow the log of the first trial"),
            flag("--paused", help="create it, and let it wait to be activated"),
            flag("-t", "--test-mode", help="try the model out: one batch of training, validation, one checkpoint"),
        ),
        arg(
            "-p",
            "--publish",
            action="append",
            default=[],
            metavar="[LOCAL:]PORT",
            help="with -f: make a TCP port of the first trial reachable at a port of this machine; may repeat",
        ),
    ),
)

_CONTINUE = Command(
    "continue",
    "continue experiment that has ended",
    run="experiment_create:continue_",
    args=(
        EXPERIMENT,
        arg("--config-file", type=existing_file, help="configuration (YAML) whose fields replace the experiment's"),
        _CONFIG_OVERRIDES,
        flag(*_FOLLOW, help="follow the log of the first trial"),
    ),
)

_LISTS = (
    Command(
        "list",
        "list experiments",
        run="experiment_show:list_",
        aliases=("ls",),
        args=(
            flag("--all", "-a", help="those of everybody, and archived ones"),
            flag("--show_project", help="show workspace and project"),
            *paging(200),
            one_of(CSV, JSON),
        ),
    ),
    Command(
        "list-trials",
        "list trials of experiment",
        run="experiment_show:list_trials",
        aliases=("lt",),
        args=(EXPERIMENT, *paging(200), one_of(CSV, JSON)),
    ),
    Command(
        "list-checkpoints",
        "list checkpoints of experiment",
        run="experiment_show:list_checkpoints",
        aliases=("lc",),
        args=(EXPERIMENT, arg("--best", type=int, metavar="N", help="only the N best"), one_of(CSV, JSON)),
    ),
)

_DESCRIBE = Command(
    "describe",
    "describe experiment",
    run="experiment_show:describe",
    args=(
        arg("experiment_ids", help="experiment IDs, split by commas"),
        flag("--metrics", help="show the metrics"),
        one_of(CSV, JSON, arg("--outdir", type=Path, help="directory to write CSV files to")),
    ),
)

_LOGS = Command(
    "logs",
    "fetch logs of the first trial of an experiment",
    run="trial:experiment_logs",
    args=(
        EXPERIMENT,
        JSON,
        *log_options(),
        arg("--level", choices=LEVELS, help="only lines of this level and above"),
    ),
)

_VERBS = (
    Command("activate", "activate experiment", run="experiment:activate", aliases=("unpause",), args=(EXPERIMENT,)),
    Command("archive", "archive experiment", run="experiment:archive", args=(EXPERIMENT,)),
    Command("cancel", "cancel experiment", run="experiment:cancel", args=(EXPERIMENT,)),
    Command("delete", "delete experiment", run="experiment:delete", args=(_EXPERIMENTS, YES)),
    Command(
        "delete-tb-files",
        "delete the TensorBoard files of an experiment",
        run="experiment:delete_tb_files",
        args=(EXPERIMENT,),
    ),
    Command("kill", "kill experiment", run="experiment:kill", args=(_EXPERIMENTS,)),
    Command("pause", "pause experiment", run="experiment:pause", args=(EXPERIMENT,)),
    Command("unarchive", "unarchive experiment", run="experiment:unarchive", args=(EXPERIMENT,)),
    Command(
        "wait",
        "wait for experiment to reach terminal state",
        run="experiment:wait",
        args=(EXPERIMENT, arg("--polling-interval", type=int, default=5, help="seconds between looks")),
    ),
)

_DOWNLOAD = Command(
    "download-model-def",
    "download model definition",
    run="experiment:download_model_def",
    args=(EXPERIMENT, arg("--output-dir", type=Path, default=".", help="directory to write to")),
)
_DOWNLOAD_CHECKPOINTS = Command(
    "download",
    "download the best checkpoints of an experiment",
    run="checkpoint:download_of_experiment",
    args=(
        EXPERIMENT,
        arg("-o", "--output-dir", default="checkpoints", help="directory that gets a folder for each"),
        arg("--top-n", type=int, default=1, help="how many"),
        arg("--sort-by", help="the validation metric to judge by; the searcher's otherwise"),
        arg("--smaller-is-better", type=truth, metavar="(true|false)", help="with --sort-by: which way"),
        flag("-q", "--quiet", help="print only the paths"),
    ),
)
_MOVE = Command(
    "move",
    "move experiment to another project",
    run="experiment:move",
    args=(
        EXPERIMENT,
        arg("workspace_name", help="the workspace that has the project"),
        arg("project_name", help="the project"),
    ),
)
_CONFIG = Command("config", "display experiment config", run="experiment_show:config", args=(EXPERIMENT, JSON))

_LABEL = Command(
    "label",
    "manage experiment labels",
    commands=(
        Command("add", "add label", run="experiment:label_add", args=(EXPERIMENT, arg("label", help="the label"))),
        Command(
            "remove", "remove label", run="experiment:label_remove", args=(EXPERIMENT, arg("label", help="the label"))
        ),
    ),
)

_SET = Command(
    "set",
    "set experiment attributes",
    commands=(
        Command(
            "description",
            "set experiment description",
            run="experiment:set_description",
            args=(EXPERIMENT, arg("description", help="the description")),
        ),
        Command(
            "gc-policy",
            "set experiment GC policy and run GC",
            run="experiment:set_gc_policy",
            args=(
                EXPERIMENT,
                arg("--save-experiment-best", type=int, required=True, help="best of the experiment to keep"),
                arg("--save-trial-best", type=int, required=True, help="best of each trial to keep"),
                arg("--save-trial-latest", type=int, required=True, help="latest of each trial to keep"),
                YES,
            ),
        ),
        Command(
            "log-retention",
            "set how long logs of experiment are kept",
            run="experiment:set_log_retention",
            args=(EXPERIMENT, LOG_RETENTION),
        ),
        Command(
            "max-restarts",
            "set `max_restarts` of experiment",
            run="experiment:set_max_restarts",
            args=(EXPERIMENT, arg("max_restarts", type=int, help="how often a failed trial starts again")),
        ),
        Command(
            "max-slots",
            "set `max_slots` of experiment",
            run="experiment:set_max_slots",
            args=(EXPERIMENT, arg("max_slots", type=int_or_none, help="most slots to use, or none")),
        ),
        Command(
            "name", "set experiment name", run="experiment:set_name", args=(EXPERIMENT, arg("name", help="the name"))
        ),
        Command(
            "priority",
            "set `priority` of experiment",
            run="experiment:set_priority",
            args=(EXPERIMENT, arg("priority", type=int, help=PRIORITIES)),
        ),
        Command(
            "weight",
            "set `weight` of experiment",
            run="experiment:set_weight",
            args=(EXPERIMENT, arg("weight", type=float, help="its share beside others")),
        ),
    ),
)

EXPERIMENTS = Command(
    "experiment",
    "manage experiments",
    aliases=("e",),
    default="list",
    commands=(
        _CREATE,
        _CONTINUE,
        *_LISTS,
        _DESCRIBE,
        _CONFIG,
        _LOGS,
        *_VERBS,
        _MOVE,
        _DOWNLOAD,
        _DOWNLOAD_CHECKPOINTS,
        _LABEL,
        _SET,
    ),
)

OF_DET = (EXPERIMENTS,)
