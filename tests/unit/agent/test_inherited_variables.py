"""Which variables of the host reach a task."""

from __future__ import annotations

import pytest

from resolute.agent.inherited_variables import inheritable


def test_the_agents_own_settings_and_secrets_stay_with_the_agent_even_when_all_are_named() -> None:
    own = {"RESOLUTE_AGENT_NATS_SEED_FILE": "x", "NATS_SEED": "SU…", "DET_USER_TOKEN": "t"}
    assert inheritable({"PATH": "/bin", **own, "HOME": "/h"}) == {"PATH": "/bin", "HOME": "/h"}
    assert inheritable({"PATH": "/bin", **own}, ["*"]) == {"PATH": "/bin"}


def test_what_a_persons_shell_holds_is_not_passed_on_because_it_is_there() -> None:
    shell = {
        "AWS_SECRET_ACCESS_KEY": "a",
        "SSH_AUTH_SOCK": "/s",
        "GITHUB_TOKEN": "g",
        "PGPASSWORD": "p",
        "EDITOR": "vi",
    }
    assert inheritable(shell) == {}


def test_programs_find_their_libraries_languages_and_accelerators() -> None:
    needed = {
        "LD_LIBRARY_PATH": "/l",
        "LC_ALL": "C",
        "TZ": "UTC",
        "CUDA_HOME": "/c",
        "NCCL_DEBUG": "INFO",
        "PYTHONPATH": "/p",
    }
    assert inheritable(needed) == needed


def test_a_secret_among_them_has_to_be_named_itself() -> None:
    host = {"PYTHON_KEYRING_PASSWORD": "p", "TORCH_TOKEN": "t"}
    assert inheritable(host) == {}
    assert inheritable(host, ["TORCH_TOKEN"]) == {"TORCH_TOKEN": "t"}


def test_further_variables_are_named_one_by_one_or_by_a_pattern() -> None:
    host = {"AWS_REGION": "eu", "AWS_PROFILE": "me", "WANDB_MODE": "offline", "OTHER": "o"}
    assert inheritable(host, ["AWS_*", "WANDB_MODE"]) == {
        "AWS_REGION": "eu",
        "AWS_PROFILE": "me",
        "WANDB_MODE": "offline",
    }


@pytest.mark.parametrize(
    ("value", "passes"),
    [("http://proxy:3128", True), ("proxy:3128", True), ("http://me:hush@proxy:3128", False), ("me:hush@proxy", False)],
)
def test_a_proxy_is_passed_on_unless_its_address_holds_a_password(value: str, passes: bool) -> None:
    assert inheritable({"HTTPS_PROXY": value, "no_proxy": "localhost"}) == (
        {"HTTPS_PROXY": value, "no_proxy": "localhost"} if passes else {"no_proxy": "localhost"}
    )
