"""Configuration policies on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GLOBAL, OF_VISION = "/api/v1/config-policies/global", "/api/v1/config-policies/workspaces/2"
POLICIES = {"configPolicies": {"constraints": {"priority_limit": 50}}}
TEXT = "constraints:\n  priority_limit: 50\n"

Det = Callable[..., Any]


@pytest.fixture
def known(master: Any) -> Any:
    page = {"endIndex": 1, "total": 1}
    master.on("GET /api/v1/workspaces", {"workspaces": [{"id": 2, "name": "vision"}], "pagination": page})
    for place in (GLOBAL, OF_VISION):
        for workload in ("EXPERIMENT", "NTSC"):
            for method in ("GET", "PUT", "DELETE"):
                master.on(f"{method} {place}/{workload}", POLICIES)
    return master


def test_policies_are_described_as_yaml_or_json(known: Any, det: Det) -> None:
    assert det("config-policies describe experiment").out == TEXT
    assert det("cp describe tasks -w vision --yaml").out == TEXT
    assert '"priority_limit": 50' in det("cp describe experiment --json").out
    assert "workspace 'Vision' not found" in det("cp describe experiment -w Vision").err


def test_policies_are_set_from_a_file_and_shown(known: Any, det: Det, tmp_path: Path) -> None:
    file = tmp_path / "policies.yaml"
    file.write_text(TEXT)
    assert det(f"config-policies set tasks {file}").out == f"Set global tasks config policies:\n{TEXT}"
    assert known.last(f"PUT {GLOBAL}/NTSC").body == {"configPolicies": TEXT, "workloadType": "NTSC"}
    said = det(f"cp set experiment {file} --workspace-name vision").out
    assert said == f"Set experiment config policies for workspace vision:\n{TEXT}"
    assert known.last(f"PUT {OF_VISION}/EXPERIMENT").body["workspaceId"] == 2


def test_policies_are_deleted(known: Any, det: Det) -> None:
    assert det("config-policies delete tasks").out == "Successfully deleted global NTSC config policies\n"
    said = det("cp delete experiment -w vision").out
    assert said == "Successfully deleted EXPERIMENT config policies for workspace vision\n"
    assert known.last(f"DELETE {OF_VISION}/EXPERIMENT")
