"""The words that `det` understands are those that people and their scripts use today."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from resolute.cli import main
from resolute.cli.parser import parse
from resolute.cli.surface import DET, RESOLUTE
from resolute.cli.tree import Command

REPOSITORY = Path(__file__).parents[3]

# command (with aliases) : a line that parses : the handler it reaches
VOCABULARY = """
agent|a                      :                                                : agent:list_
agent|a list|ls              : --json                                         : agent:list_
agent|a enable               : a1                                             : agent:enable
agent|a disable              : --all --drain --csv                            : agent:disable
checkpoint|c list|ls         : 7 --best 2                                     : experiment_show:list_checkpoints
checkpoint|c describe        : u-1                                            : checkpoint:describe
checkpoint|c download        : u-1 -o out -q --mode master                    : checkpoint:download
checkpoint|c delete          : u-1,u-2 --yes                                  : checkpoint:delete
checkpoint|c rm              : u-1 --glob *.pt --yes                          : checkpoint:remove_files
auth list-providers          :                                                : auth:list_providers
auth login                   : -p okta --headless                             : auth:login
dev auth-token               :                                                : dev:auth_token
dev bindings|b call|c        : -y GetMaster a=1                               : bindings:call
dev bindings|b list|ls       : --show-unusable                                : bindings:list_
dev curl|c                   : /api/v1/me -v                                  : dev:curl
experiment|e move            : 7 vision digits                                : experiment:move
experiment|e download        : 7 -o out --top-n 2 --sort-by loss -q : checkpoint:download_of_experiment
trial|t support-bundle       : 1 -o out                                       : support_bundle:gather
deploy|d local cluster-up    : --agents 2 --slots 4 --no-gpu --master-port 90 : deploy:cluster_up
deploy|d local cluster-down  : --cluster-name c --delete-db                   : deploy:cluster_down
deploy|d local master-up     : --storage-host-path /s                         : deploy:master_up
deploy|d local master-down   : --delete-db                                    : deploy:cluster_down
deploy|d local agent-up      : host --agent-name a --agent-resource-pool p    : deploy:agent_up
deploy|d local agent-down    : --all                                          : deploy:agent_down
deploy|d local logs          : --no-follow                                    : deploy:logs_
deploy|d local status        : --json                                            : deploy:status_
experiment|e                 :                                                : experiment_show:list_
experiment|e list|ls         : -a --show_project --limit 5 --pages 1 --csv    : experiment_show:list_
experiment|e list-trials|lt  : 7 --offset 1 --csv                             : experiment_show:list_trials
experiment|e list-checkpoints|lc : 7 --best 1 --csv                           : experiment_show:list_checkpoints
experiment|e create          : {here} . -i {here} --config a=1 --config b=2 -f --project_id 3 : experiment_create:create
experiment|e create          : {here} --local --test-mode --template t        : experiment_create:create
experiment|e create          : {here} . --paused                              : experiment_create:create
experiment|e continue        : 7 --config-file {here} --config a=1 -f         : experiment_create:continue_
experiment|e describe        : 7,8 --metrics --outdir d                       : experiment_show:describe
experiment|e config          : 7                                              : experiment_show:config
experiment|e logs            : 7 --head 3 --level INFO --rank-id 0            : trial:experiment_logs
experiment|e activate|unpause : 7                                             : experiment:activate
experiment|e archive         : 7                                              : experiment:archive
experiment|e unarchive       : 7                                              : experiment:unarchive
experiment|e cancel          : 7                                              : experiment:cancel
experiment|e kill            : 7                                              : experiment:kill
experiment|e pause           : 7                                              : experiment:pause
experiment|e delete          : 7 --yes                                        : experiment:delete
experiment|e delete-tb-files : 7                                              : experiment:delete_tb_files
experiment|e wait            : 7 --polling-interval 1                         : experiment:wait
experiment|e download-model-def : 7 --output-dir d                            : experiment:download_model_def
experiment|e label add       : 7 best                                         : experiment:label_add
experiment|e label remove    : 7 best                                         : experiment:label_remove
experiment|e set name        : 7 n                                            : experiment:set_name
experiment|e set description : 7 d                                            : experiment:set_description
experiment|e set max-slots   : 7 none                                         : experiment:set_max_slots
experiment|e set max-restarts : 7 2                                           : experiment:set_max_restarts
experiment|e set log-retention : 7 --days 3                                   : experiment:set_log_retention
experiment|e set log-retention : 7 --forever                                  : experiment:set_log_retention
experiment|e set weight      : 7 0.5                                          : experiment:set_weight
experiment|e set priority    : 7 3                                            : experiment:set_priority
experiment|e set gc-policy   : 7 --save-exp 1 --save-trial-b 1 --save-trial-l 1 --yes : experiment:set_gc_policy
job|j                        :                                                : job:list_
job|j list|ls                : -p pool --reverse --yaml                       : job:list_
job|j update|u               : j-1 -p 3                                       : queue:update
job|j update|u               : j-1 --weight 0.5                               : queue:update
job|j update|u               : j-1 --resource-pool gpu                        : queue:update
job|j update-batch           : j-1.priority=1 j-2.weight=2                    : queue:update_batch
job|j explain                : 7 --json                                       : queue:explain
master info                  : --json                                         : master:info
master config                : --yaml                                         : master:config
master config show           : --json                                         : master:config
master config set            : --log.level DEBUG --log.color off              : master:set_config
master cluster-message get   : --json                                         : cluster_message:get
master cluster-message set   : -m soon -s 2026-01-31T12:00:00Z -d 24h         : cluster_message:set_
master cluster-message set   : -m soon -e 2026-01-31T12:00:00Z                : cluster_message:set_
master cluster-message clear : -c                                             : cluster_message:clear
master logs                  : -f --tail 3                                    : master:logs_
preview-search               : {here}                                         : search:preview
resource-pool|rp list|ls     :                                                : job:list_pools
resource-pool|rp bindings add   : pool one two                                   : resource_pool:add
resource-pool|rp bindings remove : pool one                                      : resource_pool:remove
resource-pool|rp bindings replace : pool one two                                 : resource_pool:replace
resource-pool|rp bindings list-workspaces : pool                                 : resource_pool:list_workspaces
resources|res raw            : 2026-01-01T00:00:00Z 2026-02-01T00:00:00Z --json : resources:raw
resources|res allocations|alloc : 2026-01-01T00:00:00Z 2026-02-01T00:00:00Z   : resources:allocations
resources|res aggregated|agg : 2026-01-01 2026-02-01 --monthly --json         : resources:aggregated
slot|s                       :                                                : agent:list_slots
slot|s list|ls               : --csv                                          : agent:list_slots
slot|s enable                : a1 0                                           : agent:enable_slot
slot|s disable               : a1 0                                           : agent:disable_slot
task                         :                                                : task:list_
task list|ls                 : --json                                         : task:list_
task cleanup-logs            :                                                : task:clean_up_logs
task logs                    : t-1 -f --tail 3 --allocation-id x --level INFO : task:logs_
trial|t describe             : 1 --metrics-summary --metrics --json           : trial:describe
trial|t download             : 1 --best --sort-by loss --smaller-is-better true -o d -q : checkpoint:download_of_trial
trial|t kill                 : 1                                              : trial:kill
trial|t set log-retention    : 1 --days 3                                     : trial:set_log_retention
trial|t set log-retention    : 1 --forever                                    : trial:set_log_retention
trial|t logs                 : 1 -f --timestamp-after 2026-01-01T00:00:00Z --json : trial:logs_
trial|t logs                 : 1 --container-id c --agent-id a --source s --stdtype stderr : trial:logs_
model|m                      :                                                : model:list_
model|m list|ls              : -w vision,first --sort-by name --order-by desc : model:list_
model|m create               : digits -w vision --description d --json        : model:create
model|m describe             : digits --version 2 --json                      : model:describe
model|m edit                 : digits --name numbers --description d          : model:edit
model|m archive              : digits                                         : model:archive
model|m unarchive            : digits                                         : model:unarchive
model|m move                 : digits -w vision                               : model:move
model|m delete               : digits                                         : model:delete
model|m labels               : digits --add a --add b --remove c              : model:labels
model|m metadata             : digits --set accuracy=0.9 --remove by          : model:metadata
model|m notes                : digits --set text                              : model:notes
model|m register-version     : digits 11111111-1111-4111-8111-111111111111    : model:register_version
model|m list-versions        : digits --json                                  : model:list_versions
model|m describe-version     : digits 2                                       : model:describe_version
model|m delete-version       : digits 2 --yes                                 : model:delete_version
user-group                   :                                                : user_group:list_
user-group list|ls           : --groups-user-belongs-to ada --json              : user_group:list_
user-group describe          : vision                                         : user_group:describe
user-group create            : vision --add-user ada --add-user bob           : user_group:create
user-group add-user          : vision ada,bob                                 : user_group:add_user
user-group remove-user       : vision ada                                     : user_group:remove_user
user-group change-name       : vision images                                  : user_group:change_name
user-group delete            : vision --yes                                   : user_group:delete
rbac                         :                                                : rbac:list_roles
rbac my-permissions          : --json                                         : rbac:my_permissions
rbac list-roles              : --exclude-global-roles --pages 1               : rbac:list_roles
rbac describe-role           : Viewer                                         : rbac:describe_role
rbac list-users-roles        : ada                                            : rbac:list_users_roles
rbac list-groups-roles       : vision                                         : rbac:list_groups_roles
rbac assign-role             : Viewer -w vision -u ada                        : rbac:assign_role
rbac unassign-role           : Viewer -g vision                               : rbac:unassign_role
workspace|w                  :                                                : workspace:list_
workspace|w list|ls          : --sort-by name --order-by desc --json          : workspace:list_
workspace|w list-projects    : vision --limit 10                              : workspace:list_projects
workspace|w list-pools       : vision                                         : workspace:list_pools
workspace|w list-members     : vision --csv                                   : workspace:list_members
workspace|w create           : vision --agent-uid 7 --default-aux-pool cpu    : workspace:create
workspace|w describe         : vision --json                                  : workspace:describe
workspace|w edit             : vision --name images                           : workspace:edit
workspace|w delete           : vision --yes                                   : workspace:delete
workspace|w archive          : vision                                         : workspace:archive
workspace|w unarchive        : vision                                         : workspace:unarchive
project|p list|ls            : vision --offset 3                              : project:list_
project|p list-experiments   : vision digits --all                            : project:list_experiments
project|p create             : vision digits --description d --key DIG        : project:create
project|p describe           : vision digits -a                               : project:describe
project|p edit               : vision digits --new_name numbers               : project:edit
project|p delete             : vision digits --yes                            : project:delete
project|p archive            : vision digits                                  : project:archive
project|p unarchive          : vision digits                                  : project:unarchive
token|tkn create             : ada -e 90 -d nightly --json                    : token:create
token|tkn describe           : 1 2 --yaml                                     : token:describe
token|tkn edit               : 1 -d weekly                                    : token:edit
token|tkn list|ls            : ada --show-inactive                            : token:list_
token|tkn login              : secret                                         : token:login
token|tkn revoke             : 1                                              : token:revoke
config-policies|cp describe  : experiment -w vision --json                    : config_policies:describe
config-policies|cp set       : tasks {here} -w vision                         : config_policies:set_
config-policies|cp delete    : tasks -w vision                                : config_policies:delete
command|cmd                  :                                                : command:list_
command|cmd list|ls          : -a -q -w vision --sort-by state                : command:list_
command|cmd describe         : 0f8f --json                                    : command:describe
command|cmd config           : 0f8f                                           : command:config
command|cmd run              : -d -c . -v /a:/b echo -n hello                 : command:run
command|cmd logs             : 0f8f -f --tail 3                               : command:logs_
command|cmd kill             : 0f8f 1b2c -f                                   : command:kill
command|cmd set priority     : 0f8f 7                                         : command:set_priority
notebook                     :                                                : notebook:list_
notebook list|ls             : -a -q -w vision --sort-by state                : notebook:list_
notebook config              : 0f8f                                           : notebook:config
notebook start               : -c . -v /a:/b --no-browser --preview           : notebook:start
notebook open                : 0f8f                                           : notebook:open_
notebook logs                : 0f8f -f --tail 3                               : notebook:logs_
notebook kill                : 0f8f 1b2c -f                                   : notebook:kill
notebook set priority        : 0f8f 7                                         : notebook:set_priority
shell                        :                                                : shell:list_
shell list|ls                : -a -q -w vision --sort-by state                : shell:list_
shell config                 : 0f8f                                           : shell:config
shell start                  : -c . -v /a:/b --show-ssh-command               : shell:start
shell open                   : 0f8f --show-ssh-command                        : shell:open_
shell show-ssh-command       : 0f8f                                           : shell:show_ssh_command
shell show_ssh_command       : 0f8f                                           : shell:show_ssh_command_by_its_old_name
shell logs                   : 0f8f -f --tail 3                               : shell:logs_
shell kill                   : 0f8f 1b2c -f                                   : shell:kill
shell set priority           : 0f8f 7                                         : shell:set_priority
template|tpl                 :                                                : template:list_
template|tpl list|ls         : -d                                             : template:list_
template|tpl describe        : small                                          : template:describe
template|tpl create          : small {here} -w vision                         : template:create
template|tpl set             : small {here}                                   : template:set_
template|tpl set-value config : small {here}                                  : template:set_config
template|tpl remove|rm       : small                                          : template:remove
user|u                       :                                                : user:list_
user|u list|ls               : -a                                             : user:list_
user|u login                 : ada                                            : user:login_
user|u logout                : -a                                             : user:logout
user|u whoami                :                                                : user:whoami
user|u create                : ada --admin --password p --remote              : user:create
user|u change-password       : ada                                            : user:change_password
user|u activate              : ada                                            : user:activate
user|u deactivate            : ada                                            : user:deactivate
user|u edit                  : ada --display-name A --active true --admin false : user:edit
user|u link-with-agent-user  : ada --agent-uid 1 --agent-gid 2 --agent-group g : user:link_with_agent_user
user|u rename                : ada eve                                        : user:rename
version                      :                                                : master:version
"""


def spellings() -> Iterator[tuple[str, str]]:
    """Every way to write every line of the vocabulary, and the handler it should reach."""
    for line in VOCABULARY.strip().splitlines():
        command, example, run = (part.strip() for part in line.split(" :", 2))
        rest = example.removeprefix(":").format(here=__file__)
        for words in itertools.product(*(word.split("|") for word in command.split())):
            yield f"{' '.join(words)} {rest}".strip(), run.removeprefix(":").strip()


@pytest.mark.parametrize(("line", "run"), list(spellings()))
def test_a_command_and_each_of_its_aliases_reach_the_same_handler(line: str, run: str) -> None:
    assert parse(DET, line.split()).command.run == run


def leaves(program: Command) -> list[Command]:
    return [command for _, command in program.walk() if command.run]


@pytest.mark.parametrize("program", [DET, RESOLUTE], ids=lambda program: program.name)
def test_every_command_of_the_table_has_its_handler(program: Command) -> None:
    for command in leaves(program):
        assert callable(main.handler(command)), command.name


def test_every_command_is_in_the_vocabulary() -> None:
    assert {run for _, run in spellings()} == {command.run for command in leaves(DET)}


def test_a_long_option_may_be_cut_short_while_it_is_unambiguous() -> None:
    assert parse(DET, ["e", "create", __file__, "--follow"]).follow_first_trial
    assert parse(DET, ["e", "create", __file__, "--test"]).test_mode
    assert parse(DET, ["t", "logs", "1", "--rank", "3"]).rank_ids == [3]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "trial",
        "experiment label",
        "nonsense",
        "e describe",
        "e pause seven",
        "e create no-such-file.yaml .",
        f"e create {__file__} . -f --paused",
        "t logs 1 --head 1 --tail 1",
        "t download 1",
        "a list --csv --json",
    ],
)
def test_words_that_make_no_command_end_with_status_2(line: str, det: Callable[..., Any]) -> None:
    outcome = det(line)
    assert outcome.status == 2
    assert "usage: det" in outcome.err
    assert outcome.out == ""


@pytest.mark.parametrize("path", [path[1:] for path, _ in DET.walk()], ids=" ".join)
def test_every_level_has_help(path: tuple[str, ...], det: Callable[..., Any]) -> None:
    by_option = det(" ".join([*path, "--help"]))
    by_command = det(" ".join(["help", *path]))
    assert by_option.status == 0
    assert by_option.out == by_command.out
    assert by_option.out.startswith("usage: det")


def test_det_deploy_is_the_older_name_of_a_part_of_det(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main.det_deploy(["local", "cluster-up", "--help"])
    assert capsys.readouterr().out.startswith("usage: det deploy local cluster-up")


def test_help_is_a_command_below_every_group(det: Callable[..., Any]) -> None:
    assert det("e help").out == det("e -h").out
    assert det("e help set name").out == det("e set name -h").out
    assert "has no command 'nonsense'" in det("e help nonsense").err


def test_master_config_keeps_the_option_given_before_its_default_command() -> None:
    assert parse(DET, ["master", "config", "--json"]).json
    assert parse(DET, ["master", "config", "show", "--json"]).json


def test_the_reference_in_the_docs_is_current() -> None:
    from resolute.cli.reference import markdown

    written = (REPOSITORY / "docs" / "reference" / "cli.md").read_text()
    assert written == markdown(), "run: python -m resolute.cli.reference docs/reference/cli.md"


def test_help_comes_at_once_because_it_loads_nothing_that_it_does_not_need() -> None:
    heavy = ["aiohttp", "asyncio", "pydantic", "yaml", "ssl", "resolute.config", "resolute.eventlog"]
    script = (
        "import sys\nfrom resolute.cli.main import det\n"
        "try:\n    det(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.stdout.splitlines()[-1] == "[]", ended.stderr
