"""`det workspace` and `det project`."""

from __future__ import annotations

from resolute.cli.surface.common import JSON, YES
from resolute.cli.tree import Arg, Command, OneOf, arg, existing_file, flag, one_of

_WORKSPACE = arg("workspace_name", help="name of the workspace")
_PROJECT = arg("project_name", help="name of the project")
_SORTED: tuple[Arg, ...] = (
    arg("--sort-by", choices=("id", "name"), default="id", help="what to sort by"),
    arg("--order-by", choices=("asc", "desc"), default="asc", help="which way"),
    arg("--limit", type=int, default=200, help="most to ask for at a time"),
    arg("--offset", type=int, help="how many to leave out at the start"),
)
_ALL = flag("-a", "--all", help="archived experiments too")
_SETTINGS: tuple[Arg | OneOf, ...] = (
    arg("--agent-uid", type=int, help="user ID on the agents' hosts that its tasks run as"),
    arg("--agent-user", help="the name of that user"),
    arg("--agent-gid", type=int, help="group ID on the agents' hosts that its tasks run as"),
    arg("--agent-group", help="the name of that group"),
    one_of(
        arg("--checkpoint-storage-config", help="where its checkpoints go, as JSON"),
        arg("--checkpoint-storage-config-file", type=existing_file, help="the same, in a file of YAML"),
    ),
    arg("--default-compute-pool", help="the pool of what names none and needs slots"),
    arg("--default-aux-pool", help="the pool of what names none and needs no slots"),
)
_OF_KUBERNETES: tuple[Arg | OneOf, ...] = (
    arg("--cluster-name", help="for Kubernetes alone"),
    one_of(
        arg("-n", "--namespace", help="for Kubernetes alone"),
        flag("--auto-create-namespace", help="for Kubernetes alone"),
        flag("--auto-create-namespace-all-clusters", help="for Kubernetes alone"),
    ),
    arg("--resource-quota", type=int, help="for Kubernetes alone"),
)

WORKSPACES = Command(
    "workspace",
    "manage workspaces",
    aliases=("w",),
    default="list",
    commands=(
        Command("list", "list workspaces", run="workspace:list_", aliases=("ls",), args=(*_SORTED, JSON)),
        Command(
            "list-projects",
            "list the projects of a workspace",
            run="workspace:list_projects",
            args=(_WORKSPACE, *_SORTED, JSON),
        ),
        Command(
            "list-pools",
            "list the resource pools that a workspace may use",
            run="workspace:list_pools",
            args=(_WORKSPACE,),
        ),
        Command(
            "list-members",
            "list who holds a role on a workspace",
            run="workspace:list_members",
            args=(
                _WORKSPACE,
                one_of(JSON, flag("--yaml", help="print as YAML"), flag("--csv", help="print as CSV")),
            ),
        ),
        Command(
            "create",
            "create workspace",
            run="workspace:create",
            args=(arg("name", help="unique name of the workspace"), *_SETTINGS, *_OF_KUBERNETES, JSON),
        ),
        Command("describe", "describe workspace", run="workspace:describe", args=(_WORKSPACE, JSON)),
        Command(
            "edit",
            "edit workspace",
            run="workspace:edit",
            args=(_WORKSPACE, arg("--name", help="the new name"), *_SETTINGS, JSON),
        ),
        Command(
            "delete",
            "delete workspace and everything in it",
            run="workspace:delete",
            args=(_WORKSPACE, YES),
        ),
        Command("archive", "archive workspace", run="workspace:archive", args=(_WORKSPACE,)),
        Command("unarchive", "unarchive workspace", run="workspace:unarchive", args=(_WORKSPACE,)),
    ),
)

_DESCRIPTION = arg("--description", help="what the project is for")
_KEY = arg("--key", help="1 to 5 letters or digits that no other project has")

PROJECTS = Command(
    "project",
    "manage projects",
    aliases=("p",),
    commands=(
        Command(
            "list",
            "list the projects of a workspace",
            run="project:list_",
            aliases=("ls",),
            args=(_WORKSPACE, *_SORTED, JSON),
        ),
        Command(
            "list-experiments",
            "list the experiments of a project",
            run="project:list_experiments",
            args=(_WORKSPACE, _PROJECT, _ALL, *_SORTED, JSON),
        ),
        Command(
            "create",
            "create project",
            run="project:create",
            args=(_WORKSPACE, arg("name", help="name of the project"), _DESCRIPTION, _KEY, JSON),
        ),
        Command("describe", "describe project", run="project:describe", args=(_WORKSPACE, _PROJECT, _ALL, JSON)),
        Command(
            "edit",
            "edit project",
            run="project:edit",
            args=(_WORKSPACE, _PROJECT, arg("--new_name", help="the new name"), _DESCRIPTION, _KEY, JSON),
        ),
        Command(
            "delete",
            "delete project and all of its experiments",
            run="project:delete",
            args=(_WORKSPACE, _PROJECT, YES),
        ),
        Command("archive", "archive project", run="project:archive", args=(_WORKSPACE, _PROJECT)),
        Command("unarchive", "unarchive project", run="project:unarchive", args=(_WORKSPACE, _PROJECT)),
    ),
)

OF_DET = (WORKSPACES, PROJECTS)
