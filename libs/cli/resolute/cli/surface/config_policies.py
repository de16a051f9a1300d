"""`det config-policies`: what administrators set for, and allow in, what is submitted."""

from __future__ import annotations

from resolute.cli.surface.common import JSON_OR_YAML
from resolute.cli.tree import Command, arg, existing_file

_WORKLOAD = arg("workload_type", choices=("experiment", "tasks"), help="the kind of workload that the policies are for")
_WORKSPACE = arg("-w", "--workspace-name", help="the workspace that the policies are for; the whole cluster otherwise")

CONFIG_POLICIES = Command(
    "config-policies",
    "manage configuration policies",
    aliases=("cp",),
    default="describe",
    commands=(
        Command(
            "describe",
            "show the policies",
            run="config_policies:describe",
            args=(_WORKLOAD, _WORKSPACE, JSON_OR_YAML),
        ),
        Command(
            "set",
            "set the policies, in the place of those before",
            run="config_policies:set_",
            args=(_WORKLOAD, arg("config_file", type=existing_file, help="the policies (.yaml)"), _WORKSPACE),
        ),
        Command("delete", "delete the policies", run="config_policies:delete", args=(_WORKLOAD, _WORKSPACE)),
    ),
)

OF_DET = (CONFIG_POLICIES,)
