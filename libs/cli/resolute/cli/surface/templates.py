"""`det template`: configuration templates."""

from __future__ import annotations

from resolute.cli.tree import Command, arg, existing_file, flag

_NAME = arg("template_name", help="template name")
_FILE = arg("template_file", type=existing_file, help="configuration (.yaml)")

TEMPLATES = Command(
    "template",
    "manage config templates",
    aliases=("tpl",),
    default="list",
    commands=(
        Command(
            "list",
            "list config templates",
            run="template:list_",
            aliases=("ls",),
            args=(flag("-d", "--details", help="show the configurations of the templates"),),
        ),
        Command("describe", "describe config template", run="template:describe", args=(_NAME,)),
        Command(
            "create",
            "create config template",
            run="template:create",
            args=(
                _NAME,
                _FILE,
                arg("-w", "--workspace-name", help="the workspace that it belongs to; Uncategorized otherwise"),
            ),
        ),
        Command(
            "set",
            "set config template; create and set-value tell a new one from an old one",
            run="template:set_",
            args=(_NAME, _FILE),
        ),
        Command(
            "set-value",
            "set template attributes",
            commands=(Command("config", "update config template", run="template:set_config", args=(_NAME, _FILE)),),
        ),
        Command("remove", "remove config template", run="template:remove", aliases=("rm",), args=(_NAME,)),
    ),
)

OF_DET = (TEMPLATES,)
