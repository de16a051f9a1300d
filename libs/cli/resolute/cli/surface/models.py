"""`det model`: the model registry."""

from __future__ import annotations

from resolute.cli.surface.common import JSON, YES
from resolute.cli.tree import Command, arg

_MODEL = arg("name", help="the model's name, or its ID")
_VERSION = arg("version", type=int, help="the number of the version")
_WORKSPACE = arg("-w", "--workspace-name", required=True, help="the workspace that it moves to")
_SORTS = ("name", "description", "creation_time", "last_updated_time")

MODELS = Command(
    "model",
    "manage models",
    aliases=("m",),
    default="list",
    commands=(
        Command(
            "list",
            "list all models in the registry",
            run="model:list_",
            aliases=("ls",),
            args=(
                arg("-w", "--workspace-names", help="only those of these workspaces, split by commas"),
                arg("--sort-by", choices=_SORTS, default="last_updated_time", help="what to sort by"),
                arg("--order-by", choices=("asc", "desc"), default="asc", help="which way"),
                JSON,
            ),
        ),
        Command(
            "create",
            "create a model",
            run="model:create",
            args=(
                arg("name", help="a name that no other model has"),
                arg("-w", "--workspace-name", help="the workspace that it belongs to; Uncategorized otherwise"),
                arg("--description", help="what it is for"),
                JSON,
            ),
        ),
        Command(
            "describe",
            "show a model and one of its versions",
            run="model:describe",
            args=(_MODEL, arg("--version", type=int, default=-1, help="which version; the latest otherwise"), JSON),
        ),
        Command(
            "edit",
            "change the name or the description of a model",
            run="model:edit",
            args=(_MODEL, arg("--name", dest="new_name", help="a new name"), arg("--description", help="a new one")),
        ),
        Command("archive", "archive a model: it cannot be changed", run="model:archive", args=(_MODEL,)),
        Command("unarchive", "take a model out of the archive", run="model:unarchive", args=(_MODEL,)),
        Command("move", "move a model to another workspace", run="model:move", args=(_MODEL, _WORKSPACE)),
        Command(
            "delete", "delete a model with its versions; their checkpoints stay", run="model:delete", args=(_MODEL,)
        ),
        Command(
            "labels",
            "show or change the labels of a model",
            run="model:labels",
            args=(
                _MODEL,
                arg("--add", action="append", default=[], metavar="LABEL", help="add this label; may repeat"),
                arg("--remove", action="append", default=[], metavar="LABEL", help="remove this label; may repeat"),
                JSON,
            ),
        ),
        Command(
            "metadata",
            "show or change the metadata of a model",
            run="model:metadata",
            args=(
                _MODEL,
                arg(
                    "--set",
                    action="append",
                    default=[],
                    metavar="KEY=VALUE",
                    help="set this; VALUE is YAML; may repeat",
                ),
                arg("--remove", action="append", default=[], metavar="KEY", help="remove this; may repeat"),
            ),
        ),
        Command(
            "notes",
            "show or change the notes on a model",
            run="model:notes",
            args=(_MODEL, arg("--set", metavar="TEXT", help="replace the notes by this text")),
        ),
        Command(
            "register-version",
            "register a checkpoint as the next version of a model",
            run="model:register_version",
            args=(_MODEL, arg("uuid", help="checkpoint UUID"), JSON),
        ),
        Command("list-versions", "list the versions of a model", run="model:list_versions", args=(_MODEL, JSON)),
        Command(
            "describe-version",
            "show one version of a model",
            run="model:describe_version",
            args=(_MODEL, _VERSION, JSON),
        ),
        Command(
            "delete-version",
            "delete one version of a model; its checkpoint stays",
            run="model:delete_version",
            args=(_MODEL, _VERSION, YES),
        ),
    ),
)

OF_DET = (MODELS,)
