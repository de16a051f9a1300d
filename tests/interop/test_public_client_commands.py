"""The public client's commands."""

from __future__ import annotations

import re

from tests.interop.conftest import PublicClient

WITHOUT_SLOTS = ("--config", "resources.slots=0")


def test_it_runs_a_command_and_prints_its_output(public: PublicClient) -> None:
    printed = public.det("cmd", "run", *WITHOUT_SLOTS, "echo", "hello from a command")
    assert re.search(r"Launched command \(id: .*, name: .*\)", printed)
    assert "hello from a command" in printed


def test_it_lists_describes_and_kills_a_command_that_runs(public: PublicClient) -> None:
    command_id = public.det("cmd", "run", "-d", *WITHOUT_SLOTS, "sleep", "600").strip().splitlines()[-1]
    assert command_id in public.det("cmd", "list")
    assert command_id in public.det("cmd", "describe", command_id)
    assert "sleep" in public.det("cmd", "config", command_id)
    assert "Set priority" in public.det("cmd", "set", "priority", command_id, "7")
    assert f"Killed command {command_id}" in public.det("cmd", "kill", command_id)
